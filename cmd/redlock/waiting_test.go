//go:build unix

package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/redlock/redlock"
)

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

// --quiet keeps it from saying so.
func TestRunQuiet(t *testing.T) {
	t.Parallel()
	fleet, flags := masters(t, 3)
	take(t, fleet, "n")
	i := command(t, line("run", flags, "n", "--quiet", "--wait=3s", "--", "true")...).start().wantCode(exitTaken)
	if strings.Contains(i.stderr.String(), "still waiting") {
		t.Errorf("it says\n%s", &i.stderr)
	}
}

func TestReason(t *testing.T) {
	orders := &redlock.ClientInfo{Name: "orders-api", Host: "host-7", PID: 4242}
	queue := func(owners ...string) (list []redlock.Waiter) {
		for _, owner := range owners {
			list = append(list, redlock.Waiter{Owner: owner})
		}
		return list
	}
	readers := []redlock.Reader{{Owner: "a:r1", Client: orders}, {Owner: "b:r1"}}
	slots := []redlock.Slot{{Owner: "a:r1"}, {Owner: "b:r1"}, {Owner: "c:r1", Client: orders}, {Owner: "d:r1"}, {Owner: "e:r1"}}
	for _, c := range []struct {
		got  reason
		want string
	}{
		{
			whyNotLocked(redlock.Inspection{
				Name: "nightly", Holder: "a:r1", Client: orders, For: 12300 * time.Millisecond,
				Masters: []redlock.MasterState{{Queue: queue("x:r1", "y:r1", "me:r1")}, {Queue: queue("x:r1", "y:r1", "me:r1")}, {Queue: queue("me:r1")}},
			}, "me"),
			`still waiting for "nightly": held by orders-api on host-7 (pid 4242) for 12s; 2 ahead in line`,
		},
		{
			whyNotLocked(redlock.Inspection{Name: "n", Holder: "a:r1", Masters: []redlock.MasterState{{Queue: queue("me:r2")}, {}, {}}}, "me"),
			`still waiting for "n": held by a:r1; next in line`,
		},
		{
			whyNotLocked(redlock.Inspection{Name: "n", Holder: shared, Readers: readers}, "me"),
			`still waiting for "n": held by 2 readers (orders-api on host-7 (pid 4242), b:r1)`,
		},
		{
			whyNoPermit(redlock.SemaphoreInspection{Name: "gpu", Slots: slots}, "me"),
			`still waiting for a permit of "gpu": 5 permits are held, by a:r1, b:r1, orders-api on host-7 (pid 4242) and 2 others`,
		},
		{
			whyNoPermit(redlock.SemaphoreInspection{Name: "gpu", Slots: slots[:1]}, "me"),
			`still waiting for a permit of "gpu": 1 permit is held, by a:r1`,
		},
	} {
		if got := c.got.String(); got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
}

// A killed holder is still named.
func TestRunNamesAKilledHolder(t *testing.T) {
	t.Parallel()
	_, flags := masters(t, 3)
	holder, _, _ := holding(t, line("hold", flags, "n", "--client-name", "nightly-report")...)
	known(t, flags, holder)
	holder.signal(syscall.SIGKILL)
	<-holder.ended
	i := command(t, line("run", flags, "n", "--wait=3s", "--", "true")...).start().wantCode(exitTaken)
	i.wantError(`still waiting for "n": held by nightly-report on `, fmt.Sprintf("(pid %d)", holder.cmd.Process.Pid))
}
