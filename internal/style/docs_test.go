package style_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
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
			switch {
			case path.Ext(file) == ".lua" && !strings.Contains(file, "/"):
				file = "node/script/" + file
			case !strings.Contains(file, "/"):
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
