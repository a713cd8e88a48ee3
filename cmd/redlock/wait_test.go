//go:build unix

package main

import (
	"strings"
	"syscall"
	"testing"

	"example.com/redlock/redlocktest"
)

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
}

// waiting waits until redlock is in the queue for a lock that another client holds.
func (i *invocation) waiting(fleet *redlocktest.Fleet) {
	i.t.Helper()
	eventually(i.t, "redlock waits for the lock", func() bool { return len(fleet.Master(0).ZSet("redlock_wait:{n}")) > 0 })
}
