package main

import (
	"errors"
	"fmt"
	"os"
	"path"
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
//	by: quorum
//	by: redlock TestSim
//
//	@@ quorum/quorum.go
//	…
//
// rule is one of docs/safety.md. breaks says what the code does instead. Each by is a catcher: a
// package, or one of its tests or subtests. A patch without any has those that are usual for the package that it
// changes. What follows is read by [overlay.ReadEdits].
type patch struct {
	name   string // of the file, without folder and extension
	rule   string
	breaks string
	by     []catcher
	beyond []catcher      // that are not tried
	edits  []overlay.Edit // of files below the root of the module
}

// catcher is what may notice that a rule is broken.
type catcher struct {
	pkg  string // folder of the package
	test string // the only one to run; empty: all but the simulations and those that end in Long
}

// quick reports whether make test has it as well. Of the search that has those cases with which patches are tried.
func (c catcher) quick() bool {
	return !strings.HasSuffix(c.test, "Long") && !strings.HasPrefix(c.pkg, "integration")
}

// folder is where the package is. That of the search is called model for short.
func (c catcher) folder() string {
	if c.pkg == "model" {
		return "verify/model"
	}
	return c.pkg
}

// usual are the catchers of a patch that names none, by the folder of its first change.
func usual(folder string) []catcher {
	if folder == "multilock/protocol" {
		return []catcher{{pkg: folder}, {pkg: "model"}}
	}
	return []catcher{{pkg: folder}}
}

// hurry leaves a patch those catchers that make test has as well. If there is none, those that are usual may do, and
// beyond names the others.
func (p *patch) hurry() {
	for _, by := range p.by {
		if !by.quick() {
			p.beyond = append(p.beyond, by)
		}
	}
	if p.by = slices.DeleteFunc(p.by, func(by catcher) bool { return !by.quick() }); len(p.by) == 0 {
		p.by = usual(path.Dir(p.edits[0].File))
	}
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
	if p.rule == "" || p.breaks == "" || changes == "" {
		return nil, errors.New("it lacks a rule, what it breaks, or a change")
	}
	var err error
	if p.edits, err = overlay.ReadEdits("@@ " + changes); err != nil {
		return nil, err
	}
	if len(p.by) == 0 {
		p.by = usual(path.Dir(p.edits[0].File))
	}
	return p, nil
}
