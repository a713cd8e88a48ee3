package main

import (
	"strings"
	"testing"
	"unicode"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
)

// One cell, of whoever, does not widen all rows of a table without bound. A name that can be locked is all there.
func TestCellsAreBounded(t *testing.T) {
	var p page
	longest := strings.Repeat("n", 1024)
	p.table([][]string{{"NAME", "HOLDER"}, {longest, "a"}, {strings.Repeat("x", 1e6), "b"}})
	if text := p.String(); len(text) > 5000 || !strings.Contains(text, longest) || !strings.Contains(text, "… (1000000 bytes)") {
		t.Errorf("the table has %d bytes", len(text))
	}
}

// What others chose, names of locks and of clients and what masters say, acts on no terminal, and makes no
// line or cell that looks like another.
func TestOthersCannotForge(t *testing.T) {
	const evil = "\x1b]0;owned\x07\x1b[2J\u202e\r\nnothing is held\nredlock: warning: forged  m1  1"
	fleet, flags := masters(t)
	other, err := redlock.New(redlock.Config{Name: evil, Pools: fleet.Pools(), RestartGuard: redlock.GuardOff})
	check.OK(t, err)
	t.Cleanup(func() { _ = other.Close() })
	for _, name := range []string{evil, "plain"} {
		if _, err := other.Lock(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range fleet.Masters() {
		m.HSet("foreign", "\x1b[31mowner\nforged", "1")
		m.HSet("redlock_sets", "1 2:\x1b[31m,\n"+m.Name(), "x")
	}
	check.Eventually(t, "the client has its record at each master", func() bool {
		all, err := redlockadmin.Of(other).Clients(t.Context())
		return err == nil && len(all) == 1 && all[0].At == 3
	})
	fleet.Master(2).Refuse("ERR \x1b[31m forged")
	for _, args := range [][]string{
		line("list", flags),
		line("clients", flags),
		line("inspect", flags, "plain"),
		line("inspect", flags, "foreign"),
		line("inspect", flags, evil),
		line("inspect", flags, evil, "--permits"),
		line("run", flags, "plain", "--no-wait", "--", "true"),
		line("run", flags, "plain", "--wait", "2500ms", "--", "true"),
		line("run", flags, evil, "--no-wait", "--", "true"),
		line("hold", flags, evil, "--no-wait", "--verbose"),
		line("doctor", flags),
		line("unlock", flags, evil),
		line("unlock", flags, "--force", evil),
	} {
		i := command(t, args...).start()
		i.code()
		for _, out := range []string{i.stdout.String(), i.stderr.String()} {
			for line := range strings.Lines(out) {
				line = strings.TrimSuffix(line, "\n")
				if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) ||
					strings.HasPrefix(line, "nothing is held") || strings.HasPrefix(line, "redlock: warning: forged") || strings.HasPrefix(line, "forged") {
					t.Errorf("redlock %s prints %q", args[0], line)
				}
			}
		}
	}
}
