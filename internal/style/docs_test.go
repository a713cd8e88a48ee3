package style_test

import (
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"example.com/redlock/internal/check"
)

// TestDocsNameTests: the tests that the docs call to witness are there.
func TestDocsNameTests(t *testing.T) {
	var code strings.Builder
	for _, file := range files(t) {
		if strings.HasSuffix(file, "_test.go") {
			code.WriteString(check.File(t, file))
		}
	}
	for _, file := range files(t) {
		if path.Ext(file) != ".md" {
			continue
		}
		for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(strings.Join(proseLines(check.File(t, file)), "\n"), -1) {
			check.That(t, strings.Contains(code.String(), "\nfunc "+name+"("), "%s names %s, and there is no such test: name the one that shows this now", file, name)
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
		text := strings.Join(strings.Fields(check.File(t, page)), " ") // a list may go on in the next line
		for _, match := range naming.FindAllStringSubmatch(text, -1) {
			file := match[1]
			switch {
			case path.Ext(file) == ".lua" && !strings.Contains(file, "/"):
				file = "node/script/" + file
			case !strings.Contains(file, "/"):
				continue // only a word for it
			}
			if !slices.Contains(there, file) {
				t.Errorf("%s names %s, and there is no such file: name where that is now", page, file)
				continue
			}
			for _, name := range names.FindAllStringSubmatch(match[2], -1) {
				named++
				check.That(t, declares(check.File(t, file), name[1]), "%s: %s declares no %s: name what takes that step now, of a method as Type.method", page, file, name[1])
			}
		}
	}
	check.That(t, named >= 50, "the pages name %d functions, fewer than 50: mend the pattern of this test", named)
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

// TestDocsLinks: what a page links to in this repository is there, with the heading that the link
// names.
func TestDocsLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	there, found := files(t), 0
	for _, page := range append(pages(t), "CHANGELOG.md") {
		for i, line := range proseLines(check.File(t, page)) {
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
					t.Errorf("%s:%d links to %s, and there is no such file: correct the link", page, i+1, file)
				case anchor != "" && !slices.Contains(anchors(check.File(t, file)), anchor):
					t.Errorf("%s:%d: %s has no heading #%s: link to one of %q", page, i+1, file, anchor, anchors(check.File(t, file)))
				}
			}
		}
	}
	check.That(t, found >= 50, "the pages have %d links, fewer than 50: mend the pattern of this test", found)
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

// TestDocsShell: every sh block is a script that a shell can parse, and the make targets, packages
// and files of this repository that it names are there. The redlock command's own parser reads its
// lines: TestDocumentedLines, in cmd/redlock.
func TestDocsShell(t *testing.T) {
	targets := regexp.MustCompile(`(?m)^([a-z]+):`).FindAllStringSubmatch(check.File(t, "Makefile"), -1)
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
				t.Errorf("%s:%d: no shell can read this block; make it text if it is no script: %v: %s", b.page, b.line, err, out)
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
					t.Errorf("%s:%d: the Makefile has no target %s: make help lists them", b.page, b.line+i, words[1])
				}
				if !strings.Contains(line, "go run ") && !strings.Contains(line, "go test ") && !strings.Contains(line, "go install ") {
					continue
				}
				for _, match := range local.FindAllStringSubmatch(line, -1) {
					name := folder + strings.TrimSuffix(strings.TrimPrefix(match[1], "./"), "...")
					if !slices.ContainsFunc(there, func(f string) bool { return strings.HasPrefix(f, name) }) {
						t.Errorf("%s:%d runs %s, which is not there: correct the path, or the cd before it", b.page, b.line+i, name)
					}
				}
			}
		}
	}
	check.That(t, lines >= 10, "the pages have %d lines of shell, fewer than 10: mend the pattern of this test", lines)
}

// TestEverySymbolHasAnExample: each exported function, method, variable and constant of the packages redlock and
// redlockadmin is named in one of their examples, or in a program of the module examples. Not asked for: what package
// errors or fmt calls, and what only the library calls.
func TestEverySymbolHasAnExample(t *testing.T) {
	var examples strings.Builder
	for _, file := range files(t) {
		isTest := strings.HasSuffix(file, "_test.go")
		isProgram := strings.HasPrefix(file, "examples/") && path.Ext(file) == ".go" && !isTest
		if isProgram || isTest && strings.HasPrefix(path.Base(file), "example") {
			examples.WriteString(check.File(t, file))
		}
	}
	exports := exportsOf(t, "./redlock", "./redlockadmin")
	for public, least := range map[string]int{"redlock": 40, "redlockadmin": 10} {
		pkg, err := exports.Import(module + "/" + public)
		check.OK(t, err)
		symbols := symbolsOf(pkg)
		check.That(t, len(symbols) >= least, "%d symbols of %s were found, fewer than %d: mend symbolsOf", len(symbols), public, least)
		for _, symbol := range symbols {
			name := symbol[strings.LastIndex(symbol, ".")+1:]
			called := slices.Contains([]string{"Error", "Unwrap", "String"}, name) || slices.Contains([]string{"Terms.Publish", "Terms.Text"}, symbol)
			if !called && !regexp.MustCompile(`\.`+name+`\b`).MatchString(examples.String()) {
				t.Errorf("%s.%s is in no example: use it in %s/example*_test.go, or in a program of examples", public, symbol, public)
			}
		}
	}
}

// symbolsOf returns the exported functions, variables and constants of a package, and of its types the methods, as
// Type.Method.
func symbolsOf(pkg *types.Package) (symbols []string) {
	for _, name := range pkg.Scope().Names() {
		object := pkg.Scope().Lookup(name)
		if _, isType := object.(*types.TypeName); !isType && object.Exported() {
			symbols = append(symbols, name)
		} else if object.Exported() && !types.IsInterface(object.Type()) {
			for method := range types.NewMethodSet(types.NewPointer(object.Type())).Methods() {
				if method.Obj().Exported() && len(method.Index()) == 1 {
					symbols = append(symbols, name+"."+method.Obj().Name())
				}
			}
		}
	}
	return symbols
}

// exportsOf returns an importer of packages, and of what these import.
func exportsOf(t *testing.T, pkgs ...string) types.Importer {
	t.Helper()
	exports := map[string]string{}
	for _, p := range listWith(t, nil, append([]string{"-export", "-deps"}, pkgs...)...) {
		exports[p.ImportPath] = p.Export
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
}
