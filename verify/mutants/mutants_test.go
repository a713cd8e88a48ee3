package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/redlock/internal/overlay"
)

const root = "../.."

func all(t *testing.T) []*patch {
	t.Helper()
	patches, err := readPatches(root, regexp.MustCompile(""))
	if err != nil {
		t.Fatal(err)
	}
	return patches
}

func safety(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPatchesApply: to the code as it is today.
func TestPatchesApply(t *testing.T) {
	for _, p := range all(t) {
		if err := (overlay.Files{}).Apply(root, p.edits); err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
	}
}

// TestCatchersAreThere: each catcher of a patch is a package with tests, or one of them.
func TestCatchersAreThere(t *testing.T) {
	for _, p := range all(t) {
		for _, by := range p.by {
			files, err := filepath.Glob(filepath.Join(root, by.folder(), "*.go"))
			if err != nil || len(files) == 0 {
				t.Errorf("%s: there is no package %s", p.name, by.pkg)
			}
			name, _, _ := strings.Cut(by.test, "/") // of a subtest
			if by.pkg == "model" || name == "" {
				continue
			}
			if !slices.ContainsFunc(files, func(file string) bool {
				text, err := os.ReadFile(file)
				return err == nil && strings.Contains(string(text), "\nfunc "+name+"(t *testing.T)")
			}) {
				t.Errorf("%s: there is no test %s in %s", p.name, by.test, by.pkg)
			}
		}
	}
}

// TestRulesAreBroken: each patch breaks a rule of the page, and each rule of the page is broken by a
// patch.
func TestRulesAreBroken(t *testing.T) {
	rules := rulesOf(safety(t))
	broken := make(map[string]bool)
	for _, p := range all(t) {
		if !slices.Contains(rules, p.rule) {
			t.Errorf("%s: %s has no rule %q", p.name, page, p.rule)
		}
		broken[p.rule] = true
	}
	for _, rule := range rules {
		if !broken[rule] {
			t.Errorf("no patch breaks the rule %q", rule)
		}
	}
}

// TestTableIsWhole: the page tells of each patch who caught it, and of no other.
func TestTableIsWhole(t *testing.T) {
	text, patches := safety(t), all(t)
	rows := rowsOf(text)
	for _, p := range patches {
		if _, ok := rows[p.name]; !ok {
			t.Errorf("%s does not tell who catches %s: go run ./verify/mutants -write -run '^%s$'", page, p.name, p.name)
		}
	}
	if !strings.Contains(text, beginsTable+tableOf(rulesOf(text), patches, rows)+endsTable) {
		t.Errorf("the table of %s is not as its rows and the patches are: go run ./verify/mutants -write", page)
	}
}
