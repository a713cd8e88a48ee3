package style_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/redlock/internal/check"
)

// What multilock/attempt may use of the packages that it imports. It imports no others.
var pure = map[string][]string{
	"time":             {"Duration", "Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour"},
	"math/bits":        nil, // all of it
	"slices":           {"Delete"},
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
		check.OK(t, err)
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

// face are the packages that users import.
var face = []string{"redlock", "redlockadmin", "redlocktrace", "redlocktest", "doctor"}

// TestFaceIsWhole: whatever a user can reach from these packages is declared in one of them, so go doc shows it there:
// no exported type, field, function or method has a type of a package that is none of their business.
func TestFaceIsWhole(t *testing.T) {
	public := map[string]bool{}
	for _, name := range face {
		public[module+"/"+name] = true
	}
	seen := 0
	exports := exportsOf(t, "./redlockadmin", "./redlocktest", "./doctor")
	for _, name := range face {
		pkg, err := exports.Import(module + "/" + name)
		check.OK(t, err)
		for _, declared := range pkg.Scope().Names() {
			object := pkg.Scope().Lookup(declared)
			if !object.Exported() {
				continue
			}
			seen++
			reachable(object.Type(), map[types.Type]bool{}, func(of *types.TypeName) (goOn bool) {
				switch in := of.Pkg(); {
				case in == nil || !under(in.Path(), module):
					return false
				case !public[in.Path()]:
					t.Errorf("%s.%s leads its users to %s.%s", name, declared, room(in.Path()), of.Name())
					return false
				}
				return true
			})
		}
	}
	check.That(t, seen >= 60, "only %d exported objects were found, this test looks in the wrong place", seen)
}

// reachable calls f for each declared type that a user of t gets from it. It looks into those for which f is true.
func reachable(t types.Type, seen map[types.Type]bool, f func(*types.TypeName) bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	next := func(t types.Type) { reachable(t, seen, f) }
	switch t := t.(type) {
	case *types.Alias:
		if f(t.Obj()) {
			next(t.Rhs())
		}
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			next(arg)
		}
		if !f(t.Obj()) {
			return
		}
		for m := range t.Methods() {
			if m.Exported() {
				next(m.Type())
			}
		}
		next(t.Underlying())
	case *types.Struct:
		for field := range t.Fields() {
			if field.Exported() {
				next(field.Type())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				next(m.Type())
			}
		}
	case *types.Signature:
		next(t.Params())
		next(t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			next(v.Type())
		}
	case *types.Map:
		next(t.Key())
		next(t.Elem())
	case interface{ Elem() types.Type }: // a pointer, a slice, an array, a channel
		next(t.Elem())
	}
}

// TestLevels: where a test is, and what it is called, tells whether make test runs it or make verify: none does less
// with a flag. make verify knows all modules, and runs all tests of these but the command's, and of the packages below
// integration and verify. So none there ends in Long.
func TestLevels(t *testing.T) {
	long := regexp.MustCompile(`(?m)^func Test\w*Long\(`)
	line := regexp.MustCompile(`(?m)^MODULES = (.*)$`).FindStringSubmatch(check.File(t, "Makefile"))
	modules := strings.Fields(line[1])
	verified := append(slices.DeleteFunc(slices.Clone(modules), func(m string) bool { return m == "cmd/redlock" }), "integration", "verify")
	for _, file := range files(t) {
		switch {
		case path.Base(file) == "go.mod" && path.Dir(file) != "." && path.Dir(file) != "verify/tools":
			check.That(t, slices.Contains(modules, path.Dir(file)), "MODULES of the Makefile lacks %s", path.Dir(file))
		case strings.HasSuffix(file, "_test.go") && !strings.HasPrefix(file, "internal/style/"):
			beyond := slices.ContainsFunc(verified, func(folder string) bool { return under(file, folder) })
			if text := check.File(t, file); strings.Contains(text, "testing.Short()") {
				t.Errorf("%s does less with -short", file)
			} else if beyond && long.MatchString(text) {
				t.Errorf("%s has %q, and make verify runs all tests there", file, long.FindString(text))
			}
		}
	}
}
