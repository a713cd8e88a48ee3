package style_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"
	"testing"

	"example.com/redlock/internal/check"
)

// TestRoomsStayApart: a file of the library, which is what a program compiles that imports redlock or the face for
// operators, is short enough to be read at once, and none of its types embeds one of another room: at each call the code
// says whose it is.
func TestRoomsStayApart(t *testing.T) {
	const longest = 700
	library := map[string]bool{}
	for _, p := range list(t, "linux", "-deps", "./redlock", "./redlockadmin") {
		if under(p.ImportPath, module) {
			library[room(p.ImportPath)] = true
		}
	}
	seen := 0
	for _, name := range files(t) {
		if !library[path.Dir(name)] || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		seen++
		text := check.File(t, name)
		if lines := strings.Count(text, "\n"); lines > longest {
			t.Errorf("%s has %d lines, more than %d", name, lines, longest)
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		check.OK(t, err)
		ours := map[string]bool{} // by the name that a room has in this file
		for _, spec := range file.Imports {
			if from, _ := strconv.Unquote(spec.Path.Value); under(from, module) {
				ours[path.Base(from)] = true
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range s.Fields.List {
				of := field.Type
				if p, ok := of.(*ast.StarExpr); ok {
					of = p.X
				}
				if other, ok := of.(*ast.SelectorExpr); ok && len(field.Names) == 0 {
					if room, ok := other.X.(*ast.Ident); ok && ours[room.Name] {
						t.Errorf("%v: a type embeds %s.%s", fset.Position(field.Pos()), room.Name, other.Sel.Name)
					}
				}
			}
			return true
		})
	}
	check.That(t, seen >= 80, "only %d files were found, this test looks in the wrong place", seen)
}
