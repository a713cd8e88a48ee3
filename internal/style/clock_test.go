package style_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"example.com/redlock/internal/check"
)

// realTime lists the functions of tests that look at the clock of the machine, or wait for it, each with its reason.
// There are at most twenty that make test runs: whatever takes time runs in a synctest bubble, or is judged by what
// happened and in which order.
var realTime = map[string]string{
	"cmd/redlock invocation.code": "a bound, far longer than a process takes, so that one that hangs is named",
	"cmd/redlock eventually":      "a bound, far longer than what processes do takes",
	"cmd/redlock countSignals":    "runs in a process of its own; a signal too many is seen if it comes in that time, and one that is late fails no test",
	"cmd/redlock issueAll":        "certificates are valid from an hour before",
	"doctor lasts":                "certificates are valid for days before and after",
	"doctor TestServers":          "certificates are valid for an hour before and after",
	"node answering":              "a bound: a client that sends nothing does not hold up the test",
	"redlock ExampleClient_Lock":  "shows a deadline; the lock is free, so nobody waits for it",
	"redlock ExampleClient_Ready": "shows a deadline of a minute, and the masters are ready",
	"redlocktest eventually":      "a bound, far longer than a command on a loopback port takes",
}

// realTimeBeyond are those that make verify runs. Real masters, processes and networks have no other time, so more of
// them wait; but none fails because the machine is slow.
var realTimeBeyond = map[string]string{
	"examples/asynqlock TestOneProcessSchedules":       "a bound of a minute for what happens each second",
	"examples/asynqlock TestOneTaskOfACustomerAtATime": "the work under a lock takes a moment",
	"examples/migrating takeRedislock":                 "part of the example; runs in a bubble",
	"examples/migrating takeSetNX":                     "part of the example; runs in a bubble",
	"examples/riverlock TestOneJobOfACustomerAtATime":  "the work under a lock takes a moment",
	"examples/service TestShutdown":                    "a bound of a minute",
	"examples/sshtunnel TestLockThroughSSH":            "a bound of a minute",
	"goredis TestConfig":                               "a bound of a minute",
	"goredis TestMasterAddedLater":                     "ends a wait that has no other end",
	"goredis TestPasswordThatChanges":                  "a bound of a minute",
	"integration TestOverloadLoss":                     "how long a fault lasts, at least",
	"integration TestOverloadStart":                    "a slow machine lets clients try to connect more often, and how often follows from how long it took",
	"integration TestOverloadStopped":                  "how long a process is stopped, at least; a bound of a minute",
	"integration TestPermissionsAreNeeded":             "a bound of two minutes for what takes some seconds",
	"integration TestRedissonBesideUs":                 "has others wait for a while; tells how fast the machine was",
	"integration beStopped":                            "tells every now and then how it is",
	"integration begin":                                "a bound of ten minutes for each test",
	"integration crowd.suffer":                         "as TestOverloadStart; tells how fast the machine was",
	"integration eventually":                           "a bound of a minute",
	"integration fleet.all":                            "looks again and again, until its context ends",
	"integration fleet.queued":                         "looks again and again, until its context ends",
	"integration gather":                               "a pause while masters are away",
	"integration renewed":                              "looks again and again, until its context ends; validity is an instant",
	"integration/browser tab.until":                    "a bound of a minute",
	"integration/fleet TestClocks":                     "what a clock shows, between looks at ours before and after",
	"integration/fleet TestHarm":                       "how long a master is occupied, at least",
	"integration/fleet TestSweep":                      "a container that ended a second ago",
	"integration/fleet eventually":                     "a bound of a minute",
	"integration/fleet lookAt":                         "when a master was asked, and when it had answered",
	"integration/fleet start":                          "a bound of five minutes",
	"integration/fleet wantPace":                       "lets a clock run for a while, which is measured",
	"integration/register serve":                       "the clock of a history",
	"integration/wire TestCloseBehindAFullWindow":      "a bound of a minute",
	"integration/wire TestLose":                        "what is lost takes longer, at least",
	"integration/wire TestSlow":                        "a delay, at least; that it is over shows once in a hundred times",
	"integration/wire TestStreamUnderFaults":           "how long faults last, at least",
	"integration/wire left":                            "a bound of a minute",
	"integration/wire silent":                          "nothing comes for a while: what would come late fails no test",
	"integration/wire want":                            "a bound of a minute",
	"integration/workload TestWork":                    "a hold says that it ends later",
	"integration/workload fakeHold.Context":            "a hold says that it ends later",
	"integration/workload newFixture":                  "the clock of a history",
	"integration/workload valid":                       "a hold says that it ends later",
	"otel/example TestRun":                             "a bound of a minute",
}

