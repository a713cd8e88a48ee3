package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/overlay"
)

const root = "../.."

var update = flag.Bool("update", false, "write the table of RULES.md")

func all(t *testing.T) []*patch {
	t.Helper()
	patches, err := readPatches(root, regexp.MustCompile(""))
	check.OK(t, err)
	return patches
}

// TestPatchesApply: to the code as it is today.
func TestPatchesApply(t *testing.T) {
	for _, p := range all(t) {
		if err := (overlay.Files{}).Apply(root, p.edits); err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
	}
}

// TestCatchersAreThere: each catcher of a patch is a test, or the search.
func TestCatchersAreThere(t *testing.T) {
	for _, p := range all(t) {
		for _, by := range p.by {
			files, err := filepath.Glob(filepath.Join(root, by.folder(), "*.go"))
			if err != nil || len(files) == 0 {
				t.Errorf("%s: there is no package %s", p.name, by.pkg)
			}
			if by.pkg != "model" && !slices.ContainsFunc(files, func(file string) bool {
				text, err := os.ReadFile(file)
				return err == nil && strings.Contains(string(text), "\nfunc "+by.name()+"(t *testing.T)")
			}) {
				t.Errorf("%s: there is no test %s in %s", p.name, by.test, by.pkg)
			}
		}
	}
}

// TestMakeTestNoticesMost: make test has a catcher of nine in ten patches.
func TestMakeTestNoticesMost(t *testing.T) {
	patches, later := all(t), 0
	for _, p := range patches {
		if !slices.ContainsFunc(p.by, catcher.quick) {
			later++
		}
	}
	if 10*later > len(patches) {
		t.Errorf("make test has no catcher of %d among %d patches", later, len(patches))
	}
}

// TestRules: each rule of the page is broken by one patch or two, which break no other, and the page says what notices.
// After a change that is meant: go test ./verify/mutants -run TestRules -update.
func TestRules(t *testing.T) {
	file := filepath.Join(root, page)
	text, err := os.ReadFile(file)
	check.OK(t, err)
	patches := all(t)
	want, rules := table(string(text), patches)
	broken := make(map[string]int)
	for _, p := range patches {
		if !slices.Contains(rules, p.rule) {
			t.Errorf("%s: %s has no rule %q", p.name, page, p.rule)
		}
		broken[p.rule]++
	}
	for _, rule := range rules {
		if n := broken[rule]; n < 1 || n > 2 {
			t.Errorf("%d patches break the rule %q, want one, or two of different kinds", n, rule)
		}
	}
	if *update && want != string(text) {
		err = os.WriteFile(file, []byte(want), 0o644)
	} else if want != string(text) {
		err = errors.New("it does not name the catchers of the patches: go test ./verify/mutants -run TestRules -update")
	}
	if err != nil {
		t.Errorf("%s: %v", page, err)
	}
}
