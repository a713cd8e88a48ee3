//go:build unix

package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"example.com/redlock/internal/check"
)

func TestFrame(t *testing.T) {
	for _, c := range []struct {
		name, text  string
		rows, width int
		first       bool
		want        string
	}{
		{"first", "a\nb\n", 5, 10, true, "\x1b[2J\x1b[Ha\x1b[K\r\nb\x1b[K\x1b[J"},
		{"next", "a\n", 5, 10, false, "\x1b[Ha\x1b[K\x1b[J"},
		{"too wide", "0123456789\n", 5, 4, false, "\x1b[H012…\x1b[K\x1b[J"},
		{"too long", "a\nb\nc\nd\n", 3, 20, false, "\x1b[Ha\x1b[K\r\nb\x1b[K\r\n… 2 more lines\x1b[K\x1b[J"},
		{"just long enough", "a\nb\nc\n", 3, 20, false, "\x1b[Ha\x1b[K\r\nb\x1b[K\r\nc\x1b[K\x1b[J"},
	} {
		t.Run(c.name, func(t *testing.T) {
			check.Equal(t, frame(c.text, c.rows, c.width, c.first), c.want, "frame")
		})
	}
}

// While it waits, redlock says who holds the lock, and says it again when that or the place in the line
// changes, and not otherwise.
func TestRunSaysWhoHoldsIt(t *testing.T) {
	t.Parallel()
	_, flags := masters(t, 3)
	holder, in, _ := holding(t, line("hold", flags, "n", "--client-name", "nightly-report")...)
	known(t, flags, holder)
	first, firstIn := withStdin(t, command(t, line("hold", flags, "n", "--client-name", "first")...).env("REDLOCK_NODE_TIMEOUT=5s")) // or a slow machine logs that a master is down
	said := func(i *invocation, what string) {
		t.Helper()
		eventually(t, "it says "+what, func() bool { return strings.Contains(i.stderr.String(), what) })
	}
	held := `redlock: still waiting for "n": held by nightly-report on `
	said(first, held)
	said(first, fmt.Sprintf("(pid %d) for ", holder.cmd.Process.Pid))
	said(first, "s; next in line\n")
	known(t, flags, first)
	second := command(t, line("run", flags, "n", "--", "true")...).start()
	said(second, "s; 1 ahead in line\n")
	in.Close()
	holder.wantCode(0)
	said(second, `redlock: still waiting for "n": held by first on `)
	said(second, "s; next in line\n")
	firstIn.Close()
	second.wantCode(0)
	// A busy machine may tell who has the lock before the waiter has a place in the line.
	told := regexp.MustCompile(` for [\dms]+`).ReplaceAllString(first.stderr.String(), "")
	who := told[:strings.IndexAny(told, ";\n")]
	if next := who + "; next in line\n"; told != next && told != who+"\n"+next {
		t.Errorf("the first waiter was told more than changed:\n%s", &first.stderr)
	}
}

// known waits until the record of a redlock is on all masters.
func known(t *testing.T, flags []string, i *invocation) {
	t.Helper()
	eventually(t, "its record is there", func() bool {
		clients := command(t, append([]string{"clients"}, flags...)...).start()
		clients.code()
		for row := range strings.Lines(clients.stdout.String()) {
			if strings.Contains(row, fmt.Sprintf("  %d  ", i.cmd.Process.Pid)) && strings.Contains(row, "  3/3  ") {
				return true
			}
		}
		return false
	})
}
