package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// deadline is how long a test waits before it gives up. It is far longer than anything takes, so that
// only something that never happens reaches it.
const deadline = 30 * time.Second

// lasting is a lease that is soon renewed, or lost, and that a process on a busy machine does not lose between two
// renewals.
const lasting = "--lease=9s"

// invocation is one run of redlock.
type invocation struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout check.Output
	stderr check.Output
	ended  chan struct{}
}

// command prepares redlock with args, in a session of its own, so that the terminal in which the tests
// run has no effect on them.
func command(t *testing.T, args ...string) *invocation {
	t.Helper()
	program, err := os.Executable()
	check.OK(t, err)
	i := &invocation{t: t, cmd: exec.Command(program, args...), ended: make(chan struct{})}
	i.cmd.Stdout, i.cmd.Stderr = &i.stdout, &i.stderr
	i.cmd.SysProcAttr = newSession()
	i.cmd.WaitDelay = deadline // for what the command left running with our pipes
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "REDLOCK_") {
			i.cmd.Env = append(i.cmd.Env, entry)
		}
	}
	// Otherwise the race detector makes each process sleep for a second before it exits.
	return i.env(asCommand+"=1", "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
}

func (i *invocation) env(entries ...string) *invocation {
	i.cmd.Env = append(i.cmd.Env, entries...)
	return i
}

// start starts redlock. If it has not ended when the test ends, it is killed.
func (i *invocation) start() *invocation {
	i.t.Helper()
	check.OK(i.t, i.cmd.Start())
	go func() {
		defer close(i.ended)
		_ = i.cmd.Wait() // ProcessState has everything
	}()
	i.t.Cleanup(func() {
		_ = i.cmd.Process.Kill()
		<-i.ended
		if i.t.Failed() {
			i.t.Logf("redlock %s\nstdout:\n%s\nstderr:\n%s", strings.Join(i.cmd.Args[1:], " "), &i.stdout, &i.stderr)
		}
	})
	return i
}

// code waits until redlock has ended and returns its exit code. Whatever it did, it has not told the password that
// tests have.
func (i *invocation) code() int {
	i.t.Helper()
	select {
	case <-i.ended:
	case <-time.After(deadline):
		i.t.Fatalf("redlock %v has not ended after %v", i.cmd.Args[1:], deadline)
	}
	if strings.Contains(i.stdout.String()+i.stderr.String(), "sesame") {
		i.t.Errorf("redlock %v prints the password", i.cmd.Args[1:])
	}
	return i.cmd.ProcessState.ExitCode()
}

func (i *invocation) exited() bool {
	select {
	case <-i.ended:
		return true
	default:
		return false
	}
}

func (i *invocation) wantCode(want int) *invocation {
	i.t.Helper()
	check.Equal(i.t, i.code(), want, "exit code of redlock %v", i.cmd.Args[1:])
	return i
}

func (i *invocation) wantError(parts ...string) {
	i.t.Helper()
	for _, part := range parts {
		if !strings.Contains(i.stderr.String(), part) {
			i.t.Errorf("redlock %v: stderr is\n%s\nwant %q in it", i.cmd.Args[1:], &i.stderr, part)
		}
	}
}

// countSignals waits for a signal and a moment longer, and returns 40 plus how many came. A shell
// cannot do that: its trap takes two signals in quick succession for one.
func countSignals() int {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	fmt.Println("ready")
	<-signals
	time.Sleep(200 * time.Millisecond) // a process of its own, with nothing to poll
	return 40 + 1 + len(signals)
}

// masters starts a fleet of three and returns it with the flags that name it.
func masters(t *testing.T) (*redlocktest.Fleet, []string) {
	t.Helper()
	fleet := redlocktest.Start(t, 3)
	return fleet, []string{"--masters", strings.Join(fleet.URLs(), ","), "--no-restart-guard"}
}

// line joins the parts of a command line.
func line(subcommand string, flags []string, rest ...string) []string {
	return append(append([]string{subcommand}, flags...), rest...)
}

// client returns another client of the fleet. Its masters have long enough for a busy machine.
func client(t *testing.T, fleet *redlocktest.Fleet) *redlock.Client {
	t.Helper()
	c, err := redlock.New(redlock.Config{Name: "orders-api", Pools: fleet.Pools(), RestartGuard: redlock.GuardOff, NodeTimeout: 5 * time.Second})
	check.OK(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// take has another client hold name until the test ends: a Hold that is garbage is renewed no more.
func take(t *testing.T, fleet *redlocktest.Fleet, name string, options ...redlock.Option) {
	t.Helper()
	hold, err := client(t, fleet).Lock(t.Context(), name, options...)
	check.OK(t, err)
	t.Cleanup(func() { runtime.KeepAlive(hold) })
}

// free reports whether name is free on every master.
func free(fleet *redlocktest.Fleet, name string) bool {
	return !slices.ContainsFunc(fleet.Masters(), func(m *redlocktest.Master) bool { return m.Holder(name) != "" })
}
