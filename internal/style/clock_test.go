package style_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/redlock/internal/check"
)

// realTime lists the tests that look at the clock of the machine, or wait for it, each with its reason. Real masters,
// processes and networks have no other time; but no test fails because the machine is slow.
var realTime = map[string]string{
	"doctor TestServers":                        "certificates are valid for an hour before and after",
	"redlock ExampleClient_Lock":                "shows a deadline; the lock is free, so nobody waits for it",
	"redlock ExampleClient_Ready":               "shows a deadline of a minute, and the masters are ready",
	"redlock ExampleClient_TryLock_oncePerTick": "shows what is unlocked in a minute, when it has ended",

	"examples/asynqlock TestOneProcessSchedules":       "a bound of a minute for what happens each second",
	"examples/asynqlock TestOneTaskOfACustomerAtATime": "the work under a lock takes a moment",
	"examples/riverlock TestOneJobOfACustomerAtATime":  "the work under a lock takes a moment",
	"examples/sshtunnel TestLockThroughSSH":            "a bound of a minute",
	"goredis TestConfig":                               "a bound of a minute",
	"goredis TestMasterAddedLater":                     "ends a wait that has no other end",
	"goredis TestPasswordThatChanges":                  "a bound of a minute",
	"integration TestOverloadLoss":                     "how long a fault lasts, at least",
	"integration TestOverloadStart":                    "a slow machine lets clients try to connect more often, and how often follows from how long it took",
	"integration TestOverloadStopped":                  "how long a process is stopped, at least; a bound of a minute",
	"integration TestPermissionsAreNeeded":             "a bound of two minutes for what takes some seconds",
	"integration TestRedissonBesideUs":                 "has others wait for a while; tells how fast the machine was",
	"integration/fleet TestHarm":                       "how long a master is occupied, at least",
	"integration/fleet TestClocks":                     "what a clock shows, between looks at ours before and after",
	"integration/wire TestCloseBehindASender":          "lets a sender fill what is on its way",
	"integration/wire TestLose":                        "what is lost takes longer, at least",
	"integration/wire TestStreamUnderFaults":           "how long faults last, at least",
}

// clockwork is what looks at the clock, or waits for it.
var clockwork = regexp.MustCompile(`\b(time\.(Sleep|Since|Until|Now|After|AfterFunc|NewTimer|NewTicker|Tick)|context\.With(Timeout|Deadline)(Cause)?)\(`)

// TestNoTestOwnsTheClock: no test judges by a clock that runs on while the machine is busy with something else. What
// takes time runs in a synctest bubble, of the test's own or of a function that it calls, save in the tests of realTime.
func TestNoTestOwnsTheClock(t *testing.T) {
	packages := map[string]map[string]string{} // folder, function, its text
	for _, file := range files(t) {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		folder, text, fset := path.Dir(file), check.File(t, file), token.NewFileSet()
		parsed, err := parser.ParseFile(fset, file, text, parser.SkipObjectResolution)
		check.OK(t, err)
		if packages[folder] == nil {
			packages[folder] = map[string]string{}
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				packages[folder][f.Name.Name] += text[fset.Position(f.Pos()).Offset:fset.Position(f.End()).Offset]
			}
		}
	}
	found := map[string]bool{}
	for folder, functions := range packages {
		bubbles := []string{`synctest\.Test`} // and functions that call one of them
		for before := 0; before < len(bubbles); {
			before = len(bubbles)
			calls := regexp.MustCompile(`(^|[^.\w])(` + strings.Join(bubbles, "|") + `)\(`)
			for name, text := range functions {
				if !slices.Contains(bubbles, name) && calls.MatchString(text) {
					bubbles = append(bubbles, name)
				}
			}
		}
		for name, text := range functions {
			isTest := regexp.MustCompile(`^(Test|Example|Fuzz)`).MatchString(name) && !strings.HasSuffix(name, "Long")
			if use := clockwork.FindString(text); use != "" && isTest && !slices.Contains(bubbles, name) {
				found[folder+" "+name] = true
				check.That(t, realTime[folder+" "+name] != "", "%s of %s calls %s) outside of bubbles", name, folder, use)
			}
		}
	}
	for name := range realTime {
		check.That(t, found[name], "%s does not look at the machine's clock", name)
	}
}
