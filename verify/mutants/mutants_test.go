package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

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

// TestPatchesApply: to the code as it is today, which compiles with each of them.
func TestPatchesApply(t *testing.T) {
	packages := make(map[string]*imports) // by folder
	for _, p := range all(t) {
		files := overlay.Files{}
		if err := files.Apply(root, p.edits); err != nil {
			t.Errorf("%s: %v", p.name, err)
			continue
		}
		for _, edit := range p.edits {
			folder := filepath.Join(root, filepath.Dir(edit.File))
			if filepath.Ext(edit.File) != ".go" {
				continue
			}
			if packages[folder] == nil {
				packages[folder] = newImports(t, folder)
			}
			if err := packages[folder].check(folder, files); err != nil {
				t.Errorf("%s: %v", p.name, err)
			}
		}
	}
}

// imports is what the package in a folder is made of.
type imports struct {
	files *token.FileSet
	names []string // of its own files
	types.Importer
}

func newImports(t *testing.T, folder string) *imports {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", `{{.ImportPath}} {{.Export}} {{if not .DepOnly}}{{join .GoFiles " "}}{{end}}`)
	list.Dir = folder
	out, err := list.Output()
	check.OK(t, err)
	i, exports := &imports{files: token.NewFileSet()}, make(map[string]string)
	for line := range strings.Lines(string(out)) {
		path, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		export, own, _ := strings.Cut(rest, " ")
		exports[path], i.names = export, append(i.names, strings.Fields(own)...)
	}
	i.Importer = importer.ForCompiler(i.files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return i
}

// check returns what the compiler would say of the package with other files.
func (i *imports) check(folder string, other overlay.Files) error {
	var parsed []*ast.File
	for _, name := range i.names {
		path, text := filepath.Join(folder, name), any(nil)
		if changed, ok := other[path]; ok {
			text = changed
		}
		file, err := parser.ParseFile(i.files, path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed = append(parsed, file)
	}
	_, err := (&types.Config{Importer: i}).Check(folder, i.files, parsed, nil)
	return err
}

// TestCatchersAreThere: each catcher of a patch is a test, or the search.
func TestCatchersAreThere(t *testing.T) {
	for _, p := range all(t) {
		for _, by := range p.by {
			files, err := filepath.Glob(filepath.Join(root, by.folder(), "*.go"))
			if err != nil || len(files) == 0 {
				t.Errorf("%s: there is no package %s", p.name, by.pkg)
			}
			there := slices.ContainsFunc(files, func(file string) bool {
				return strings.Contains(check.File(t, file), "\nfunc "+by.name()+"(t *testing.T)")
			})
			check.That(t, by.pkg == "model" || there, "%s: there is no test %s in %s", p.name, by.test, by.pkg)
		}
	}
}

// TestRules: each rule of the page is broken by one patch or two, which break no other, and the page says what notices.
// After a change that is meant: go test ./verify/mutants -run TestRules -update.
func TestRules(t *testing.T) {
	file := filepath.Join(root, page)
	text := check.File(t, file)
	patches := all(t)
	want, rules := table(text, patches)
	broken := make(map[string]int)
	for _, p := range patches {
		check.That(t, slices.Contains(rules, p.rule), "%s: %s has no rule %q", p.name, page, p.rule)
		broken[p.rule]++
	}
	for _, rule := range rules {
		if n := broken[rule]; n < 1 || n > 2 {
			t.Errorf("%d patches break the rule %q, want one, or two of different kinds", n, rule)
		}
	}
	switch {
	case want == text:
	case *update:
		check.OK(t, os.WriteFile(file, []byte(want), 0o644))
	default:
		t.Errorf("%s does not name the catchers of the patches: go test ./verify/mutants -run TestRules -update", page)
	}
}

// toy makes a module with one function and two tests of it, and returns a lab for it.
func toy(t *testing.T) *lab {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":     "module toy\n\ngo 1.26\n",
		"a/word.txt": "word\n",
		"a/a.go": `package a

import _ "embed"

//go:embed word.txt
var word string

func sum(a, b int) int {
	return a + b
}
`,
		"a/a_test.go": `package a

import "testing"

func TestSum(t *testing.T) {
	if sum(1, 2) != 3 {
		t.Error("wrong")
	}
}

func TestWord(t *testing.T) {
	if word != "word\n" {
		panic("wrong")
	}
}
`,
	} {
		file := filepath.Join(root, name)
		check.OK(t, os.MkdirAll(filepath.Dir(file), 0o755))
		check.OK(t, os.WriteFile(file, []byte(text), 0o644))
	}
	l, err := newLab(root)
	check.OK(t, err)
	t.Cleanup(l.close)
	l.limits = map[catcher]time.Duration{{"a", "TestSum"}: time.Minute, {"a", "TestWord"}: time.Minute}
	return l
}

// TestTry: a patch that one of its catchers does not notice survives.
func TestTry(t *testing.T) {
	l := toy(t)
	for text, want := range map[string]string{
		"by: a TestSum\n\n@@ a/a.go\n# Takes away.\n func sum(a, b int) int {\n-\treturn a + b\n+\treturn a - b\n": "<nil>",
		"by: a TestSum\nby: a TestWord\n\n@@ a/a.go\n-\treturn a + b\n+\treturn a - b\n":                           "a TestWord does not notice",
		"by: a TestWord\n\n@@ a/word.txt\n-word\n+words\n":                                                         "<nil>",
		"by: a TestSum\n\n@@ a/a.go\n-\treturn a + b\n+\treturn a + c\n":                                           "a does not compile",
	} {
		p, err := parse("toy", "rule: sums are right\nbreaks: they are not\n"+text)
		check.OK(t, err)
		if got := fmt.Sprint(l.try(t.Context(), p)); !strings.HasPrefix(got, want) {
			t.Errorf("%s\n%s, want %s", text, got, want)
		}
	}
}

// TestControl: a catcher that fails without a patch is an error, not a catch.
func TestControl(t *testing.T) {
	l := toy(t)
	p := &patch{by: []catcher{{"a", "TestWord"}}}
	if err := l.control(t.Context(), []*patch{p}); err != nil {
		t.Errorf("code without a mistake: %v", err)
	}
	check.OK(t, os.WriteFile(filepath.Join(l.root, "a", "word.txt"), []byte("words\n"), 0o644))
	if err := l.control(t.Context(), []*patch{p}); err == nil || !strings.Contains(err.Error(), "TestWord") {
		t.Errorf("code with a mistake: error %v, want one that names TestWord", err)
	}
}
