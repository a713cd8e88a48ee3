package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/redlock/internal/check"
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
`,
	} {
		file := filepath.Join(root, name)
		check.OK(t, os.MkdirAll(filepath.Dir(file), 0o755))
		check.OK(t, os.WriteFile(file, []byte(text), 0o644))
	}
	l, err := newLab(root)
	check.OK(t, err)
	t.Cleanup(l.close)
	l.limits = map[catcher]time.Duration{{"a", "TestSum"}: time.Minute, {"a", "TestWord"}: time.Minute}
	return l
}

const head = "rule: sums are right\nbreaks: they are not\n"

func TestTry(t *testing.T) {
	l := toy(t)
	for _, tt := range []struct{ name, text, err string }{
		{
			name: "caught",
			text: head + "by: a TestSum\n\n@@ a/a.go\n-\treturn a + b\n+\treturn a - b\n",
		},
		{
			name: "caught by the first alone",
			text: head + "by: a TestSum\nby: a TestWord\n\n@@ a/a.go\n-\treturn a + b\n+\treturn a - b\n",
			err:  "a TestWord does not notice",
		},
		{
			name: "an embedded file",
			text: head + "by: a TestWord\n\n@@ a/word.txt\n-word\n+words\n",
		},
		{
			name: "survives",
			text: head + "by: a TestSum\n\n@@ a/a.go\n func sum(a, b int) int {\n-\treturn a + b\n+\treturn b + a\n",
			err:  "a TestSum does not notice",
		},
		{
			name: "does not apply",
			text: head + "by: a TestSum\n\n@@ a/a.go\n-\treturn a +\n+\treturn a - b\n",
			err:  "a/a.go does not have exactly once",
		},
		{
			name: "does not compile",
			text: head + "by: a TestSum\n\n@@ a/a.go\n-\treturn a + b\n+\treturn a + c\n",
			err:  "a does not compile",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := parse("toy", tt.text)
			check.OK(t, err)
			switch err := l.try(t.Context(), p); {
			case err == nil && tt.err != "", err != nil && (tt.err == "" || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}

// TestControl: a catcher that fails without a patch is an error, not a catch.
func TestControl(t *testing.T) {
	l := toy(t)
	p := &patch{by: []catcher{{"a", "TestWord"}}}
	if err := l.control(t.Context(), []*patch{p}, 1); err != nil {
		t.Errorf("code without a mistake: %v", err)
	}
	check.OK(t, os.WriteFile(filepath.Join(l.root, "a", "word.txt"), []byte("words\n"), 0o644))
	if err := l.control(t.Context(), []*patch{p}, 1); err == nil || !strings.Contains(err.Error(), "TestWord") {
		t.Errorf("code with a mistake: error %v, want one that names TestWord", err)
	}
}
