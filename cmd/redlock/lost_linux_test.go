package main

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRunKilledEndsTheCommand(t *testing.T) {
	_, flags := masters(t, 3)
	i := command(t, line("run", flags, "--name", "n", "--", "sh", "-c", "echo $$; exec sleep 100")...).start()
	eventually(t, "the command runs", func() bool { return len(i.pids()) == 1 })
	i.signal(unix.SIGKILL)
	i.wantCode(-1)
	// The process that inherits it may take a while to reap it.
	eventually(t, "the command is gone", func() bool { s := state(i.pids()[0]); return s == 0 || s == 'Z' })
}

// Outside a terminal, TSTP stops redlock and the command: the command must not run while nobody renews
// its hold.
func TestRunPauses(t *testing.T) {
	_, flags := masters(t, 3)
	i, in := withStdin(t, command(t, line("run", flags, "--name", "n", "--", "sh", "-c", "echo $$; echo ready; read x; exit 0")...))
	i.ready()
	i.signal(unix.SIGTSTP)
	eventually(t, "both are stopped", func() bool { return state(i.pids()[0]) == 'T' && state(i.cmd.Process.Pid) == 'T' })
	i.signal(unix.SIGCONT)
	eventually(t, "both go on", func() bool { return state(i.pids()[0]) == 'S' && state(i.cmd.Process.Pid) != 'T' })
	in.Close()
	i.wantCode(0)
}

// A command that was stopped for longer than its hold lasted is ended and does not go on.
func TestRunPausedForTooLong(t *testing.T) {
	t.Parallel()
	fleet, flags := masters(t, 3)
	i := command(t, line("run", flags, "--name", "n", "--lease=1s", "--grace=300ms", "--", "sh", "-c", "echo $$; "+stubborn)...).start()
	i.ready()
	i.signal(unix.SIGTSTP)
	eventually(t, "the hold has ended", func() bool { return free(fleet, "n") })
	i.signal(unix.SIGCONT)
	i.wantCode(exitLost)
	if running(i.pids()[0]) {
		t.Error("the command is still running")
	}
}

// state returns the letter in /proc/pid/stat: R for running, S for sleeping, T for stopped, Z for dead
// but not reaped; or 0 if there is no such process.
func state(pid int) byte {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return bytes.TrimSpace(stat[bytes.LastIndexByte(stat, ')')+1:])[0]
}

func TestParseStat(t *testing.T) {
	for _, c := range []struct {
		name, stat string
		want       process
		ok         bool
	}{
		{"plain", "7 (sh) S 3 5 5 0 -1", process{pid: 7, parent: 3, group: 5}, true},
		{"brackets in the name", "7 (a) R 1) (b) S 3 5 5", process{pid: 7, parent: 3, group: 5}, true},
		{"blank name", "7 ( ) Z 3 5", process{pid: 7, parent: 3, group: 5}, true},
		{"cut short", "7 (sh) S 3", process{}, false},
		{"no numbers", "7 (sh) S x y", process{}, false},
		{"empty", "", process{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, ok := parseStat(7, []byte(c.stat)); got != c.want || ok != c.ok {
				t.Errorf("parseStat(%q) = %v, %t, want %v, %t", c.stat, got, ok, c.want, c.ok)
			}
		})
	}
}
