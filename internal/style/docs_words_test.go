package style_test

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"example.com/redlock/internal/check"
)

// limits are how many words a page may have. The longest that anybody is asked to read has 3,500.
var limits = map[string]int{
	"README.md":               1090,
	"docs/getting-started.md": 1560,
	"docs/guide.md":           1450,
	"docs/configuration.md":   850,
	"docs/operations.md":      1870,
	"docs/changes.md":         1880,
	"docs/troubleshooting.md": 1150,
	"docs/monitoring.md":      1640,
	"docs/doctor.md":          1120,
	"docs/command.md":         1160,
	"docs/migrating.md":       1780,

	"docs/kept.md":           785,
	"docs/safety.md":         1360,
	"docs/how-it-works.md":   2580,
	"docs/comparison.md":     750,
	"docs/contributing.md":   1350,
	"docs/verification.md":   740,
	"docs/design/README.md":  810,
	"docs/design/wire.md":    710,
	"docs/design/lock.md":    950,
	"docs/design/masters.md": 770,
	"docs/design/waiting.md": 860,
	"docs/design/clients.md": 1070,
	"examples/README.md":     1080,
	"SECURITY.md":            450,
	"CONTRIBUTING.md":        100,
}

const allWords = 29700

// generated pages are tables that stand beside what makes them.
var generated = []string{"bench/RESULTS.md", "verify/mutants/RULES.md", "integration/chaos/RESULTS.md", "multilock/attempt/STATES.md"}

// forReaders are the pages for those who do not change the code: all but these.
func forReaders(page string) bool {
	inside := []string{"docs/contributing.md", "docs/verification.md", "CONTRIBUTING.md"}
	return !slices.Contains(inside, page) && !slices.Contains(generated, page) && path.Dir(page) != "docs/design"
}

// TestPagesAreShort: each page has its limit, and all together have theirs.
func TestPagesAreShort(t *testing.T) {
	all := 0
	for _, page := range pages(t) {
		if slices.Contains(generated, page) {
			continue
		}
		n := wordsOf(check.File(t, page))
		all += n
		check.That(t, n <= limits[page], "%s has %d words, its limit is %d: cut what another page says too and link there; a page of its own needs a row in limits", page, n, limits[page])
	}
	check.That(t, all <= allWords, "the pages have %d words, more than %d: cut what stands twice", all, allWords)
	for page := range limits {
		check.That(t, slices.Contains(pages(t), page), "%s has a limit, and is not there: take its row out of limits", page)
	}
}

// wordsOf counts what is read of a page: words of the text, of tables and of code, and no pictures.
func wordsOf(text string) (n int) {
	text = regexp.MustCompile("(?s)<!--.*?-->|```mermaid\n.*?```").ReplaceAllString(text, "")
	for word := range strings.FieldsSeq(text) {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	return n
}

// TestPagesForReadersNameNoCode: no test, and no file of the code but the examples.
func TestPagesForReadersNameNoCode(t *testing.T) {
	code := regexp.MustCompile(`\bTest[A-Z]\w+|\b[\w/]+\.lua\b|\b(node|multilock|quorum|clock|internal|verify|integration|redlock)/[\w/]+\.go\b`)
	for _, page := range pages(t) {
		if !forReaders(page) {
			continue
		}
		for i, line := range proseLines(check.File(t, page)) {
			if name := code.FindString(line); name != "" {
				t.Errorf("%s:%d names %s, which means nothing to a user: say what it does, or move that to docs/design", page, i+1, name)
			}
		}
	}
}

// TestNamedPages: the pages and sections that code, errors and alerts name are there.
//
//	Source: docs/how-it-works.md, "Acquire" and "Waiting".
//	see docs/operations.md#permissions
func TestNamedPages(t *testing.T) {
	named := regexp.MustCompile(`\b(docs/[\w/-]+\.md)(#[\w-]+)?((?:(?:,| and) "[A-Z][^"]+")*)`)
	found := 0
	for _, file := range files(t) {
		if !slices.Contains([]string{".go", ".lua", ".yaml", ".conf", ".sh"}, path.Ext(file)) || strings.HasSuffix(file, "docs_words_test.go") {
			continue
		}
		for _, match := range named.FindAllStringSubmatch(check.File(t, file), -1) {
			found++
			if !slices.Contains(files(t), match[1]) {
				t.Errorf("%s: there is no %s: name the page that has this now", file, match[1])
				continue
			}
			sections := anchors(check.File(t, match[1]))
			check.That(t, match[2] == "" || slices.Contains(sections, match[2][1:]), "%s: %s has no section %s: name one of %q", file, match[1], match[2], sections)
			for _, title := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(match[3], -1) {
				check.That(t, slices.Contains(sections, strings.ReplaceAll(strings.ToLower(title[1]), " ", "-")), "%s: %s has no section %q: name one of %q", file, match[1], title[1], sections)
			}
		}
	}
	check.That(t, found >= 50, "%d pages are named, fewer than 50: mend the pattern of this test", found)
}

// TestLogMessages: docs/troubleshooting.md has all that is logged, by how it begins, and nothing else.
func TestLogMessages(t *testing.T) {
	_, table, _ := strings.Cut(check.File(t, "docs/troubleshooting.md"), "## What the log says")
	table, _, _ = strings.Cut(table, "\n## ")
	listed := map[string]bool{} // whether it is logged
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(table, -1) {
		for _, code := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			listed[strings.TrimSuffix(code[1], " …")] = false
		}
	}
	logs := regexp.MustCompile(`\.(?:(?:Info|Warn|Error)(?:Context)?|NewRecord)\((?:[^"\n]*, )?"redlock: ([^"]+)"`)
	for _, file := range files(t) {
		if room, _, _ := strings.Cut(file, "/"); !slices.Contains([]string{"node", "multilock", "redlock", "internal"}, room) || strings.HasSuffix(file, "_test.go") || path.Ext(file) != ".go" {
			continue
		}
		for _, match := range logs.FindAllStringSubmatch(check.File(t, file), -1) {
			known := false
			for begin := range listed {
				if strings.HasPrefix(match[1], begin) {
					listed[begin], known = true, true
				}
			}
			check.That(t, known, "%s logs %q: give it a row in docs/troubleshooting.md, what the log says", file, match[1])
		}
	}
	for begin, logged := range listed {
		check.That(t, logged, "docs/troubleshooting.md has %q, which nobody logs: take it out", begin)
	}
}

