package style_test

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocsShell: every sh block is a script that a shell can parse, and the make targets, packages
// and files of this repository that it names are there. The redlock command's own parser reads its
// lines: TestDocumentedLines, in cmd/redlock.
func TestDocsShell(t *testing.T) {
	targets := regexp.MustCompile(`(?m)^([a-z]+):`).FindAllStringSubmatch(read(t, "Makefile"), -1)
	local := regexp.MustCompile(`(?:^|\s)(\./[\w./-]+)`)
	there, lines := files(t), 0
	for _, page := range pages(t) {
		folder := "" // the blocks of a page go on where the last one went
		for _, b := range blocksOf(t, page) {
			if b.lang != "sh" {
				continue
			}
			parse := exec.CommandContext(t.Context(), "sh", "-n")
			parse.Stdin = strings.NewReader(b.code)
			if out, err := parse.CombinedOutput(); err != nil {
				t.Errorf("%s:%d: sh -n: %v: %s", b.page, b.line, err, out)
			}
			for i, line := range strings.Split(b.code, "\n") {
				line, _, _ = strings.Cut(line, " #")
				words := strings.Fields(line)
				if len(words) < 2 {
					continue
				}
				lines++
				if words[0] == "cd" {
					folder = strings.Trim(words[1], "&;") + "/"
				}
				if words[0] == "make" && !slices.ContainsFunc(targets, func(target []string) bool { return target[1] == words[1] }) {
					t.Errorf("%s:%d: the Makefile has no target %s", b.page, b.line+i, words[1])
				}
				if !strings.Contains(line, "go run ") && !strings.Contains(line, "go test ") && !strings.Contains(line, "go install ") {
					continue
				}
				for _, match := range local.FindAllStringSubmatch(line, -1) {
					name := folder + strings.TrimSuffix(strings.TrimPrefix(match[1], "./"), "...")
					if !slices.ContainsFunc(there, func(f string) bool { return strings.HasPrefix(f, name) }) {
						t.Errorf("%s:%d: there is no %s", b.page, b.line+i, name)
					}
				}
			}
		}
	}
	if lines < 10 {
		t.Errorf("the pages have %d lines of shell: this test looks in the wrong way", lines)
	}
}
