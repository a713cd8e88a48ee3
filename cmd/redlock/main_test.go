package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
)

// asCommand is an environment variable that turns the test binary into the redlock command, so that
// the tests run real processes and send them real signals.
const asCommand = "REDLOCK_TEST_AS_COMMAND"

// asCounter as the first argument turns the test binary into a command for redlock to run: see
// countSignals.
const asCounter = "count-signals"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == asCounter {
		os.Exit(countSignals())
	}
	if os.Getenv(asCommand) != "" {
		os.Exit(realMain(os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
	}
	// Where this process ignores a signal, as in the background of a shell, those that it starts would, too.
	// One that is caught they have at its default.
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGHUP, syscall.SIGQUIT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	os.Exit(m.Run())
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
		{errors.Join(&redlock.ConflictError{Reason: redlock.ErrOverlap}, context.DeadlineExceeded), exitConflict},
		{&redlock.MajorityError{}, exitSoftware},
		{errors.New("the name is empty"), exitUsage},
	} {
		check.Equal(t, codeOf(fmt.Errorf("wrapped: %w", c.err)), c.want, "codeOf(%v)", c.err)
	}
}

// Which arguments of redlock run are names, and which are the command.
func TestNamesOfRun(t *testing.T) {
	for _, c := range []struct {
		line    string // after redlock run; _ stands for a space in an argument
		env     string // REDLOCK_NAME
		nested  bool
		names   string
		script  string
		command string // none of these: nothing is locked
	}{
		{line: "n -- cmd", names: "n", command: "cmd"},
		{line: "a b -- cmd -x", names: "a b", command: "cmd -x"},
		{line: "n --no-wait -- cmd", names: "n", command: "cmd"},
		{line: "--wait 1s n -- cmd", names: "n", command: "cmd"},
		{line: "--wait=1s n --lease 10s -- cmd", names: "n", command: "cmd"},
		{line: "-v n -- cmd -- x", names: "n", command: "cmd -- x"},
		{line: `a\b -- cmd`, names: `a\b`, command: "cmd"},
		{line: "-c x_y n", names: "n", script: "x y"},
		{line: "-cx n", names: "n", script: "x"},
		{line: "-vc x n", names: "n", script: "x"},
		{line: "--script x a --no-wait b", names: "a b", script: "x"},
		{line: "-c x n", env: "e", names: "n", script: "x"},
		{line: "n -c x --", names: "n", script: "x"},

		{line: "--name n cmd -x", names: "n", command: "cmd -x"},
		{line: "--name n git checkout -- file", names: "n", command: "git checkout -- file"},
		{line: "--name=n git checkout -- file", names: "n", command: "git checkout -- file"},
		{line: "git checkout -- file", env: "e", names: "e", command: "git checkout -- file"},
		{line: "--no-wait cmd", env: "e", names: "e", command: "cmd"},
		{line: "-- cmd", env: "e", names: "e", command: "cmd"},
		{line: "-c x", env: "e", names: "e", script: "x"},
		{line: "n -- cmd", env: "outer", nested: true, names: "n", command: "cmd"},
		{line: "-c x n", env: "outer", nested: true, names: "n", script: "x"},

		{line: "cmd"},
		{line: "sh -c x"},
		{line: "n --no-wait"},
		{line: "--name a -c x b"},
		{line: "a --name b -- cmd"},
		{line: "n --nmae -- cmd"},
	} {
		t.Run(c.line+" "+c.env, func(t *testing.T) {
			t.Setenv("REDLOCK_MASTERS", "m1")
			t.Setenv("REDLOCK_NAME", c.env)
			t.Setenv("REDLOCK_TOKEN", "")
			if c.env == "" {
				os.Unsetenv("REDLOCK_NAME") // t.Setenv restores it
			}
			if c.nested {
				t.Setenv("REDLOCK_TOKEN", "17")
			}
			args := strings.Fields(c.line)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "_", " ")
			}
			line, parsed, _, err := parse(append([]string{"run"}, args...), io.Discard, io.Discard)
			if err == nil {
				err = line.Run.check(originsOf(parsed, &line.file))
			}
			if c.names == "" {
				if err == nil {
					t.Errorf("locks %q and runs %q, want an error (%v)", line.Run.Name, line.Run.Command, err)
				}
				return
			}
			script := ""
			if line.Run.Script != nil {
				script = *line.Run.Script
			}
			if err != nil || !slices.Equal(line.Run.Name, strings.Fields(c.names)) || script != c.script || strings.Join(line.Run.Command, " ") != c.command {
				t.Errorf("locks %q and runs %q, %q (%v), want %q and %q, %q", line.Run.Name, script, line.Run.Command, err, c.names, c.script, c.command)
			}
		})
	}
}
