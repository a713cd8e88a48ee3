package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/redlock/internal/overlay"
)

// patch breaks one rule. Its file reads like this:
//
//	rule: a majority is more than half
//	breaks: half of the masters are enough
//	by: quorum TestAgreed
//	by: model ^far/two/1$
//
//	@@ quorum/quorum.go
//	…
//
// rule is one of RULES.md. breaks says what the code does instead. Each by is a catcher, which must
// notice. What follows is read by [overlay.ReadEdits].
type patch struct {
	name   string // of the file, without folder and extension
	rule   string
	breaks string
	by     []catcher
	edits  []overlay.Edit // of files below the root of the module
}

// catcher is what notices that a rule is broken.
type catcher struct {
	pkg  string // folder of the package
	test string // a test or a subtest; of the search, cases: those whose names match
}

func (c catcher) String() string { return c.pkg + " " + c.test }

// folder is where the package is. That of the search is called model for short.
func (c catcher) folder() string {
	if c.pkg == "model" {
		return "verify/model"
	}
	return c.pkg
}

// name is that of the test, without its subtests.
func (c catcher) name() string {
	name, _, _ := strings.Cut(c.test, "/")
	return name
}

// shown is how the page calls it.
func (c catcher) shown() string {
	if c.pkg == "model" {
		return "model"
	}
	return fmt.Sprintf("`%s` (%s)", c.name(), c.pkg)
}

const folder = "verify/mutants/patches"

// readPatches reads the patches of the module at root whose names match wanted.
func readPatches(root string, wanted *regexp.Regexp) (patches []*patch, err error) {
	files, err := filepath.Glob(filepath.Join(root, folder, "*.patch"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".patch")
		if !wanted.MatchString(name) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		p, err := parse(name, string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		patches = append(patches, p)
	}
	return patches, nil
}

// parse reads a patch.
func parse(name, text string) (*patch, error) {
	p := &patch{name: name}
	head, changes, _ := strings.Cut(text, "\n@@ ")
	for line := range strings.Lines(head) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		key, value, _ := strings.Cut(line, ": ")
		switch key {
		case "rule":
			p.rule = value
		case "breaks":
			p.breaks = value
		case "by":
			pkg, test, _ := strings.Cut(value, " ")
			p.by = append(p.by, catcher{pkg, test})
		default:
			return nil, fmt.Errorf("what is %q?", line)
		}
	}
	if p.rule == "" || p.breaks == "" || len(p.by) == 0 || changes == "" {
		return nil, errors.New("it lacks a rule, what it breaks, what notices, or a change")
	}
	var err error
	p.edits, err = overlay.ReadEdits("@@ " + changes)
	return p, err
}

// The table of RULES.md has each rule, what happens without it, and what notices.
const (
	page   = "verify/mutants/RULES.md"
	begins = "| rule | what happens without it | noticed by |\n|---|---|---|\n"
)

// table returns the page with the catchers that the patches name, and the rules of the page.
func table(text string, patches []*patch) (whole string, rules []string) {
	before, text, _ := strings.Cut(text, begins)
	rows, after, _ := strings.Cut(text, "\n\n")
	var b strings.Builder
	for line := range strings.Lines(rows) {
		cells := strings.Split(line, "|")
		rule, without := strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])
		rules = append(rules, rule)
		var by []string
		for _, p := range patches {
			for _, c := range p.by {
				if shown := c.shown(); p.rule == rule && !slices.Contains(by, shown) {
					by = append(by, shown)
				}
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", rule, without, strings.Join(by, ", "))
	}
	return before + begins + b.String() + "\n" + after, rules
}
