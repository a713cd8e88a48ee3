//go:build unix

package main

import (
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/redlock/internal/check"
)

// TestLookInterrupted: a look that an interrupt ends says so by its exit code, and not that masters are silent.
func TestLookInterrupted(t *testing.T) {
	for _, args := range [][]string{{"list"}, {"inspect", "n"}, {"clients"}, {"unlock", "--force", "n"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			fleet, flags := masters(t)
			for _, m := range fleet.Masters() {
				m.Delay(500 * time.Millisecond) // each answer comes later than the interrupt
			}
			i := command(t, line(args[0], flags, append(args[1:], "--node-timeout=1m")...)...).start()
			check.Eventually(t, "redlock asks", func() bool { return fleet.Master(0).Commands() > 0 })
			i.endsBy(syscall.SIGINT)
		})
	}
}

func TestRunForwardsSignals(t *testing.T) {
	_, flags := masters(t)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		if signal.Ignored(sig) {
			continue // under nohup, the command should survive HUP too
		}
		t.Run(sig.String(), func(t *testing.T) {
			i := command(t, line("run", flags, "--name", sig.String(), "--", os.Args[0], asCounter)...).start()
			i.ready()
			i.signal(sig)
			i.wantCode(41)
		})
	}
}

// ready waits until the command has printed that it is ready.
func (i *invocation) ready() {
	i.t.Helper()
	check.Eventually(i.t, "the command prints ready", func() bool {
		if i.exited() {
			i.t.Fatalf("redlock %v ended with %d", i.cmd.Args[1:], i.code())
		}
		return strings.Contains(i.stdout.String(), "ready\n")
	})
}

func (i *invocation) signal(sig syscall.Signal) {
	i.t.Helper()
	check.OK(i.t, i.cmd.Process.Signal(sig))
}

// endsBy sends a signal, by which redlock ends.
func (i *invocation) endsBy(sig syscall.Signal) {
	i.t.Helper()
	i.signal(sig)
	i.wantCode(exitSignal + int(sig))
}

// withStdin starts i with an open pipe as its input.
func withStdin(t *testing.T, i *invocation) (*invocation, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	check.OK(t, err)
	i.cmd.Stdin = r
	i.start()
	r.Close()
	t.Cleanup(func() { w.Close() })
	return i, w
}

// TestHaltOnBSD: what macOS and the BSDs say of a command that was stopped, continued, or has ended.
func TestHaltOnBSD(t *testing.T) {
	for status, want := range map[uint32]string{
		0x117f: "stopped", 0x127f: "stopped", 0x157f: "stopped", // by STOP, TSTP and TTIN
		0x137f: "continued", 0x13: "continued", 0xffff: "continued", // macOS; FreeBSD; OpenBSD
		0: "ended", 0x0f: "ended", 0x89: "ended", 0xff00: "ended", // 0, TERM, KILL with a core, 255
	} {
		got := "ended"
		if lives, halted := haltOnBSD(status); halted {
			got = "stopped"
		} else if lives {
			got = "continued"
		}
		check.Equal(t, got, want, "status %#x", status)
	}
}

// TERM comes once, and KILL after it. TestSupervise has the exact times. What the command started ends with it,
// whatever process group it is in; on Linux also what made itself a daemon.
func TestRunLostKillsTheTree(t *testing.T) {
	t.Parallel()
	fleet, flags := masters(t)
	script, started := `trap '' TERM; sh -c 'echo $$; exec sleep 100' & sh -c 'sh -c "echo \$\$; exec sleep 100" & wait' &`, 2
	if runtime.GOOS == "linux" {
		script, started = script+` (setsid sh -c 'trap "" TERM; echo $$; while :; do sleep 0.02; done' &) ;`, 3
	}
	i := command(t, line("run", flags, "--name", "n", "--lease=6s", "--grace=3s", "--", "sh", "-c", script+` trap 'echo term' TERM; while :; do sleep 0.02; done`)...).start()
	check.Eventually(t, "all processes run", func() bool { return len(i.pids()) == started })
	fleet.Master(0).Kill()
	fleet.Master(1).Kill()
	i.wantCode(exitLost).wantError("KILL to the command")
	check.Equal(t, strings.Count(i.stdout.String(), "term\n"), 1, "how often the command got TERM")
	for _, pid := range i.pids() {
		check.That(t, !running(pid), "process %d is still running", pid)
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
