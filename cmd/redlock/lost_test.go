//go:build unix

package main

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stubborn ignores TERM, but reports when it gets it.
const stubborn = `trap 'echo term' TERM; echo $$; echo ready; while :; do sleep 0.02; done`

// TERM comes once, while the hold is still valid, and KILL at the end of validity. How late they are
// depends on the machine, so the limits go by redlock's own log. TestSupervise has the exact times.
func TestRunLostTermThenKill(t *testing.T) {
	t.Parallel()
	fleet, flags := masters(t, 3)
	const grace = time.Second
	i := command(t, line("run", flags, "-v", "--name", "n", "--lease=3s", "--grace="+grace.String(), "--", "sh", "-c", stubborn)...).start()
	i.ready()
	start := time.Now()
	fleet.Master(0).Kill()
	fleet.Master(1).Kill()
	i.wantCode(exitLost)
	i.wantError("could not be kept")
	if running(i.pids()[0]) {
		t.Error("the command is still running")
	}
	if got := strings.Count(i.stdout.String(), "term\n"); got != 1 {
		t.Errorf("the command got TERM %d times: %q", got, &i.stdout)
	}
	term, told := i.logged("TERM to the command")
	kill, _ := i.logged("KILL to the command")
	left, err := time.ParseDuration(told["left"])
	if err != nil || left <= 0 || left > grace {
		t.Errorf("TERM came with %q of the hold left, want more than 0 and at most the grace of %v", told["left"], grace)
	}
	t.Logf("TERM %v after the masters' end, with %v left; KILL %v later", term.Sub(start), left, kill.Sub(term))
	// On a busy machine, the line about TERM is written some time after the hold was checked.
	if after := kill.Sub(term); after < left/2 {
		t.Errorf("KILL came %v after TERM, want the %v that were left", after, left)
	}
}

// A command that obeys TERM is not killed. redlock reports the loss even if the command ended with 0.
func TestRunLostCommandObeys(t *testing.T) {
	t.Parallel()
	fleet, flags := masters(t, 3)
	i := command(t, line("run", flags, "--name", "n", "--lease=3s", "--grace=1s", "--",
		"sh", "-c", `trap 'echo cleaning up; exit 0' TERM; echo ready; while :; do sleep 0.02; done`)...).start()
	i.ready()
	fleet.Master(0).Kill()
	fleet.Master(1).Kill()
	i.wantCode(exitLost)
	if !strings.Contains(i.stdout.String(), "cleaning up\n") {
		t.Errorf("the command did not clean up: %q", &i.stdout)
	}
	if strings.Contains(i.stderr.String(), "KILL") {
		t.Errorf("the command was killed: %s", &i.stderr)
	}
}

// If the hold was lost before the command ended, redlock reports that, even if it learns of the loss
// only afterwards and the command ended with 0.
func TestRunLostUnnoticed(t *testing.T) {
	for _, c := range []struct{ own, want int }{{0, exitLost}, {3, 3}} {
		t.Run(strconv.Itoa(c.own), func(t *testing.T) {
			fleet, flags := masters(t, 3)
			script := "echo ready; read x; exit " + strconv.Itoa(c.own)
			i, in := withStdin(t, command(t, line("run", flags, "--name", "n", "--", "sh", "-c", script)...))
			i.ready()
			if freed, err := client(t, fleet).ForceUnlock(t.Context(), "n"); !freed || err != nil {
				t.Fatalf("ForceUnlock = %t, %v", freed, err)
			}
			in.Close()
			i.wantCode(c.want)
			i.wantError("lost")
		})
	}
}

// What the command started ends with it, whatever process group it is in.
func TestRunLostKillsTheTree(t *testing.T) {
	t.Parallel()
	fleet, flags := masters(t, 3)
	i := command(t, line("run", flags, "--name", "n", "--lease=2s", "--grace=200ms", "--", "sh", "-c",
		`trap '' TERM; sh -c 'echo $$; exec sleep 100' & sh -c 'sh -c "echo \$\$; exec sleep 100" & wait' &
		 while :; do sleep 0.02; done`)...).start()
	eventually(t, "both processes run", func() bool { return len(i.pids()) == 2 })
	fleet.Master(0).Kill()
	fleet.Master(1).Kill()
	i.wantCode(exitLost)
	for _, pid := range i.pids() {
		if running(pid) {
			t.Errorf("process %d is still running", pid)
		}
	}
}

// logged returns when redlock -v logged a message with this ending, and the attributes of that line.
func (i *invocation) logged(end string) (when time.Time, attrs map[string]string) {
	i.t.Helper()
	for line := range strings.Lines(i.stderr.String()) {
		if !strings.Contains(line, end+`"`) {
			continue
		}
		attrs = make(map[string]string)
		for field := range strings.FieldsSeq(line) {
			if key, value, ok := strings.Cut(field, "="); ok {
				attrs[key] = value
			}
		}
		when, err := time.Parse(time.RFC3339, attrs["time"])
		if err != nil {
			i.t.Fatalf("a line without a time: %s", line)
		}
		return when, attrs
	}
	i.t.Fatalf("redlock did not log %q", end)
	return time.Time{}, nil
}

// pids returns the numbers that the command printed.
func (i *invocation) pids() []int {
	var all []int
	for field := range strings.FieldsSeq(i.stdout.String()) {
		if pid, err := strconv.Atoi(field); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

func running(pid int) bool { return syscall.Kill(pid, 0) == nil }
