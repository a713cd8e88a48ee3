package style_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/redlock/internal/check"
)

// TestEverySymbolHasAnExampleLong: each exported function, method, type and variable of the packages redlock and
// redlockadmin is used in one of their examples, or in a program of the module examples. Not asked for: what package
// errors or fmt calls, and what only the library calls.
func TestEverySymbolHasAnExampleLong(t *testing.T) {
	used := map[string]bool{}
	for _, public := range []string{"redlock", "redlockadmin"} {
		examples, err := filepath.Glob(public + "/example*_test.go")
		if err != nil || len(examples) == 0 {
			t.Fatalf("there are no examples of %s: %v", public, err)
		}
		maps.Copy(used, usedIn(t, ".", examples))
	}
	programs, err := filepath.Glob("examples/*/")
	check.OK(t, err)
	for _, program := range programs {
		sources, err := filepath.Glob(program + "/*.go")
		check.OK(t, err)
		sources = slices.DeleteFunc(sources, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
		if len(sources) > 0 {
			maps.Copy(used, usedIn(t, "examples", sources))
		}
	}
	for public, least := range map[string]int{"redlock": 40, "redlockadmin": 15} {
		pkg, err := exportsOf(t, ".", "./"+public).Import(module + "/" + public)
		check.OK(t, err)
		symbols := symbolsOf(pkg)
		if len(symbols) < least {
			t.Errorf("%d symbols of %s were found: this test looks in the wrong way", len(symbols), public)
		}
		for _, symbol := range symbols {
			_, method, _ := strings.Cut(symbol, ".")
			called := slices.Contains([]string{"Error", "Unwrap", "String"}, method) || slices.Contains([]string{"Terms.Publish", "Terms.Text"}, symbol)
			if !used[symbol] && !called {
				t.Errorf("%s.%s is in no example", public, symbol)
			}
		}
	}
}

// symbolsOf returns the exported names of a package, of methods as Type.Method.
func symbolsOf(pkg *types.Package) (symbols []string) {
	for _, name := range pkg.Scope().Names() {
		object := pkg.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		symbols = append(symbols, name)
		if _, isType := object.(*types.TypeName); !isType || types.IsInterface(object.Type()) {
			continue
		}
		for method := range types.NewMethodSet(types.NewPointer(object.Type())).Methods() {
			if method.Obj().Exported() && len(method.Index()) == 1 {
				symbols = append(symbols, name+"."+method.Obj().Name())
			}
		}
	}
	return symbols
}

// usedIn returns the names of everything that some files of a module use: objects by their names,
// methods as Type.Method, and the types of all expressions.
func usedIn(t *testing.T, folder string, names []string) map[string]bool {
	t.Helper()
	fset := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		check.OK(t, err)
		parsed = append(parsed, file)
	}
	where, err := filepath.Rel(folder, filepath.Dir(names[0]))
	check.OK(t, err)
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: exportsOf(t, folder, "./"+filepath.ToSlash(where))}
	if _, err := config.Check("examples", fset, parsed, info); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, object := range info.Uses {
		used[object.Name()] = true
		if f, ok := object.(*types.Func); ok && f.Signature().Recv() != nil {
			used[nameOf(f.Signature().Recv().Type())+"."+f.Name()] = true
		}
	}
	for _, expression := range info.Types {
		used[nameOf(expression.Type)] = true
	}
	return used
}

// nameOf returns the name of a type, or of what it points to or is a slice of.
func nameOf(t types.Type) string {
	switch t := types.Unalias(t).(type) {
	case *types.Pointer:
		return nameOf(t.Elem())
	case *types.Slice:
		return nameOf(t.Elem())
	case *types.Named:
		return t.Obj().Name()
	}
	return ""
}

// exportsOf returns an importer of packages of the module in folder, and of what these and their tests import.
func exportsOf(t *testing.T, folder string, pkgs ...string) types.Importer {
	t.Helper()
	exports := map[string]string{}
	for _, p := range listIn(t, folder, nil, append([]string{"-export", "-deps", "-test"}, pkgs...)...) {
		exports[p.ImportPath] = p.Export
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
}
