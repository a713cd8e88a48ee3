//go:build unix

package main

import (
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"example.com/redlock/internal/check"
)

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
