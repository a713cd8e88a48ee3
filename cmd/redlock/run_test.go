//go:build unix

package main

import (
	"os"
	"os/signal"
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
			fleet, flags := masters(t, 3)
			for _, m := range fleet.Masters() {
				m.Delay(500 * time.Millisecond) // each answer comes later than the interrupt
			}
			i := command(t, line(args[0], flags, append(args[1:], "--node-timeout=1m")...)...).start()
			eventually(t, "redlock asks", func() bool { return fleet.Master(0).Commands() > 0 })
			i.endsBy(syscall.SIGINT)
		})
	}
}

func TestRunForwardsSignals(t *testing.T) {
	_, flags := masters(t, 3)
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
	eventually(i.t, "the command prints ready", func() bool {
		select {
		case <-i.ended:
			i.t.Fatalf("redlock %v ended with %d", i.cmd.Args[1:], i.code())
		default:
		}
		return strings.Contains(i.stdout.String(), "ready\n")
	})
}

func (i *invocation) signal(sig syscall.Signal) {
	i.t.Helper()
	check.OK(i.t, i.cmd.Process.Signal(sig))
}

// endsBy sends a signal, by which redlock ends.
func (i *invocation) endsBy(sig syscall.Signal) *invocation {
	i.t.Helper()
	i.signal(sig)
	return i.wantCode(exitSignal + int(sig))
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
