package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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

var linked = regexp.MustCompile(`\.\./` + folder + `/([^)]*)\.patch\) \| (.*) \|\n$`)

// rowsOf returns the last column of the table, by patch: who caught it.
func rowsOf(text string) map[string]string {
	_, text, _ = strings.Cut(text, beginsTable)
	text, _, _ = strings.Cut(text, endsTable)
	rows := make(map[string]string)
	for line := range strings.Lines(text) {
		if found := linked.FindStringSubmatch(line); found != nil {
			rows[found[1]] = found[2]
		}
	}
	return rows
}

// tableOf makes the table: the patches in the order of the rules that they break.
func tableOf(rules []string, patches []*patch, rows map[string]string) string {
	var b strings.Builder
	b.WriteString("| rule | broken so | caught by |\n|---|---|---|\n")
	for _, rule := range rules {
		shown := rule
		for _, p := range patches {
			row, ok := rows[p.name]
			if p.rule != rule || !ok {
				continue
			}
			fmt.Fprintf(&b, "| %s | [%s](../%s/%s.patch) | %s |\n", shown, p.breaks, folder, p.name, row)
			shown = ""
		}
	}
	return b.String()
}

// writeTable writes what was seen into the page. The rows of other patches stay as they are.
func writeTable(root string, seen map[string][]result) error {
	patches, err := readPatches(root, regexp.MustCompile(""))
	if err != nil {
		return err
	}
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
	rules, rows := rulesOf(text), rowsOf(text)
	for name, results := range seen {
		var cell []string
		for _, r := range results {
			if r.who != "" {
				cell = append(cell, r.String())
			}
		}
		rows[name] = strings.Join(cell, "; ")
	}
	table := tableOf(rules, patches, rows)
	return os.WriteFile(file, []byte(text[:begin+len(beginsTable)]+table+text[end:]), 0o644)
}
