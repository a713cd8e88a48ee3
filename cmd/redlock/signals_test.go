//go:build unix

package main

import (
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

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

func TestRunForwardsDeath(t *testing.T) {
	_, flags := masters(t, 3)
	i := command(t, line("run", flags, "--name", "n", "--", "sh", "-c", "sh -c 'echo ready; exec sleep 100'; echo not reached")...).start()
	i.ready()
	i.signal(syscall.SIGTERM)
	i.wantCode(128 + 15)
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
	if err := i.cmd.Process.Signal(sig); err != nil {
		i.t.Fatal(err)
	}
}

// withStdin starts i with an open pipe as its input.
func withStdin(t *testing.T, i *invocation) (*invocation, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	i.cmd.Stdin = r
	i.start()
	r.Close()
	t.Cleanup(func() { w.Close() })
	return i, w
}
