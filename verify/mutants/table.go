package main

import (
	"fmt"
	"slices"
	"strings"
)

// The table of RULES.md has each rule, what happens without it, and what notices.
const (
	page   = "verify/mutants/RULES.md"
	begins = "| rule | what happens without it | noticed by |\n|---|---|---|\n"
)

// table returns the page with the catchers that the patches name, and the rules of the page.
func table(text string, patches []*patch) (whole string, rules []string) {
	before, text, _ := strings.Cut(text, begins)
	rows, after, _ := strings.Cut(text, "\n\n")
	var b strings.Builder
	for line := range strings.Lines(rows) {
		cells := strings.Split(line, "|")
		rule, without := strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])
		rules = append(rules, rule)
		var by []string
		for _, p := range patches {
			for _, c := range p.by {
				if shown := c.shown(); p.rule == rule && !slices.Contains(by, shown) {
					by = append(by, shown)
				}
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", rule, without, strings.Join(by, ", "))
	}
	return before + begins + b.String() + "\n" + after, rules
}
