package style_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestMutexesAreTheirLockers: a function that unlocks a mutex has locked it itself. One that lets go of its caller's
// mutex, and perhaps takes it again, changes behind the caller's back what the caller has just looked at.
func TestMutexesAreTheirLockers(t *testing.T) {
	seen := 0
	for _, root := range []string{"redlock", "redlockadmin", "node", "multilock", "clock", "doctor", "internal/tracer"} {
		err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				return err
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				var body *ast.BlockStmt
				switch n := n.(type) {
				case *ast.FuncDecl:
					body = n.Body
				case *ast.FuncLit:
					body = n.Body
				}
				if body != nil {
					seen += checkMutexes(t, fset, body)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 50 {
		t.Errorf("only %d calls of mutexes were found, this test looks in the wrong place", seen)
	}
}

// checkMutexes notes mutexes that a function unlocks before it locks them, and returns how often it locks any.
func checkMutexes(t *testing.T, fset *token.FileSet, body *ast.BlockStmt) (locks int) {
	locked := map[string]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		if _, inner := n.(*ast.FuncLit); inner {
			return false
		}
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) > 0 {
			return true
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		switch mutex := types.ExprString(f.X); f.Sel.Name {
		case "Lock", "TryLock", "RLock":
			locked[mutex] = true
			locks++
		case "Unlock", "RUnlock":
			if !locked[mutex] {
				t.Errorf("%v unlocks %s, which its caller has locked", fset.Position(call.Pos()), mutex)
			}
		}
		return true
	})
	return locks
}
