package main

import (
	"bytes"
	"context"
	"encoding"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

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

func TestUsage(t *testing.T) {
	masters := []string{"--masters", "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"}
	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"no arguments", nil, ""},
		{"no such command", []string{"lock"}, "lock"},
		{"no masters", []string{"run", "--name", "n", "true"}, "no masters are named: use --masters, REDLOCK_MASTERS, or a file with them and --config"},
		{"a comma behind the masters", []string{"inspect", "--masters", "a,b,", "n"}, "--masters[2]: not a Redis URL or host:port: no host"},
		{"a comma before the masters", []string{"inspect", "--masters", ",a,b", "n"}, "--masters[0]: not a Redis URL or host:port: no host"},
		{"no --", line("run", masters, "nightly", "./report.sh", "-v"), "put -- before the command: redlock run nightly -- ./report.sh -v"},
		{"no --, and masters behind", line("run", nil, "nightly", "./report.sh", "--masters", "m"), "put -- before the command: redlock run nightly -- ./report.sh"},
		{"a script behind the name", line("run", masters, "nightly", "-v", "-c", "true"), "put -c before the name: redlock run -c SCRIPT nightly"},
		{"no value", line("run", masters, "n", "--wait", "--", "true"), "--wait needs a value: --wait=DURATION (redlock run"},
		{"no value at the end", line("list", masters, "--limit"), "--limit needs a value: --limit=N ("},
		{"a value with a dash", line("run", masters, "n", "--lease", "-5s", "--", "true"), "--lease needs a value: --lease=30s, and \"-5s\" is none"},
		{"no name", line("run", masters, "true"), "redlock run NAME -- true"},
		{"no name, and a flag", line("run", masters, "ls", "-l"), "redlock run NAME -- ls -l"},
		{"no name and no command", line("run", masters), "redlock run NAME -- COMMAND"},
		{"no command after a name", line("run", masters, "n", "--"), "no command"},
		{"a script and a command", line("run", masters, "--name", "n", "-c", "true", "true"), "-c and a command"},
		{"a script and a command after --", line("run", masters, "-c", "true", "n", "--", "true"), "-c and a command"},
		{"a script after a command", line("run", masters, "sh", "-c", "true"), "redlock run NAME -- sh -c true"},
		{"an empty name in front of --", line("run", masters, "", "--", "true"), "the name of a lock is empty"},
		{"an unknown flag in front of --", line("run", masters, "n", "--nmae", "--", "true"), "unknown flag --nmae"},
		{"hold without a name", line("hold", masters), "redlock hold NAME"},
		{"hold an empty name", line("hold", masters, ""), "<name>: the name of a lock is empty"},
		{"hold names given twice", line("hold", masters, "a", "--name", "b"), "given twice: a, and \"b\" by --name"},
		{"long client name", line("inspect", masters, "--client-name", strings.Repeat("n", 101), "n"), "--client-name has 101 bytes"},
		{"inspect two names", line("inspect", masters, "--name", "a", "b"), "given twice"},
		{"a page for everybody", line("ui", masters, "--listen", ":7380"), "is no address of the loopback"},
		{"a page for others", line("ui", masters, "--listen", "192.0.2.1:7380"), "is no address of the loopback"},
		{"a page of nothing", line("ui", masters, "--limit", "0"), "--limit"},
		{"no command", line("run", masters, "--name", "n"), "command"},
		{"negative wait", line("run", masters, "--name", "n", "--wait=-1s", "--", "true"), "--wait"},
		{"wait and no wait", line("run", masters, "--name", "n", "--wait=1s", "--no-wait", "--", "true"), "--no-wait"},
		{"negative grace", line("run", masters, "--name", "n", "--grace=-1s", "--", "true"), "--grace"},
		{"empty name", line("run", masters, "--name=", "--", "true"), "--name: the name of a lock is empty"},
		{"lease of 0", line("run", masters, "--name", "n", "--lease=0", "--", "true"), "--lease: \"0\" is not a duration longer than 0"},
		{"lease too short", line("run", masters, "--name", "n", "--lease=1ms", "--", "true"), "--lease 1ms"},
		{"lease too long", line("run", masters, "--name", "n", "--lease=1000000h", "--", "true"), "is longer than 876000h"},
		{"node timeout of 0", line("run", masters, "--name", "n", "--node-timeout=0", "--", "true"), "--node-timeout: \"0\""},
		{"node timeout too short", line("inspect", masters, "--node-timeout=1us", "n"), "--node-timeout 1µs is shorter than 1ms"},
		{"node timeout of the lease", line("run", masters, "--name", "n", "--lease=2s", "--node-timeout=2s", "--", "true"), "--node-timeout 2s is not shorter than --lease 2s"},
		{"node timeout over the longest lease", line("inspect", masters, "--max-lease=2s", "--node-timeout=2s", "n"), "--node-timeout 2s is not shorter than --max-lease 2s"},
		{"max lease of 0", line("unlock", masters, "--force", "--max-lease=0", "n"), "--max-lease: \"0\""},
		{"max lease too short to look", line("inspect", masters, "--max-lease=1us", "n"), "--max-lease 1µs is too short"},
		{"guard under max", line("run", masters, "--name", "n", "--restart-guard=10s", "--", "true"), "--restart-guard 10s is shorter than --max-lease 30s"},
		{"guard and no guard", line("inspect", masters, "--restart-guard=30s", "--no-restart-guard", "n"), "--no-restart-guard cannot be used together"},
		{"reserved name", line("run", masters, "--name=redlock_wait:n", "--", "true"), "--name: the name of a lock begins with"},
		{"long name", line("run", masters, "--no-wait", "--name="+strings.Repeat("n", 1025), "--", "true"), "--name: the name of a lock has 1025 bytes"},
		{"inspect an empty name", line("inspect", masters, ""), "<name>: the name of a lock is empty"},
		{"unlock an empty name", line("unlock", masters, "--force", ""), "<name>: the name of a lock is empty"},
		{"lease over max", line("run", masters, "--name", "n", "--max-lease=10s", "--", "true"), "--max-lease 10s"},
		{"bad guard", line("run", masters, "--name", "n", "--restart-guard=often", "--", "true"), "often"},
		{"bad URL", []string{"run", "--masters", "http://:open-sesame@x", "--name", "n", "--", "true"}, "--masters[0]: not a Redis URL"},
		{"one master twice", []string{"run", "--masters", "m:1,m:1,m:2", "--name", "n", "--", "true"}, "--masters has the same master twice, as 0 and 1: m:1"},
		{"empty masters", []string{"run", "--masters=", "--name", "n", "--", "true"}, "no masters are named: use --masters, REDLOCK_MASTERS, or a file"},
		{"several to read, by hold", line("hold", masters, "--shared", "a", "b"), "--shared takes one <name>, not 2"},
		{"permits of several", line("run", masters, "--permits", "2", "a", "b", "--", "true"), "--permits takes one --name, not 2"},
		{"no permits", line("run", masters, "--permits", "0", "n", "--", "true"), "--permits: \"0\" is not a number from 1 to 1000"},
		{"too many permits", line("run", masters, "--permits", "1001", "n", "--", "true"), "--permits: \"1001\" is not a number"},
		{"permits in words", line("run", masters, "--permits", "many", "n", "--", "true"), "--permits: \"many\" is not a number"},
		{"a slot of no permit", line("unlock", masters, "--slot", "1", "n"), "--slot is about a permit"},
		{"unlock permits without force", line("unlock", masters, "--permits", "gpu"), "redlock inspect --permits gpu"},
		{"inspect without a name", line("inspect", masters), "name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			command(t, c.args...).start().wantCode(exitUsage).wantError(c.says)
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

// A flag means what its text says: 0 does not stand for the default, nor a negative duration for "off".
func TestDurations(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		text                      string
		positive, patience, guard time.Duration // bad where it is refused
	}{
		{"30s", 30 * s, 30 * s, 30 * s},
		{"0", bad, 0, -1},
		{"0s", bad, 0, -1},
		{"-1s", bad, bad, bad},
		{"30", bad, bad, bad},
		{"off", bad, bad, -1},
		{"on", bad, bad, bad},
		{"", bad, bad, bad},
	} {
		var p positive
		wantDuration(t, "positive", c.text, &p, (*time.Duration)(&p), c.positive)
		var w patience
		wantDuration(t, "patience", c.text, &w, (*time.Duration)(&w), c.patience)
		var g guard
		wantDuration(t, "guard", c.text, &g, (*time.Duration)(&g), c.guard)
	}
}

// bad stands for text that is refused.
const bad = time.Duration(math.MinInt64)

func wantDuration(t *testing.T, kind, text string, u encoding.TextUnmarshaler, got *time.Duration, want time.Duration) {
	t.Helper()
	err := u.UnmarshalText([]byte(text))
	if err != nil && strings.Contains(err.Error(), strconv.Quote(text)) {
		*got = bad
	}
	if *got != want {
		t.Errorf("%s from %q = %v, %v, want %v", kind, text, *got, err, want)
	}
}

func TestDescribe(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.0", Main: debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}},
	}
	if got, want := describe(info), "redlock v1.2.3 0123456789ab+changes go1.26.0"; got != want {
		t.Errorf("describe = %q, want %q", got, want)
	}
	if got, want := describe(&debug.BuildInfo{}), "redlock (devel)"; got != want {
		t.Errorf("describe of nothing = %q, want %q", got, want)
	}
}

func TestPlainLog(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(newPlainLog(&out))
	log.Info("not shown")
	log.Warn("two words")
	log.With("name", "n").WithGroup("g").Warn("redlock: renewal failed", "left", time.Second, "err", errors.New("a b"))
	want := "redlock: two words\nredlock: renewal failed name=n g.left=1s g.err=\"a b\"\n"
	if out.String() != want {
		t.Errorf("plainLog wrote\n%s\nwant\n%s", &out, want)
	}
}
