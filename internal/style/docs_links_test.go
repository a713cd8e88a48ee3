package style_test

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestDocsLinks: what a page links to in this repository is there, with the heading that the link
// names.
func TestDocsLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	there, found := files(t), 0
	for _, page := range append(pages(t), "CHANGELOG.md") {
		for i, line := range proseLines(read(t, page)) {
			for _, match := range link.FindAllStringSubmatch(line, -1) {
				target, anchor, _ := strings.Cut(match[1], "#")
				if u, err := url.Parse(match[1]); err != nil || u.Scheme != "" {
					continue
				}
				found++
				file := page
				if target != "" {
					file = path.Join(path.Dir(page), target)
				}
				isFolder := slices.ContainsFunc(there, func(f string) bool { return strings.HasPrefix(f, file+"/") })
				switch {
				case isFolder && anchor == "":
				case !slices.Contains(there, file):
					t.Errorf("%s:%d: there is no %s", page, i+1, file)
				case anchor != "" && !slices.Contains(anchors(read(t, file)), anchor):
					t.Errorf("%s:%d: %s has no heading #%s", page, i+1, file, anchor)
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("the pages have %d links: this test looks in the wrong way", found)
	}
}

// anchors returns how GitHub names the headings of a page.
func anchors(text string) (names []string) {
	seen := map[string]int{}
	for _, line := range proseLines(text) {
		marks, title, ok := strings.Cut(line, " ")
		if !ok || strings.Trim(marks, "#") != "" || marks == "" {
			continue
		}
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(title))
		seen[name]++
		if seen[name] > 1 {
			name = fmt.Sprintf("%s-%d", name, seen[name]-1)
		}
		names = append(names, name)
	}
	return names
}

// proseLines returns the lines of a page, with those of its fenced blocks empty.
func proseLines(text string) []string {
	lines, fenced := strings.Split(text, "\n"), false
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence || fenced {
			lines[i] = ""
		}
		if fence {
			fenced = !fenced
		}
	}
	return lines
}
