package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

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

func TestSimSum(t *testing.T) {
	if sum(2, 2) != 4 {
		t.Error("wrong")
	}
}
`,
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l, err := newLab(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	l.limits = map[catcher]time.Duration{{pkg: "a"}: time.Minute, {"a", "TestSimSum"}: time.Minute}
	return l
}

const head = "rule: sums are right\nbreaks: they are not\n"

func TestTry(t *testing.T) {
	l := toy(t)
	for _, tt := range []struct {
		name, text string
		who, err   string
	}{
		{
			name: "caught",
			text: head + "by: a\n\n@@ a/a.go\n-\treturn a + b\n+\treturn a - b\n",
			who:  "unit test `TestSum` (a)",
		},
		{
			name: "caught by the second",
			text: head + "by: a\nby: a TestSimSum\n\n@@ a/a.go\n-\treturn a + b\n+\treturn max(a+b, 3) % 4\n",
			who:  ", simulation `TestSimSum` (a)",
		},
		{
			name: "an embedded file",
			text: head + "by: a\n\n@@ a/word.txt\n-word\n+words\n",
			who:  "unit test `TestWord` (a)",
		},
		{
			name: "survives",
			text: head + "by: a\n\n@@ a/a.go\n func sum(a, b int) int {\n-\treturn a + b\n+\treturn b + a\n",
		},
		{
			name: "does not apply",
			text: head + "by: a\n\n@@ a/a.go\n-\treturn a +\n+\treturn a - b\n",
			err:  "a/a.go does not have exactly once",
		},
		{
			name: "does not compile",
			text: head + "by: a\n\n@@ a/a.go\n-\treturn a + b\n+\treturn a + c\n",
			err:  "a does not compile",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := parse("toy", tt.text)
			if err != nil {
				t.Fatal(err)
			}
			results, err := l.try(t.Context(), p)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var who []string
			for _, r := range results {
				who = append(who, r.who)
			}
			if got := strings.Join(who, ", "); got != tt.who {
				t.Errorf("caught by %q, want %q", got, tt.who)
			}
		})
	}
}

// TestControl: a catcher that fails without a patch is an error, not a catch.
func TestControl(t *testing.T) {
	l := toy(t)
	p := &patch{by: []catcher{{pkg: "a"}}}
	if err := l.control(t.Context(), []*patch{p}, 1); err != nil {
		t.Errorf("code without a mistake: %v", err)
	}
	if err := os.WriteFile(filepath.Join(l.root, "a", "word.txt"), []byte("words\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := l.control(t.Context(), []*patch{p}, 1); err == nil || !strings.Contains(err.Error(), "TestWord") {
		t.Errorf("code with a mistake: error %v, want one that names TestWord", err)
	}
}

func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		by        catcher
		out, want string
	}{
		{catcher{pkg: "node"}, "--- FAIL: TestGuard (0.00s)\n    --- FAIL: TestGuard/x (0.00s)\nFAIL\n", "unit test `TestGuard` (node)"},
		{catcher{pkg: "node"}, "panic: test timed out after 2m0s\n\trunning tests:\n\t\tTestGuard (2m0s)\n", "unit test `TestGuard` (node), by its time limit"},
		{
			catcher{pkg: "node"},
			"panic: oops\n\ngoroutine 7 [running]:\nexample.com/redlock/node.TestGuard.func1.2()\n",
			"unit test `TestGuard` (node)",
		},
		{catcher{pkg: "node"}, "PASS\ngoleak: Errors on successful test run\n", "unit test `TestMain` (node)"},
		{catcher{pkg: "integration"}, "--- FAIL: TestGuard (0.00s)\n", "chaos `TestGuard` (integration)"},
		{
			catcher{pkg: "model"},
			"near/two/1      12 states   3 deep    0.0 s  ok\nfar/two/1       24 states   5 deep    0.1 s  FAIL safety: two callers have the lock, in step 4\n1 cases\n",
			"search, case *far/two/1*: safety: two callers have the lock",
		},
	} {
		if got := verdict(tt.by, tt.out); got != tt.want {
			t.Errorf("%q is taken for %q, want %q", tt.out, got, tt.want)
		}
	}
}

// TestHurry: a patch keeps the catchers that make test has as well, or gets those that are usual.
func TestHurry(t *testing.T) {
	for _, tt := range []struct{ by, want, beyond string }{
		{"by: a", "[a]", "[]"},
		{"by: a TestSim\nby: a TestSimLong", "[a TestSim]", "[a TestSimLong]"},
		{"by: a TestSimLong\nby: integration TestChaos", "[a]", "[a TestSimLong integration TestChaos]"},
	} {
		p, err := parse("toy", head+tt.by+"\n\n@@ a/a.go\n-\treturn a + b\n+\treturn a - b\n")
		if err != nil {
			t.Fatal(err)
		}
		p.hurry()
		if got, beyond := fmt.Sprint(p.by), fmt.Sprint(p.beyond); got != tt.want || beyond != tt.beyond {
			t.Errorf("of %q make test has %s, and not %s, want %s and %s", tt.by, got, beyond, tt.want, tt.beyond)
		}
	}
}
