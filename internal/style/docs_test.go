package style_test

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
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
			code.WriteString(read(t, file))
		}
	}
	for _, file := range files(t) {
		if path.Ext(file) != ".md" {
			continue
		}
		for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(strings.Join(proseLines(read(t, file)), "\n"), -1) {
			if !strings.Contains(code.String(), "\nfunc "+name+"(") {
				t.Errorf("%s names %s, and there is no such test: name the one that shows this now", file, name)
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
				t.Errorf("%s names %s, and there is no such file: name where that is now", page, file)
				continue
			}
			for _, name := range names.FindAllStringSubmatch(match[2], -1) {
				named++
				if !declares(read(t, file), name[1]) {
					t.Errorf("%s: %s declares no %s: name what takes that step now, of a method as Type.method", page, file, name[1])
				}
			}
		}
	}
	if named < 50 {
		t.Errorf("the pages name %d functions, fewer than 50: mend the pattern of this test", named)
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
					t.Errorf("%s:%d links to %s, and there is no such file: correct the link", page, i+1, file)
				case anchor != "" && !slices.Contains(anchors(read(t, file)), anchor):
					t.Errorf("%s:%d: %s has no heading #%s: link to one of %q", page, i+1, file, anchor, anchors(read(t, file)))
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("the pages have %d links, fewer than 50: mend the pattern of this test", found)
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
	if lines < 10 {
		t.Errorf("the pages have %d lines of shell, fewer than 10: mend the pattern of this test", lines)
	}
}

// TestEverySymbolHasAnExampleLong: each exported function, method, type and variable of the packages redlock and
// redlockadmin is used in one of their examples, or in a program of the module examples. Not asked for: what package
// errors or fmt calls, and what only the library calls.
func TestEverySymbolHasAnExampleLong(t *testing.T) {
	used := map[string]bool{}
	for _, public := range []string{"redlock", "redlockadmin"} {
		examples, err := filepath.Glob(public + "/example*_test.go")
		if err != nil || len(examples) == 0 {
			t.Fatalf("there are no examples of %s in %s/example*_test.go: %v", public, public, err)
		}
		maps.Copy(used, usedIn(t, ".", examples))
	}
	programs, err := filepath.Glob("examples/*/")
	check.OK(t, err)
	for _, program := range programs {
		sources, err := filepath.Glob(program + "/*.go")
		check.OK(t, err)
		sources = slices.DeleteFunc(sources, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
		if len(sources) > 0 {
			maps.Copy(used, usedIn(t, "examples", sources))
		}
	}
	for public, least := range map[string]int{"redlock": 40, "redlockadmin": 15} {
		pkg, err := exportsOf(t, ".", "./"+public).Import(module + "/" + public)
		check.OK(t, err)
		symbols := symbolsOf(pkg)
		if len(symbols) < least {
			t.Errorf("%d symbols of %s were found, fewer than %d: mend symbolsOf", len(symbols), public, least)
		}
		for _, symbol := range symbols {
			_, method, _ := strings.Cut(symbol, ".")
			called := slices.Contains([]string{"Error", "Unwrap", "String"}, method) || slices.Contains([]string{"Terms.Publish", "Terms.Text"}, symbol)
			if !used[symbol] && !called {
				t.Errorf("%s.%s is in no example: use it in %s/example*_test.go, or in a program of examples", public, symbol, public)
			}
		}
	}
}

// symbolsOf returns the exported names of a package, of methods as Type.Method.
func symbolsOf(pkg *types.Package) (symbols []string) {
	for _, name := range pkg.Scope().Names() {
		object := pkg.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		symbols = append(symbols, name)
		if _, isType := object.(*types.TypeName); !isType || types.IsInterface(object.Type()) {
			continue
		}
		for method := range types.NewMethodSet(types.NewPointer(object.Type())).Methods() {
			if method.Obj().Exported() && len(method.Index()) == 1 {
				symbols = append(symbols, name+"."+method.Obj().Name())
			}
		}
	}
	return symbols
}

// usedIn returns the names of everything that some files of a module use: objects by their names,
// methods as Type.Method, and the types of all expressions.
func usedIn(t *testing.T, folder string, names []string) map[string]bool {
	t.Helper()
	fset := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		check.OK(t, err)
		parsed = append(parsed, file)
	}
	where, err := filepath.Rel(folder, filepath.Dir(names[0]))
	check.OK(t, err)
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: exportsOf(t, folder, "./"+filepath.ToSlash(where))}
	if _, err := config.Check("examples", fset, parsed, info); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, object := range info.Uses {
		used[object.Name()] = true
		if f, ok := object.(*types.Func); ok && f.Signature().Recv() != nil {
			used[nameOf(f.Signature().Recv().Type())+"."+f.Name()] = true
		}
	}
	for _, expression := range info.Types {
		used[nameOf(expression.Type)] = true
	}
	return used
}

// nameOf returns the name of a type, or of what it points to or is a slice of.
func nameOf(t types.Type) string {
	switch t := types.Unalias(t).(type) {
	case *types.Pointer:
		return nameOf(t.Elem())
	case *types.Slice:
		return nameOf(t.Elem())
	case *types.Named:
		return t.Obj().Name()
	}
	return ""
}

// exportsOf returns an importer of packages of the module in folder, and of what these and their tests import.
func exportsOf(t *testing.T, folder string, pkgs ...string) types.Importer {
	t.Helper()
	exports := map[string]string{}
	for _, p := range listIn(t, folder, nil, append([]string{"-export", "-deps", "-test"}, pkgs...)...) {
		exports[p.ImportPath] = p.Export
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
}
