package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/redlock/internal/quote"
	"example.com/redlock/redlock"
)

// page is what a command prints. Its tables may have width columns, 0 for any number.
type page struct {
	strings.Builder
	width int
}

// longestName is how many bytes of a cell are printed: as many as the name of a lock may have. Keys and records that others
// write may be longer.
const longestName = 1024

// table prints rows in columns that are two spaces apart. Whatever others wrote into a cell, it cannot look like another
// cell or row. If the page is too narrow, table cuts the columns in flexible, the widest first, but none below 8 or the
// width of its heading.
func (p *page) table(rows [][]string, flexible ...int) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			row[i] = strings.ReplaceAll(quote.Text(quote.Brief(cell, longestName)), "  ", ` \x20`)
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	total := 2 * (len(widths) - 1)
	for _, width := range widths {
		total += width
	}
	for ; p.width > 0 && total > p.width; total-- {
		widest := -1
		for _, i := range flexible {
			if widths[i] > max(8, len(rows[0][i])) && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "%-*s  ", widths[i], cut(cell, widths[i]))
		}
		p.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// cut cuts text to so many columns.
func cut(text string, width int) string {
	if runes := []rune(text); len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return text
}

// nextTable prints another table, unless it has only a heading. Its first two columns can be cut.
func (p *page) nextTable(rows [][]string) {
	if len(rows) > 1 {
		p.WriteString("\n")
		p.table(rows, 0, 1)
	}
}

// say prints each text in lines that fit everywhere.
func (p *page) say(texts ...string) {
	for _, text := range texts {
		p.WriteString(hang(quote.Text(text), 0) + "\n")
	}
}

// columns is the width of texts that do not adapt to the terminal.
const columns = 80

// hang breaks text into lines of 80 columns, and indents all but the first.
func hang(text string, indent int) string {
	var lines []string
	for word := range strings.FieldsSeq(text) {
		if last := len(lines) - 1; last >= 0 && len(lines[last])+1+len(word) <= columns-indent {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return strings.Join(lines, "\n"+strings.Repeat(" ", indent))
}

// json prints a report, which can be encoded.
func (p *page) json(report any) {
	enc := json.NewEncoder(p)
	enc.SetIndent("", "  ")
	_ = enc.Encode(report)
}

// on prints the page.
func (p *page) on(out *os.File) error {
	if p.Len() == 0 {
		return nil
	}
	_, err := out.WriteString(p.String())
	return err
}

// short shortens an owner: the beginning of a client's uuid is unique enough.
func short(owner string) string {
	id, rest, ok := strings.Cut(owner, ":")
	if !ok || len(id) < 36 {
		return owner
	}
	return id[:8] + ":" + rest
}

// named returns the client of an owner, or the owner if its client is not known.
func named(owner string, client *redlock.ClientInfo) string {
	if client == nil {
		return owner
	}
	return client.String()
}

// compact is named for a table.
func compact(owner string, client *redlock.ClientInfo) string {
	if client == nil {
		return short(owner)
	}
	return fmt.Sprintf("%s@%s:%d", client.Name, client.Host, client.PID)
}

// counted returns n with the word for as many.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// age returns a long duration in a few letters.
func age(d time.Duration) string {
	switch {
	case d == never:
		return "never"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// rounded returns the time left of something: tenths of a second matter.
func rounded(d time.Duration) string {
	switch {
	case d == never:
		return "never"
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}

// howLong returns a duration as the errors of the library do.
func howLong(d time.Duration) string {
	if d >= time.Second {
		return d.Round(time.Second).String()
	}
	return d.Round(time.Millisecond).String()
}
