package style_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestDocsNameTests: the tests that the docs call to witness are there.
func TestDocsNameTests(t *testing.T) {
	var code strings.Builder
	for _, file := range files(t) {
		if strings.HasSuffix(file, "_test.go") {
			code.WriteString(read(t, file))
		}
	}
	for _, file := range files(t) {
		if path.Ext(file) != ".md" {
			continue
		}
		for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(strings.Join(proseLines(read(t, file)), "\n"), -1) {
			if !strings.Contains(code.String(), "\nfunc "+name+"(") {
				t.Errorf("%s: there is no %s", file, name)
			}
		}
	}
}

// TestDocsNameCode: where a page says which functions of a file do something, they are there.
//
//	`multilock/line.go`: `Masters.join`, `waiter`; `node/script/queue.lua`: `handOff`
func TestDocsNameCode(t *testing.T) {
	naming := regexp.MustCompile("`([\\w/.]+\\.(?:go|lua))`(: `[\\w.]+`(?:,? (?:and )?`[\\w.]+`)*)?")
	names := regexp.MustCompile("`([\\w.]+)`")
	there, named := files(t), 0
	for _, page := range pages(t) {
		text := strings.Join(strings.Fields(read(t, page)), " ") // a list may go on in the next line
		for _, match := range naming.FindAllStringSubmatch(text, -1) {
			file := match[1]
			if !strings.Contains(file, "/") {
				continue // only a word for it
			}
			if !slices.Contains(there, file) {
				t.Errorf("%s: there is no %s", page, file)
				continue
			}
			for _, name := range names.FindAllStringSubmatch(match[2], -1) {
				named++
				if !declares(read(t, file), name[1]) {
					t.Errorf("%s: %s has no %s", page, file, name[1])
				}
			}
		}
	}
	if named < 50 {
		t.Errorf("the pages name %d functions: this test looks in the wrong way", named)
	}
}

// declares reports whether the text of a file declares name, of a method as Type.method.
func declares(text, name string) bool {
	receiver, method, isMethod := strings.Cut(name, ".")
	declaration := `(?m)^(func|type|var|const|(local )?function) ` + name + `\b|^\t` + name + `\s+=`
	if isMethod {
		declaration = `(?m)^func \((\w+ )?\*?` + receiver + `\) ` + method + `\(`
	}
	return regexp.MustCompile(declaration).MatchString(text)
}

// TestDocsWrap: prose wraps at about 100 characters. Tables, code and the targets of links may be
// longer.
func TestDocsWrap(t *testing.T) {
	for _, page := range pages(t) {
		if page == "docs/benchmarks.md" {
			continue // make bench writes it
		}
		for number, line := range longLines(read(t, page)) {
			t.Errorf("%s:%d has more than %d characters: %s", page, number, widest, line)
		}
	}
}

func TestDocsWrapHasTeeth(t *testing.T) {
	prose := strings.Repeat("word ", 25)
	for _, long := range []string{prose, "- " + prose, "text\n    " + prose, "- item\n\n  " + prose, "[" + prose + "](x)"} {
		if len(longLines(long)) != 1 {
			t.Errorf("longLines does not find %q", long)
		}
	}
	for _, fine := range []string{"| " + prose + "|", "```\n" + prose + "\n```", "text\n\n    " + prose, "[a](https://" + strings.Repeat("x", 200) + ")"} {
		if found := longLines(fine); len(found) != 0 {
			t.Errorf("longLines = %v, want nothing of %q", found, fine)
		}
	}
}

// TestDocsPictures: an arrow of a Mermaid picture has one colon. Versions before March 2026 take a
// second one for a mistake, and show nothing (mermaid-js/mermaid issue 7418).
func TestDocsPictures(t *testing.T) {
	arrows := 0
	for _, page := range pages(t) {
		for i, line := range strings.Split(read(t, page), "\n") {
			if !strings.HasPrefix(line, "    ") || !strings.Contains(line, " --> ") {
				continue
			}
			arrows++
			if strings.Count(line, ":") > 1 {
				t.Errorf("%s:%d has more than one colon: %s", page, i+1, line)
			}
		}
	}
	if arrows == 0 {
		t.Error("no arrow was found: this test looks in the wrong place")
	}
}

// widest is how many characters a line of prose may have.
const widest = 105

// longLines returns the lines of prose of a page that are too long, by their numbers.
func longLines(text string) map[int]string {
	long := map[int]string{}
	target := regexp.MustCompile(`\]\([^)]*\)`)
	fenced, code, blank := false, false, true
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		code = strings.HasPrefix(line, "    ") && (code || blank)
		blank = line == ""
		prose := !fenced && !code && !strings.HasPrefix(line, "|")
		if prose && utf8.RuneCountInString(target.ReplaceAllString(line, "]")) > widest {
			long[i+1] = line
		}
	}
	return long
}

// pages are all pages but the changelog.
func pages(t *testing.T) (names []string) {
	t.Helper()
	atRoot := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md"}
	for _, file := range files(t) {
		if slices.Contains(atRoot, file) || path.Ext(file) == ".md" && path.Dir(file) != "." {
			names = append(names, file)
		}
	}
	return names
}
