package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/redlock/internal/quote"
	"example.com/redlock/redlock"
)

// page is where a command prints: width is how many columns a table may have, 0 for any number.
type page struct {
	io.Writer
	width int
}

// pageOn returns a page as wide as the terminal, if out is one.
func pageOn(out *os.File) page {
	_, width, _ := size(out)
	return page{Writer: out, width: width}
}

// table prints rows in columns that are two spaces apart. What is in a cell looks like no other cell or row,
// whoever chose it. Where the page is too narrow, the columns that
// flexible lists are cut, the widest first, but none to less than its heading or to less than 8.
func (p page) table(rows [][]string, flexible ...int) error {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			row[i] = strings.ReplaceAll(quote.Text(cell), "  ", ` \x20`)
			cell = row[i]
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
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
	var text strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if runes := []rune(cell); len(runes) > widths[i] {
				cell = string(runes[:widths[i]-1]) + "…"
			}
			line.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		}
		text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(p, text.String())
	return err
}

// nextTable prints another table, whose first column can be cut.
func (p page) nextTable(rows [][]string) error {
	if _, err := io.WriteString(p, "\n"); err != nil {
		return err
	}
	return p.table(rows, 0, 1)
}

// say prints text in lines that fit everywhere.
func (p page) say(text string) error {
	_, err := fmt.Fprintln(p, strings.Join(wrap(quote.Text(text), columns), "\n"))
	return err
}

// short returns an owner in short: the uuid of a client is unique enough by its beginning.
func short(owner string) string {
	id, rest, ok := strings.Cut(owner, ":")
	if !ok || len(id) < 36 {
		return owner
	}
	return id[:8] + ":" + rest
}

// named returns whose owner it is: the client, if it is known.
func named(owner string, client *redlock.ClientInfo) string {
	if client == nil {
		return owner
	}
	return client.String()
}

// compact is named in a table.
func compact(owner string, client *redlock.ClientInfo) string {
	if client == nil {
		return short(owner)
	}
	return fmt.Sprintf("%s@%s:%d", client.Name, client.Host, client.PID)
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

// clientJSON is the JSON form of a client. Fields are never removed; new ones may be added.
type clientJSON struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Program string    `json:"program"`
	Version string    `json:"version"`
	Since   time.Time `json:"since"`
	SeenMS  int64     `json:"seen_ms"` // since it last said so
	Holds   int       `json:"holds"`
	Waits   int       `json:"waits"`
	Set     string    `json:"set"`
	Masters int       `json:"masters"` // how many it uses
	Lease   int64     `json:"max_lease_ms"`
	Guard   int64     `json:"restart_guard_ms"` // 0: none
	Refused bool      `json:"refused"`          // it came second, and takes no lock
	At      int       `json:"at,omitempty"`     // how many have its record; only of clients
}

func clientAsJSON(c *redlock.ClientInfo) *clientJSON {
	if c == nil {
		return nil
	}
	return &clientJSON{
		ID: c.ID, Name: c.Name, Host: c.Host, PID: c.PID, Program: c.Program, Version: c.Version, Since: c.Since.UTC(),
		SeenMS: c.Seen.Milliseconds(), Holds: c.Holds, Waits: c.Waits, Set: c.Terms.String(), Masters: len(c.Terms.Masters),
		Lease: c.Terms.Lease, Guard: c.Terms.Guard, Refused: c.Terms.Refused, At: c.At,
	}
}
