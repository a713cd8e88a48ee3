//go:build unix

package main

import (
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"example.com/redlock/redlocktest"
)

func TestRunPassesTheExitCode(t *testing.T) {
	_, flags := masters(t, 3)
	for _, c := range []struct {
		script string
		want   int
	}{
		{"exit 0", 0},
		{"exit 7", 7},
		{"exit 255", 255},
		{"kill -KILL $$", 128 + 9},
		{"kill -TERM $$", 128 + 15},
	} {
		t.Run(c.script, func(t *testing.T) {
			i := command(t, line("run", flags, "--name", "n", "--", "sh", "-c", c.script)...).start().wantCode(c.want)
			if i.stderr.String() != "" {
				t.Errorf("stderr is %q, want nothing", &i.stderr)
			}
		})
	}
}

// The command has redlock's environment, and what it needs to know about the lock, whatever an outer redlock run
// has told this one.
func TestRunEnvironment(t *testing.T) {
	fleet, _ := masters(t, 3)
	i := command(t, "run", "--masters", strings.Join(fleet.URLs(), ", "), "orders:42", "--", "env").env(
		"REDLOCK_MASTERS=redis://other", "REDLOCK_NAME=outer", "REDLOCK_TOKEN=1", "REDLOCK_SLOT=3",
		"REDLOCK_RESTART_GUARD=off", "REDLOCK_LEASE=20s", "OTHER=kept",
	).start().wantCode(0)
	env := strings.Split(i.stdout.String(), "\n")
	for _, want := range []string{
		"REDLOCK_MASTERS=" + strings.Join(fleet.URLs(), ","), "REDLOCK_NAME=orders:42",
		"REDLOCK_RESTART_GUARD=off", "REDLOCK_LEASE=20s", "OTHER=kept",
	} {
		if !slices.Contains(env, want) {
			t.Errorf("the command's environment has no %s:\n%s", want, &i.stdout)
		}
	}
	var told []string
	for _, entry := range env {
		if key, value, _ := strings.Cut(entry, "="); key == "REDLOCK_TOKEN" || key == "REDLOCK_SLOT" {
			told = append(told, value)
		}
	}
	if token, err := strconv.Atoi(strings.Join(told, " ")); err != nil || token <= 1 {
		t.Errorf("the command is told the token %q, want one of its own, and no slot", told)
	}
}

// Several names are locked together, and the command is told of each.
func TestRunSeveralNames(t *testing.T) {
	fleet, flags := masters(t, 3)
	for _, given := range [][]string{{"--name", "b", "--name", "a", "--name", "b"}, nil} {
		i := command(t, append(line("run", flags, given...), "--", "sh", "-c", `echo "$REDLOCK_NAME"; echo "$REDLOCK_TOKEN"; echo ready; read x`)...)
		if given == nil {
			i.env("REDLOCK_NAME=b\na")
		}
		i, in := withStdin(t, i)
		i.ready()
		lines := strings.Split(i.stdout.String(), "\n")
		if lines[0] != "a" || lines[1] != "b" || lines[2] == "" || lines[3] == "" || lines[2] == lines[3] {
			t.Errorf("the command was told %q, want both names and their tokens", lines)
		}
		eventually(t, "every master has both locks", func() bool {
			return !slices.Contains(append(holders(fleet, "a"), holders(fleet, "b")...), "")
		})
		command(t, line("run", flags, "--no-wait", "--name", "c", "--name", "b", "--", "true")...).start().wantCode(exitTaken).wantError(`lock "b"`)
		in.Close()
		i.wantCode(1) // the exit code of read at the end of its input
		eventually(t, "both are free", func() bool { return free(fleet, "a") && free(fleet, "b") && free(fleet, "c") })
	}
}