// clockwork is what looks at the clock, or waits for it.
var clockwork = []string{
	"time.Sleep", "time.Since", "time.Until", "time.Now", "time.After", "time.AfterFunc", "time.NewTimer", "time.NewTicker", "time.Tick",
	"context.WithTimeout", "context.WithTimeoutCause", "context.WithDeadline", "context.WithDeadlineCause",
}

// TestNoTestOwnsTheClock: no test judges by a clock that runs on while the machine is busy with something else, save
// those of realTime and realTimeBeyond.
func TestNoTestOwnsTheClock(t *testing.T) {
	if len(realTime) > 20 {
		t.Errorf("%d functions look at the machine's clock, want at most 20", len(realTime))
	}
	known := maps.Clone(realTimeBeyond)
	maps.Copy(known, realTime)
	packages := map[string][]string{}
	for _, file := range files(t) {
		if strings.HasSuffix(file, "_test.go") {
			packages[path.Dir(file)] = append(packages[path.Dir(file)], file)
		}
	}
	found := map[string][]string{}
	for folder, names := range packages {
		for name, uses := range newSuite(t, names).outside() {
			found[folder+" "+name] = uses
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if known[name] == "" {
			t.Errorf("%s is called outside of bubbles, and calls %s", name, strings.Join(slices.Compact(slices.Sorted(slices.Values(found[name]))), ", "))
		}
	}
	for name := range known {
		if found[name] == nil {
			t.Errorf("%s does not look at the machine's clock", name)
		}
	}
}

// suite is the tests of one package, as far as the clock goes. Methods are known by their names alone: all of that name
// are taken to be called, of those types that are named outside of bubbles.
type suite struct {
	functions map[string][]*ast.FuncDecl
	tables    map[string][]ast.Expr // values of variables
	types     map[string]ast.Expr
	methods   []method
	bubbling  map[string]bool // functions that call in a bubble what they are given
	inside    map[string]bool // functions that have a bubble in them, and those that mention them
}

type method struct {
	of string
	*ast.FuncDecl
}

func newSuite(t *testing.T, names []string) *suite {
	t.Helper()
	s := &suite{
		functions: map[string][]*ast.FuncDecl{}, tables: map[string][]ast.Expr{}, types: map[string]ast.Expr{},
		bubbling: map[string]bool{"synctest.Test": true}, inside: map[string]bool{"synctest.Test": true},
	}
	var declared []*ast.FuncDecl
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		check.OK(t, err)
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				declared = append(declared, d)
				if d.Recv != nil {
					s.methods = append(s.methods, method{receiver(d), d})
				} else {
					s.functions[d.Name.Name] = append(s.functions[d.Name.Name], d)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						s.types[spec.Name.Name] = spec.Type
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							s.tables[name.Name] = append(s.tables[name.Name], spec.Values...)
						}
					}
				}
			}
		}
	}
	for again := true; again; { // until no more are found
		again = false
		for _, d := range declared {
			name := d.Name.Name
			if !s.bubbling[name] && takesFunction(d.Type) && calls(d.Body, s.bubbling) {
				s.bubbling[name], again = true, true
			}
			if !s.inside[name] && mentions(d.Body, s.inside) {
				s.inside[name], again = true, true
			}
		}
	}
	return s
}