// TestFigures: figures of benchmarks stand in bench/RESULTS.md, and other pages quote them. Behind one or several
// of them stands a comment with the trial, the row and the columns that they are from, and they may be rounded:
//
//	0.63 ms, 421 µs <!-- handoff/2x10ms; hand-off p50, µs; redlock; rueidislock/1 -->
func TestFigures(t *testing.T) {
	results := resultsOf(t)
	quote := regexp.MustCompile(`<!-- ([^;>]+); ([^;>]+); ([^>]+) -->`)
	figure := regexp.MustCompile(`\d[\d,]*(?:\.\d+)?(?: (?:µs|ms|s)\b)?|–|failed`)
	quoted := 0
	for _, page := range pages(t) {
		for i, line := range strings.Split(check.File(t, page), "\n") {
			begin := 0
			for _, at := range quote.FindAllStringSubmatchIndex(line, -1) {
				trial, row, columns := line[at[2]:at[3]], line[at[4]:at[5]], strings.Split(line[at[6]:at[7]], "; ")
				shown := figure.FindAllString(line[begin:at[0]], -1)
				begin = at[1]
				if len(shown) < len(columns) {
					t.Errorf("%s:%d: %d figures for the columns %q: give one before the comment for each, or – where there is none", page, i+1, len(shown), columns)
					continue
				}
				shown = shown[len(shown)-len(columns):]
				for c, column := range columns {
					quoted++
					if want, ok := results[trial+"; "+row][column]; shown[c] == "–" && (!ok || want == "–") {
						continue // it did not take part
					} else if !ok || !same(shown[c], want, row) {
						t.Errorf("%s:%d: %s of %s in %s is %q in bench/RESULTS.md, and the page says %q: correct the page, or the trial, row and column in its comment", page, i+1, row, column, trial, want, shown[c])
					}
				}
			}
		}
	}
	check.That(t, quoted >= 40, "%d figures are quoted, fewer than 40: mend the pattern of this test", quoted)
}

// resultsOf returns the tables of bench/RESULTS.md: "trial; row", then column.
func resultsOf(t *testing.T) map[string]map[string]string {
	t.Helper()
	results := map[string]map[string]string{}
	var trial string
	var columns []string
	for line := range strings.Lines(check.File(t, "bench/RESULTS.md")) {
		if name, ok := strings.CutPrefix(line, "`"); ok {
			trial, _, _ = strings.Cut(name, "`")
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---"):
		case cells[0] == "":
			columns = cells
		default:
			row := map[string]string{}
			for i := range cells {
				row[columns[i]] = cells[i]
			}
			results[trial+"; "+cells[0]] = row
		}
	}
	return results
}

// same reports whether shown is the figure want of a row, perhaps rounded, and perhaps in another unit of time.
func same(shown, want, row string) bool {
	number, unit, _ := strings.Cut(strings.ReplaceAll(shown, ",", ""), " ")
	v, err := strconv.ParseFloat(want, 64)
	if err != nil {
		return shown == want
	}
	units := map[string]float64{"µs": 1, "ms": 1000, "s": 1e6}
	if _, of, ok := strings.Cut(row, ", "); ok && units[of] > 0 && units[unit] > 0 {
		v *= units[of] / units[unit]
	}
	_, decimals, _ := strings.Cut(number, ".")
	return fmt.Sprintf("%.*f", len(decimals), v) == number
}