func TestRunChecksTheCommandFirst(t *testing.T) {
	fleet, flags := masters(t, 3)
	script := write(t, "not-executable", "#!/bin/sh\n", 0o600)
	for _, c := range []struct {
		command string
		want    int
	}{
		{"redlock-test-no-such-command", exitNotFound},
		{"./no/such/file", exitNotFound},
		{script, exitNotExecutable},
		{t.TempDir(), exitNotExecutable},
	} {
		t.Run(filepath.Base(c.command), func(t *testing.T) {
			before := fleet.Master(0).Commands()
			command(t, line("run", flags, "--name", "n", "--", c.command)...).start().wantCode(c.want).wantError(c.command)
			if got := fleet.Master(0).Commands(); got != before {
				t.Errorf("%d commands were sent to a master, want none", got-before)
			}
		})
	}
}

// A file that LookPath accepts but the kernel does not.
func TestRunCommandDoesNotStart(t *testing.T) {
	fleet, flags := masters(t, 3)
	script := write(t, "no-format", "neither a program nor a script", 0o700)
	command(t, line("run", flags, "--name", "n", "--", script)...).start().wantCode(exitNotExecutable)
	eventually(t, "the lock is free", func() bool { return free(fleet, "n") })
}

// redlock says so if it cuts a grace that was asked for, but not if it cuts the default.
func TestRunSaysThatTheGraceIsCut(t *testing.T) {
	_, flags := masters(t, 3)
	command(t, line("run", flags, "--name", "n", "--lease=6s", "--grace=5s", "--", "true")...).start().wantCode(0).wantError("grace=5s used=2s")
	for _, given := range [][]string{{"--lease=6s"}, {"--lease=6s", "--grace=2s"}} {
		i := command(t, append(line("run", flags, given...), "--name", "n", "--", "true")...).start().wantCode(0)
		if i.stderr.String() != "" {
			t.Errorf("redlock run %v: stderr is %q, want nothing", given, &i.stderr)
		}
	}
}

func TestRunRefusesItsOwnLock(t *testing.T) {
	for _, c := range []struct {
		flags string
		env   []string // of the outer one
	}{
		{"", []string{"REDLOCK_NAME=n", "REDLOCK_TOKEN=17"}},
		{"--name x --name n", []string{"REDLOCK_NAME=m\nn", "REDLOCK_TOKEN=17\n18"}},
		{"--name n --permits 2", []string{"REDLOCK_NAME=n", "REDLOCK_TOKEN=17", "REDLOCK_SLOT=0"}},
	} {
		args := append(line("run", strings.Fields(c.flags)), "--masters", "127.0.0.1:1", "--", "true")
		command(t, args...).env(c.env...).start().wantCode(exitUsage).wantError(`holds "n"`, "REDLOCK_TOKEN")
	}
}

// A lease that makes the guard long is named where that is why nothing is granted.
func TestRunExplainsALongGuard(t *testing.T) {
	fleet := redlocktest.Start(t, 3)
	flags := []string{"--masters", strings.Join(fleet.URLs(), ","), "--lease", "1000h"}
	const why = "masters that restarted grant nothing for so long because --lease makes the guard 1000h0m0s"
	command(t, line("run", flags, "--no-wait", "n", "--", "true")...).start().wantCode(exitNoQuorum).wantError(why)
	i := command(t, line("run", flags, "n", "--", "true")...).start()
	eventually(t, "it says why", func() bool { return strings.Contains(i.stderr.String(), "redlock: "+why) })
}

// The command's exit code is kept when the lock cannot be released.
func TestRunUnlockFails(t *testing.T) {
	fleet, flags := masters(t, 3)
	i, in := withStdin(t, command(t, line("run", flags, "--name", "n", "--", "sh", "-c", "echo ready; read x; exit 3")...))
	i.ready()
	fleet.Master(0).Kill()
	fleet.Master(1).Kill()
	in.Close()
	i.wantCode(3).wantError("warning")
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
			i.wantCode(128 + int(sig)).wantError("waiting")
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
	i.wantCode(exitNoQuorum).wantError(strings.TrimPrefix(fleet.URLs()[0], "redis://"))
}

// waiting waits until redlock is in the queue for a lock that another client holds.
func (i *invocation) waiting(fleet *redlocktest.Fleet) {
	i.t.Helper()
	eventually(i.t, "redlock waits for the lock", func() bool { return len(fleet.Master(0).ZSet("redlock_wait:{n}")) > 0 })
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