// receiver is the name of a method's type.
func receiver(d *ast.FuncDecl) (name string) {
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return true
	})
	return name
}

func takesFunction(signature *ast.FuncType) bool {
	return slices.ContainsFunc(signature.Params.List, func(p *ast.Field) bool {
		_, ok := p.Type.(*ast.FuncType)
		return ok
	})
}

// calls reports whether one of the functions is called.
func calls(n ast.Node, functions map[string]bool) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && functions[called(call)] {
			found = true
		}
		return !found
	})
	return found
}

// mentions reports whether one of the functions is called, or is a value.
func mentions(n ast.Node, functions map[string]bool) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && functions[id.Name] {
			found = true
		}
		return !found
	})
	return found || calls(n, functions)
}

// called is the name of what is called, with its package if that can be one of the standard library.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if of, ok := f.X.(*ast.Ident); ok && slices.Contains([]string{"context", "synctest", "time"}, of.Name) {
			return of.Name + "." + f.Sel.Name
		}
		return f.Sel.Name
	}
	return ""
}

// own returns the names that a function, or a type, gives to something of its own.
func own(n ast.Node) map[string]bool {
	names := map[string]bool{}
	add := func(list ...ast.Expr) {
		for _, e := range list {
			if id, ok := e.(*ast.Ident); ok {
				names[id.Name] = true
			}
		}
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				add(n.Lhs...)
			}
		case *ast.RangeStmt:
			add(n.Key, n.Value)
		case *ast.Field:
			for _, name := range n.Names {
				add(name)
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				add(name)
			}
		}
		return true
	})
	return names
}

// outside returns which functions use the clock outside of any bubble, and what of it.
func (s *suite) outside() map[string][]string {
	found := map[string][]string{}
	mentioned := map[string]bool{} // names of functions, variables and types, and of methods with a dot in front
	var look func(where string, n ast.Node)
	mention := func(name string) {
		if mentioned[name] {
			return
		}
		mentioned[name] = true
		for _, d := range s.functions[name] {
			look(name, d)
		}
		if s.types[name] != nil {
			look(name, s.types[name])
		}
	}
	look = func(where string, n ast.Node) {
		inBubble := mentions(n, s.inside) // and so are the functions that it keeps in variables and tables
		owned := own(n)
		if d, ok := n.(*ast.FuncDecl); ok {
			n = d.Body
		}
		var visit func(n ast.Node) bool
		visit = func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if name := called(n); s.bubbling[name] {
					return false
				} else if slices.Contains(clockwork, name) {
					found[where] = append(found[where], name)
				}
			case *ast.AssignStmt:
				_, isFunction := n.Rhs[0].(*ast.FuncLit)
				return !isFunction || !inBubble
			case *ast.CompositeLit:
				return !inBubble
			case *ast.KeyValueExpr:
				if _, isField := n.Key.(*ast.Ident); isField {
					ast.Inspect(n.Value, visit)
					return false
				}
			case *ast.SelectorExpr:
				mention("." + n.Sel.Name)
				ast.Inspect(n.X, visit)
				return false
			case *ast.Ident:
				if owned[n.Name] {
					break
				}
				mention(n.Name)
				if !inBubble {
					for _, value := range s.tables[n.Name] {
						if !mentioned["="+n.Name] {
							mentioned["="+n.Name] = true
							look(n.Name, value)
						}
					}
				}
			}
			return true
		}
		ast.Inspect(n, visit)
	}
	for name := range s.functions {
		for _, kind := range []string{"Test", "Example", "Fuzz"} {
			if strings.HasPrefix(name, kind) && !strings.HasSuffix(name, "Long") {
				mention(name)
			}
		}
	}
	for before := 0; before < len(mentioned); {
		before = len(mentioned)
		for _, m := range s.methods {
			if name := m.of + "." + m.Name.Name; mentioned[m.of] && mentioned["."+m.Name.Name] && !mentioned[name] {
				mentioned[name] = true
				look(name, m.FuncDecl)
			}
		}
	}
	return found
}
