package style_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What multilock/attempt may use of the packages that it imports. It imports no others.
var pure = map[string][]string{
	"time":             {"Duration", "Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour"},
	"math/bits":        nil, // all of it
	module + "/clock":  {"Instant", "Drift", "Validity"},
	module + "/quorum": nil,
}

// TestCoreIsPure: the state machines of the protocol are values, and their steps depend on nothing
// but their arguments. So they can be searched, replayed and compared.
func TestCoreIsPure(t *testing.T) {
	names, err := filepath.Glob("multilock/attempt/*.go")
	if err != nil || len(names) == 0 {
		t.Fatalf("no file was found, this test looks in the wrong place: %v", err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		positions := token.NewFileSet()
		file, err := parser.ParseFile(positions, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		note := func(at ast.Node, format string, args ...any) {
			t.Errorf("%v %s", positions.Position(at.Pos()), fmt.Sprintf(format, args...))
		}
		imported := map[string]string{} // path, by the name it has in the file
		for _, spec := range file.Imports {
			from, _ := strconv.Unquote(spec.Path.Value)
			if _, ok := pure[from]; !ok {
				note(spec, "imports %s", from)
			}
			if spec.Name != nil {
				note(spec, "gives %s another name", from)
			}
			imported[path.Base(from)] = from
		}
		signature := map[ast.Node]bool{} // the type of a declared function
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				note(n, "starts a goroutine")
			case *ast.SelectStmt:
				note(n, "waits")
			case *ast.ChanType:
				note(n, "has a channel")
			case *ast.MapType:
				note(n, "has a map: its order is not the same twice, and it allocates")
			case *ast.FuncDecl:
				signature[n.Type] = true
			case *ast.FuncType:
				if !signature[n] {
					note(n, "has a function as a value")
				}
			case *ast.SelectorExpr:
				of, ok := n.X.(*ast.Ident)
				if !ok {
					break
				}
				if allowed := pure[imported[of.Name]]; allowed != nil && !slices.Contains(allowed, n.Sel.Name) {
					note(n, "uses %s.%s", of.Name, n.Sel.Name)
				}
			}
			return true
		})
	}
}
