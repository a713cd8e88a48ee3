package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"example.com/redlock/redlock"
)

// asCommand in the environment makes the test binary the redlock command, so that the tests
// run real processes and send them real signals.
const asCommand = "REDLOCK_TEST_AS_COMMAND"

// asCounter as its first argument makes it a command for redlock to run: see countSignals.
const asCounter = "count-signals"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == asCounter {
		os.Exit(countSignals())
	}
	if os.Getenv(asCommand) != "" {
		os.Exit(realMain(os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
	}
	os.Exit(m.Run())
}

func TestUsage(t *testing.T) {
	masters := []string{"--masters", "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"}
	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"no arguments", nil, ""},
		{"no such command", []string{"lock"}, "lock"},
		{"no masters", []string{"run", "--name", "n", "true"}, "--masters"},
		{"no name", line("run", masters, "true"), "--name"},
		{"no command", line("run", masters, "--name", "n"), "command"},
		{"no command after --", line("run", masters, "--name", "n", "--"), "command"},
		{"unknown flag", line("run", masters, "--nmae", "n", "--", "true"), "--nmae"},
		{"negative wait", line("run", masters, "--name", "n", "--wait=-1s", "--", "true"), "--wait"},
		{"wait and no wait", line("run", masters, "--name", "n", "--wait=1s", "--no-wait", "--", "true"), "--no-wait"},
		{"negative grace", line("run", masters, "--name", "n", "--grace=-1s", "--", "true"), "--grace"},
		{"negative lease", line("run", masters, "--name", "n", "--lease=-1s", "--", "true"), "-1s"},
		{"empty name", line("run", masters, "--name=", "--", "true"), "name"},
		{"lease over max", line("run", masters, "--name", "n", "--max-lease=10s", "--", "true"), "--max-lease 10s"},
		{"bad guard", line("run", masters, "--name", "n", "--restart-guard=often", "--", "true"), "often"},
		{"bad URL", []string{"run", "--masters", "http://:open-sesame@x", "--name", "n", "--", "true"}, "--masters[0]: not a Redis URL"},
		{"one master twice", []string{"run", "--masters", "m:1,m:1,m:2", "--name", "n", "--", "true"}, "--masters has the same master twice, as 0 and 1: m:1"},
		{"empty masters", []string{"run", "--masters=", "--name", "n", "--", "true"}, "--masters is empty"},
		{"unlock without force", line("unlock", masters, "n"), "--force"},
		{"inspect without a name", line("inspect", masters), "name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := command(t, c.args...).start()
			i.wantCode(exitUsage)
			i.wantError(c.says)
			if strings.Contains(i.stderr.String(), "sesame") {
				t.Errorf("the password is in the error: %s", &i.stderr)
			}
		})
	}
}

// The password comes from the environment, and from nowhere does it get out again.
func TestHelpKeepsTheMastersSecret(t *testing.T) {
	for _, sub := range []string{"run", "inspect", "unlock"} {
		i := command(t, sub, "--help").env("REDLOCK_MASTERS=redis://:open-sesame@m1").start()
		i.wantCode(0)
		if strings.Contains(i.stdout.String()+i.stderr.String(), "sesame") {
			t.Errorf("redlock %s --help prints the value of REDLOCK_MASTERS:\n%s", sub, &i.stdout)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"--help"}, []string{"run", "inspect", "unlock", "demo", "Exit codes:"}},
		{[]string{"run", "--help"}, []string{"--masters", "$REDLOCK_MASTERS", "--wait", "Examples:", "Signals:", "REDLOCK_TOKEN", fmt.Sprint(exitTaken), fmt.Sprint(exitLost)}},
		{[]string{"inspect", "--help"}, []string{"--json", "Exit codes:"}},
		{[]string{"unlock", "--help"}, []string{"--force", "Exit codes:"}},
		{[]string{"demo", "--help"}, []string{"Exit codes:"}},
		{[]string{"--version"}, []string{"redlock "}},
		{[]string{"version"}, []string{"redlock "}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			i := command(t, c.args...).start()
			i.wantCode(0)
			for _, part := range c.says {
				if !strings.Contains(i.stdout.String(), part) {
					t.Errorf("redlock %v: no %q in\n%s", c.args, part, &i.stdout)
				}
			}
		})
	}
}

func TestCodeOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{redlock.ErrTaken, exitTaken},
		{redlock.ErrNoQuorum, exitNoQuorum},
		{errors.Join(redlock.ErrTaken, redlock.ErrNoQuorum), exitNoQuorum},
		{context.DeadlineExceeded, exitTaken},
		{&redlock.MajorityError{}, exitSoftware},
		{errors.New("the name is empty"), exitUsage},
	} {
		if got := codeOf(fmt.Errorf("wrapped: %w", c.err)); got != c.want {
			t.Errorf("codeOf(%v) = %d, want %d", c.err, got, c.want)
		}
	}
}
