//go:build unix

package main

import (
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlockadmin"
)

// A command that obeys TERM is not killed. redlock reports the loss even if the command ended with 0.
func TestRunLostCommandObeys(t *testing.T) {
	t.Parallel()
	fleet, flags := masters(t, 3)
	i := command(t, line("run", flags, "--name", "n", "--lease=9s", "--grace=5s", "--",
		"sh", "-c", `trap 'echo cleaning up; exit 0' TERM; echo ready; while :; do sleep 0.02; done`)...).start()
	i.ready()
	fleet.Master(0).Kill()
	fleet.Master(1).Kill()
	i.wantCode(exitLost).wantError("could not be kept", "TERM to the command")
	if strings.Contains(i.stderr.String(), "KILL") || !strings.Contains(i.stdout.String(), "cleaning up\n") {
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
			if freed, err := redlockadmin.Of(client(t, fleet)).ForceUnlock(t.Context(), "n"); !freed || err != nil {
				t.Fatalf("ForceUnlock = %t, %v", freed, err)
			}
			in.Close()
			i.wantCode(c.want).wantError("lost")
		})
	}
}

// TERM comes once, and KILL after it. TestSupervise has the exact times. What the command started ends with it,
// whatever process group it is in; on Linux also what made itself a daemon.
func TestRunLostKillsTheTree(t *testing.T) {
	t.Parallel()
	fleet, flags := masters(t, 3)
	script, started := `trap '' TERM; sh -c 'echo $$; exec sleep 100' & sh -c 'sh -c "echo \$\$; exec sleep 100" & wait' &`, 2
	if runtime.GOOS == "linux" {
		script, started = script+` (setsid sh -c 'trap "" TERM; echo $$; while :; do sleep 0.02; done' &) ;`, 3
	}
	i := command(t, line("run", flags, "--name", "n", "--lease=6s", "--grace=3s", "--", "sh", "-c", script+` trap 'echo term' TERM; while :; do sleep 0.02; done`)...).start()
	eventually(t, "all processes run", func() bool { return len(i.pids()) == started })
	fleet.Master(0).Kill()
	fleet.Master(1).Kill()
	i.wantCode(exitLost).wantError("KILL to the command")
	check.Equal(t, strings.Count(i.stdout.String(), "term\n"), 1, "how often the command got TERM")
	for _, pid := range i.pids() {
		if running(pid) {
			t.Errorf("process %d is still running", pid)
		}
	}
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
