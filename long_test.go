package style_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLongForms: make sim runs the tests that are shorter in make unit, and no others.
func TestLongForms(t *testing.T) {
	list := regexp.MustCompile(`(?m)^LONG +:?= +(\S+)$`).FindStringSubmatch(read(t, "Makefile"))
	if list == nil {
		t.Fatal("the Makefile has no list LONG")
	}
	want := strings.Split(list[1], "|")
	slices.Sort(want)
	var got []string
	for _, folder := range []string{"redlock", "multilock", "node"} {
		names, err := filepath.Glob(folder + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Test") && shortened(f) {
					got = append(got, f.Name.Name)
				}
			}
		}
	}
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("the tests with a short form are %q, and the Makefile has %q", got, want)
	}
}

// shortened reports whether a test does less with -short.
func shortened(test *ast.FuncDecl) (short bool) {
	ast.Inspect(test, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			switch f := call.Fun.(type) {
			case *ast.Ident:
				short = short || f.Name == "portion"
			case *ast.SelectorExpr:
				short = short || f.Sel.Name == "Short"
			}
		}
		return true
	})
	return short
}
