//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
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
			if got := frame(c.text, c.rows, c.width, c.first); got != c.want {
				t.Errorf("frame = %q, want %q", got, c.want)
			}
		})
	}
}

// redlock list and redlock clients say what a command that holds something is.
func TestListAndClients(t *testing.T) {
	_, flags := masters(t, 3)
	i, _, told := holding(t, line("hold", flags, "n", "--client-name", "nightly-report")...)
	known(t, flags, i)
	list := command(t, append([]string{"list"}, flags...)...).start().wantCode(0)
	list.wantOutput("n ", "nightly-report@", fmt.Sprintf(":%d ", i.cmd.Process.Pid), "  3   "+told)
	command(t, append([]string{"list", "m*"}, flags...)...).start().wantCode(exitNo)
	clients := command(t, append([]string{"clients"}, flags...)...).start().wantCode(0)
	clients.wantOutput("nightly-report ", fmt.Sprintf(" %d ", i.cmd.Process.Pid), " 3/3 ", "A: 1 client uses 3 masters: ")
	for _, args := range [][]string{{"list", "--json"}, {"clients", "--json"}} {
		command(t, append(args, flags...)...).start().wantCode(0).wantOutput(`"name": "nightly-report"`)
	}
}

// While it waits, redlock says who holds the lock, and says it again when that or the place in the line
// changes, and not otherwise.
func TestRunSaysWhoHoldsIt(t *testing.T) {
	t.Parallel()
	_, flags := masters(t, 3)
	holder, in, _ := holding(t, line("hold", flags, "n", "--client-name", "nightly-report")...)
	known(t, flags, holder)
	first, firstIn := withStdin(t, command(t, line("hold", flags, "n", "--client-name", "first")...))
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
	if lines := strings.Count(first.stderr.String(), "\n"); lines != 1 {
		t.Errorf("the first waiter was told %d times, want once:\n%s", lines, &first.stderr)
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

// A killed holder is still named.
func TestRunNamesAKilledHolder(t *testing.T) {
	t.Parallel()
	_, flags := masters(t, 3)
	holder, _, _ := holding(t, line("hold", flags, "n", "--client-name", "nightly-report")...)
	known(t, flags, holder)
	holder.signal(syscall.SIGKILL)
	<-holder.ended
	command(t, line("run", flags, "n", "--wait=3s", "--", "true")...).start().wantCode(exitTaken).wantError(`still waiting for "n": held by nightly-report on `, fmt.Sprintf("(pid %d)", holder.cmd.Process.Pid))
}

func TestInspect(t *testing.T) {
	fleet, flags := masters(t, 5)
	hold := take(t, fleet, "n")
	fleet.Master(4).Kill()
	i := command(t, line("inspect", flags, "n")...).start().wantCode(0)
	naming := 0
	for row := range strings.Lines(i.stdout.String()) {
		if strings.Contains(row, short(hold.Owner())) && strings.Contains(row, fmt.Sprint(hold.Token())) {
			naming++
		}
	}
	if said := hold.Owner() + ": 4 of 5 masters say so"; naming != 4 || !strings.Contains(i.stdout.String(), said) {
		t.Errorf("%d lines name holder and token, want 4, and %q:\n%s", naming, said, &i.stdout)
	}

	i = command(t, line("inspect", flags, "--json", "n")...).start().wantCode(0)
	var got inspection
	if err := json.Unmarshal([]byte(i.stdout.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Name != "n" || got.Held == nil || !*got.Held || got.Holder != hold.Owner() || got.LeftMS <= 0 || len(got.Masters) != 5 {
		t.Fatalf("inspect --json: %+v", got)
	}
	for k, m := range got.Masters {
		has := m.Holder == hold.Owner() && m.Count == 1 && m.LeftMS > 0 && m.Token == hold.Token() && m.Error == ""
		if has != (k < 4) || !has && (m.Holder != "" || m.Error == "") {
			t.Errorf("inspect --json: %+v", m)
		}
	}
}
