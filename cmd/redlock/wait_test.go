//go:build unix

package main

import (
	"strconv"
	"strings"
	"syscall"
	"testing"

	"example.com/redlock/redlocktest"
)

func TestRunWaitsForItsTurn(t *testing.T) {
	fleet, flags := masters(t, 3)
	hold := take(t, fleet, "n")
	i := command(t, line("run", flags, "--name", "n", "--", "sh", "-c", "echo $REDLOCK_TOKEN")...).start()
	i.waiting(fleet)
	if err := hold.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	i.wantCode(0)
	token, err := strconv.ParseInt(strings.TrimSpace(i.stdout.String()), 10, 64)
	if err != nil || token <= hold.Token() {
		t.Errorf("REDLOCK_TOKEN is %q, want more than %d", &i.stdout, hold.Token())
	}
}

func TestRunWaitCancelled(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			fleet, flags := masters(t, 3)
			hold := take(t, fleet, "n")
			i := command(t, line("run", flags, "--name", "n", "--", "echo", "started")...).start()
			i.waiting(fleet)
			i.signal(syscall.SIGUSR1) // for the command, which is not there
			i.signal(sig)
			i.wantCode(128 + int(sig))
			i.wantError("waiting")
			for _, holder := range holders(fleet, "n") {
				if holder != hold.Owner() {
					t.Errorf("after the cancelled wait a master has %q, want %q", holder, hold.Owner())
				}
			}
			if err := hold.Unlock(t.Context()); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the lock is free", func() bool { return free(fleet, "n") })
			if i.stdout.String() != "" {
				t.Errorf("the command was started: %q", &i.stdout)
			}
		})
	}
}

// Masters that restarted grant nothing for a lease, and a waiter is told that this is the reason.
func TestRunSaysWhyItWaits(t *testing.T) {
	t.Parallel()
	fleet := redlocktest.Start(t, 3)
	fleet.Master(0).Restart()
	fleet.Master(1).Restart()
	i := command(t, "run", "--name", "n", "--", "echo", "started").env("REDLOCK_MASTERS=" + strings.Join(fleet.URLs(), ",")).start()
	eventually(t, "redlock says why it waits", func() bool {
		return strings.Contains(i.stderr.String(), "redlock: waiting for masters that restarted lately name=n left=")
	})
	i.signal(syscall.SIGTERM)
	i.wantCode(128 + 15)
}

// A wrong password is reported as the master's reason, without the password.
func TestRunKeepsThePasswordSecret(t *testing.T) {
	fleet := redlocktest.Start(t, 3)
	var urls []string
	for i, url := range fleet.URLs() {
		fleet.Master(i).Password("shut")
		urls = append(urls, strings.Replace(url, "redis://", "redis://:open-sesame@", 1))
	}
	i := command(t, "run", "-v", "--name", "n", "--wait=300ms", "--", "echo", "started").env("REDLOCK_MASTERS=" + strings.Join(urls, ",")).start()
	i.wantCode(exitNoQuorum)
	i.wantError(strings.TrimPrefix(fleet.URLs()[0], "redis://"))
	if strings.Contains(i.stderr.String(), "sesame") {
		t.Errorf("the password is in\n%s", &i.stderr)
	}
}

// waiting waits until redlock is in the queue for a lock that another client holds.
func (i *invocation) waiting(fleet *redlocktest.Fleet) {
	i.t.Helper()
	eventually(i.t, "redlock waits for the lock", func() bool { return len(fleet.Master(0).ZSet("redlock_wait:{n}")) > 0 })
}
