package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The table of docs/safety.md.

const (
	page        = "docs/safety.md"
	beginsRules = "## Each rule is needed\n"
	beginsTable = "<!-- teeth -->\n"
	endsTable   = "<!-- /teeth -->\n"
)

// rulesOf returns the rules of the page: the first column of their table.
func rulesOf(text string) (rules []string) {
	_, text, _ = strings.Cut(text, beginsRules)
	text, _, _ = strings.Cut(text, beginsTable)
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "|")
		if len(cells) > 2 && !strings.HasPrefix(cells[1], "---") {
			rules = append(rules, strings.TrimSpace(cells[1]))
		}
	}
	return rules[min(1, len(rules)):] // without the head
}

var linked = regexp.MustCompile(`\.\./` + folder + `/([^)]*)\.patch\) \| (.*) \| (.*) s \|\n$`)

// rowsOf returns the rows of the table, by patch: who caught it, and after how many seconds.
func rowsOf(text string) map[string][2]string {
	_, text, _ = strings.Cut(text, beginsTable)
	text, _, _ = strings.Cut(text, endsTable)
	rows := make(map[string][2]string)
	for line := range strings.Lines(text) {
		if found := linked.FindStringSubmatch(line); found != nil {
			rows[found[1]] = [2]string{found[2], found[3]}
		}
	}
	return rows
}

// tableOf makes the table: the patches in the order of the rules that they break.
func tableOf(rules []string, patches []*patch, rows map[string][2]string) string {
	var b strings.Builder
	b.WriteString("| rule | the code breaks it so | caught by | after |\n|---|---|---|---|\n")
	for _, rule := range rules {
		shown := rule
		for _, p := range patches {
			row, ok := rows[p.name]
			if p.rule != rule || !ok {
				continue
			}
			fmt.Fprintf(&b, "| %s | [%s](../%s/%s.patch) | %s | %s s |\n", shown, p.breaks, folder, p.name, row[0], row[1])
			shown = ""
		}
	}
	return b.String()
}

// writeTable writes what was caught into the page. The rows of other patches stay as they are.
func writeTable(root string, caught map[string]catch) error {
	file := filepath.Join(root, filepath.FromSlash(page))
	read, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text := string(read)
	begin, end := strings.Index(text, beginsTable), strings.Index(text, endsTable)
	if begin < 0 || end < begin {
		return fmt.Errorf("%s lacks the lines between which the table belongs", page)
	}
	patches, err := readPatches(root, regexp.MustCompile(""))
	if err != nil {
		return err
	}
	rules, rows := rulesOf(text), rowsOf(text)
	for name, c := range caught {
		rows[name] = [2]string{c.who, fmt.Sprintf("%.1f", c.seconds)}
	}
	for _, p := range patches {
		if !slices.Contains(rules, p.rule) {
			return fmt.Errorf("%s: %s has no rule %q", p.name, page, p.rule)
		}
	}
	text = text[:begin+len(beginsTable)] + tableOf(rules, patches, rows) + text[end:]
	return os.WriteFile(file, []byte(text), 0o644)
}
