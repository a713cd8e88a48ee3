package style_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What multilock/protocol may use of the packages that it imports. It imports no others.
var pure = map[string][]string{
	"time":             {"Duration", "Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour"},
	"math/bits":        nil, // all of it
	module + "/clock":  {"Instant", "Drift", "Validity"},
	module + "/quorum": nil,
}

// TestCoreIsPure: the state machines of the protocol are values, and their steps depend on nothing
// but their arguments. So they can be searched, replayed and compared.
func TestCoreIsPure(t *testing.T) {
	names, err := filepath.Glob("multilock/protocol/*.go")
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		looked++
		for _, found := range impurities(t, name, read(t, name)) {
			t.Error(found)
		}
	}
	if looked == 0 {
		t.Error("no file was found: this test looks in the wrong place")
	}
}

func TestCoreIsPureHasTeeth(t *testing.T) {
	for _, bad := range []string{
		`import "sync"`,
		`import "context"`,
		`import "math/rand/v2"`,
		`import "github.com/gomodule/redigo/redis"`,
		`import "time"; var now = time.Now()`,
		`import "time"; type timed struct { t time.Timer }`,
		`import other "time"; var now = other.Now()`,
		`import . "time"`,
		`import "example.com/redlock/clock"; var now = clock.Now()`,
		`func f() { go f() }`,
		`func f() { defer f(); select {} }`,
		`type ear struct { c chan int }`,
		`func f(c any) { for range c.(<-chan int) {} }`,
		`type told struct { tell func() }`,
		`type told struct { tell []func() }`,
		`type tell func()`,
		`var names = map[int]string{}`,
	} {
		if len(impurities(t, "bad.go", "package protocol\n"+bad)) == 0 {
			t.Errorf("impurities finds nothing in %s", bad)
		}
	}
	fine := `package protocol; import "time"
		type hold struct { left time.Duration }
		func (h *hold) step(d time.Duration) (ok bool) { h.left -= d; return h.left > time.Second }`
	if found := impurities(t, "fine.go", fine); len(found) != 0 {
		t.Errorf("impurities = %v, want none", found)
	}
}

// impurities says what in the text of a file may not be in a state machine that is a value.
func impurities(t *testing.T, name, text string) (found []string) {
	t.Helper()
	positions := token.NewFileSet()
	file, err := parser.ParseFile(positions, name, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	note := func(at ast.Node, format string, args ...any) {
		found = append(found, fmt.Sprintf("%v %s", positions.Position(at.Pos()), fmt.Sprintf(format, args...)))
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
		imported[filepath.Base(from)] = from
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
	return found
}
