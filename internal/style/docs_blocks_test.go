package style_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/overlay"
)

// A block is fenced code on a page.
type block struct {
	page string
	line int // of its first line of code
	lang string
	code string
}

// languages are the words that may follow the fence. Only go and sh are code that these tests try;
// what cannot be run is text.
var languages = []string{"go", "sh", "text", "mermaid", "yaml", "json", "sql", "promql", "java", "ini", "toml", "bash"}

// blocksOf returns the fenced blocks of a page.
func blocksOf(t *testing.T, page string) (blocks []block) {
	t.Helper()
	var open *block
	for i, line := range strings.Split(check.File(t, page), "\n") {
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && open == nil:
			open = &block{page: page, line: i + 2, lang: fence}
		case isFence:
			blocks, open = append(blocks, *open), nil
		case open != nil:
			open.code += line + "\n"
		}
	}
	if open != nil {
		t.Errorf("%s:%d: the block has no end: close it with three backquotes", page, open.line-1)
	}
	return blocks
}

// TestDocsNameLanguages: each block says what it is, so that none that looks like code goes untried.
func TestDocsNameLanguages(t *testing.T) {
	for _, page := range pages(t) {
		for _, b := range blocksOf(t, page) {
			check.That(t, slices.Contains(languages, b.lang), "%s:%d: the language of the block is %q: write one of %q behind the fence", b.page, b.line-1, b.lang, languages)
		}
	}
}

// TestDocsCompileLong: every Go block on a page compiles.
//
// A block that begins with "package" is a file of a program, of which the one with main comes first. Any
// other is a fragment: declarations, or statements, which this test puts into a function that has a ctx
// and returns an error, or nothing. Names that a fragment uses and does not declare, and the imports, are in
// a preamble: internal/style/testdata/docs/page.go or, for a page that needs others, PAGE.go beside it. Where
// that begins with "//module NAME", the page is compiled in the module of that folder, for its dependencies.
// Where it has a line "//tables", so are tables that compare libraries: each piece of code in a column that
// is headed by one of them is a fragment, or an expression. What is declared or imported need not be used.
func TestDocsCompileLong(t *testing.T) {
	overlays := map[string]map[string]string{} // for each module: file -> source
	for _, page := range pages(t) {
		var fragments []block
		programs := 0
		preamble, module := preambleOf(t, page)
		if overlays[module] == nil {
			overlays[module] = map[string]string{}
		}
		folder := "docsblocks/" + strings.ReplaceAll(strings.TrimSuffix(page, ".md"), "/", "_")
		for _, b := range blocksOf(t, page) {
			switch {
			case b.lang != "go":
			case program.MatchString(b.code):
				if strings.Contains(b.code, "\nfunc main() {") || programs == 0 {
					programs++
				}
				file := fmt.Sprintf("%s_%d/file%d.go", folder, programs, b.line)
				overlays[module][file] = position(b) + b.code
			default:
				fragments = append(fragments, b)
			}
		}
		if strings.Contains(preamble, "\n//tables\n") {
			fragments = append(fragments, cells(page, check.File(t, page))...)
		}
		if len(fragments) > 0 {
			overlays[module][folder+"/page.go"] = preamble + wrap(fragments)
		}
	}
	for module, sources := range overlays {
		if len(sources) > 0 {
			for _, complaint := range compile(t, module, sources) {
				t.Errorf("%s: correct the block, or declare what it uses in internal/style/testdata/docs", complaint)
			}
		}
	}
}

// libraries are the headings of columns whose code is compiled.
var libraries = []string{"here", "redsync", "bsm/redislock", "rueidislock"}

// cells returns the code in tables that compare libraries.
func cells(page, text string) (fragments []block) {
	code := regexp.MustCompile("`([^`]+)`")
	var titles []string // of the table's columns
	for i, line := range strings.Split(text, "\n") {
		row := strings.Split(line, "|")
		if len(row) == 1 {
			titles = nil
			continue
		}
		if titles == nil {
			titles = row
			continue
		}
		for column, title := range titles {
			if !slices.Contains(libraries, strings.TrimSpace(title)) {
				continue
			}
			for _, match := range code.FindAllStringSubmatch(row[column], -1) {
				fragments = append(fragments, block{page: page, line: i + 1, code: match[1] + "\n"})
			}
		}
	}
	return fragments
}

// preambleOf returns what is put in front of the fragments of a page, and the module that they are
// compiled in.
func preambleOf(t *testing.T, page string) (source, module string) {
	t.Helper()
	const preambles = "internal/style/testdata/docs/"
	file := preambles + strings.TrimSuffix(path.Base(page), ".md") + ".go"
	if !slices.Contains(files(t), file) {
		file = preambles + "page.go"
	}
	source, module = check.File(t, file), "."
	first, _, _ := strings.Cut(source, "\n")
	if name, ok := strings.CutPrefix(first, "//module "); ok {
		module = name
	}
	return source, module
}

// program matches how a file of a program begins: with its package, or the comment on that.
var program = regexp.MustCompile(`\A(//.*\n)*package `)

// position makes the compiler count lines as the page does.
func position(b block) string {
	return fmt.Sprintf("//line %s:%d\n", b.page, b.line)
}

// declaration matches how a fragment begins that is no list of statements.
var declaration = regexp.MustCompile(`^(//.*\n)*(func [A-Z(a-z]|type |const |import |var \()`)

// bareReturn matches a return of nothing.
var bareReturn = regexp.MustCompile(`(?m)^\s*return$`)

// wrap makes functions of the fragments that are statements.
func wrap(fragments []block) string {
	var out strings.Builder
	for _, b := range fragments {
		if declaration.MatchString(b.code) {
			fmt.Fprintf(&out, "\n%s%s", position(b), b.code)
			continue
		}
		result, end := "error", "return nil\n"
		switch {
		case bareReturn.MatchString(b.code):
			result, end = "", ""
		case strings.HasPrefix(lastLine(b.code), "return"):
			end = ""
		}
		fmt.Fprintf(&out, "\nfunc _(ctx context.Context) %s {\n%s%s%s}\n", result, position(b), b.code, end)
	}
	return out.String()
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// compile builds sources, as if they were files of a module, and returns what the compiler says.
func compile(t *testing.T, module string, sources map[string]string) (complaints []string) {
	t.Helper()
	root, err := filepath.Abs(module)
	check.OK(t, err)
	files := overlay.Files{}
	var folders []string
	for name, source := range sources {
		files[filepath.Join(root, filepath.FromSlash(name))] = source
		folders = append(folders, "./"+path.Dir(name))
	}
	file, err := files.Write(t.TempDir())
	check.OK(t, err)
	// What is built is thrown away.
	args := append([]string{"build", "-gcflags=-e", "-overlay", file, "-o", os.DevNull}, folders...)
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir = root
	out, err := command.CombinedOutput()
	if err == nil {
		return nil
	}
	told := false
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, "go: downloading ") {
			continue
		}
		told = told || strings.HasPrefix(line, "#") // a package was compiled, and complained
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, " not used") {
			complaints = append(complaints, line)
		}
	}
	if !told {
		t.Fatalf("go %v: %v\n%s", args, err, out)
	}
	return complaints
}
