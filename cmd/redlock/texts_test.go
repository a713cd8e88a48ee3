//go:build unix

package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// To update the file, or to have the output of a line that was added: go test . -run TestTexts -update
// Where another exit code is right, remove the old one first: on a busy machine it may be a fault.
var update = flag.Bool("update", false, "update the files of testdata")

// first does something to the first n masters.
func first(n int, do func(*redlocktest.Master)) func(*testing.T, *redlocktest.Fleet) {
	return func(_ *testing.T, fleet *redlocktest.Fleet) {
		for _, m := range fleet.Masters()[:n] {
			do(m)
		}
	}
}

// taken has another client hold what the scene is about. It waits until each master has that, and knows that client, and
// makes the third master answer last, so that it is always the same masters that decide.
func taken(key string, options ...redlock.Option) func(*testing.T, *redlocktest.Fleet) {
	return func(t *testing.T, fleet *redlocktest.Fleet) {
		take(t, fleet, "nightly", options...)
		check.Eventually(t, "all masters have it, and know whose it is", func() bool {
			return !slices.ContainsFunc(fleet.Masters(), func(m *redlocktest.Master) bool {
				return m.Holder(key) == "" || !slices.ContainsFunc(m.Keys(), func(key string) bool { return strings.HasPrefix(key, "redlock_client:") })
			})
		})
		fleet.Master(2).Delay(150 * time.Millisecond)
	}
}

// states are what masters may be like when a command asks them. Other scenes have three that are well.
var states = map[string]func(*testing.T, *redlocktest.Fleet){
	"another process has the lock":        taken("nightly"),
	"another process reads":               taken("nightly", redlock.Shared()),
	"another process has the only permit": taken("redlock_slot:{nightly}:0", redlock.Permits(1)),
	"two masters are dead":                first(2, (*redlocktest.Master).Kill),
	"two masters have no memory":          first(2, func(m *redlocktest.Master) { m.Refuse("OOM command not allowed when used memory > 'maxmemory'.") }),
	"two masters want a password":         first(2, func(m *redlocktest.Master) { m.Password("open-sesame") }),
	"all masters want a password":         first(3, func(m *redlocktest.Master) { m.Password("open-sesame") }),
	"all masters restarted":               first(3, (*redlocktest.Master).Restart),
}

// TestTexts: what the user of the command reads, word for word, is in testdata/texts.txt. Read changes
// to that file aloud.
//
// The lines that begin with $ are what a shell runs, in an empty folder. $M is flags that name three masters,
// and redlock.toml a file that does. A line above them may say what these are like. Where a line ends with
// "# TERM at: …", the command gets TERM once stderr has said that.
func TestTexts(t *testing.T) {
	t.Parallel()
	const file = "testdata/texts.txt"
	text := check.File(t, file)
	exits := regexp.MustCompile(`(?m)^exit code \d+\z`)
	head := regexp.MustCompile(`(?m)^(?:# (.*)\n)?\$ (.*?)(?: # TERM at: (.*))?$`)
	places := head.FindAllStringIndex(text, -1)
	got, bin := make([]string, len(places)), redlockIn(t)
	t.Run("scenes", func(t *testing.T) { // returns when all have ended
		for i, place := range places {
			end := len(text)
			if i+1 < len(places) {
				end = places[i+1][0]
			}
			want := strings.TrimSpace(text[place[0]:end])
			of := head.FindStringSubmatch(want)
			t.Run(of[2], func(t *testing.T) {
				t.Parallel()
				says := scene{state: of[1], line: of[2], until: of[3]}.play(t, bin)
				got[i] = of[0] + "\n" + says
				if known := exits.FindString(want); got[i] != want && (!*update || known != "" && exits.FindString(says) != known) {
					t.Errorf("got\n%s\nwant\n%s", got[i], want)
				}
			})
		}
	})
	if *update && !t.Failed() {
		check.OK(t, os.WriteFile(file, []byte(strings.Join(got, "\n\n")+"\n"), 0o600))
	}
}

// redlockIn returns a folder that has redlock.
func redlockIn(t *testing.T) string {
	t.Helper()
	program, err := os.Executable()
	check.OK(t, err)
	bin := t.TempDir()
	check.OK(t, os.Symlink(program, filepath.Join(bin, "redlock")))
	return bin
}

// scene is a line of a shell that says something.
type scene struct{ state, line, until string }

// play runs the line and returns what it printed, and its exit code.
func (s scene) play(t *testing.T, bin string) string {
	fleet, run := redlocktest.Start(t, 3), s.line
	if s.state != "" {
		if states[s.state] == nil {
			t.Fatalf("nobody knows how %q is made", s.state)
		}
		states[s.state](t, fleet)
	}
	if s.until != "" {
		run = "exec " + run // TERM is not for the shell
	}
	start := func() *invocation {
		i := command(t).env("PATH="+bin+":"+os.Getenv("PATH"), "M=--masters "+strings.Join(fleet.URLs(), ","), "REDLOCK_NODE_TIMEOUT=5s") // long enough for a busy machine
		i.cmd.Path, i.cmd.Args, i.cmd.Dir = "/bin/sh", []string{"sh", "-c", run}, t.TempDir()
		file := fmt.Sprintf("masters = %q\nrestart_guard = \"off\"\nname = \"nightly\"\nwait = \"0s\"\nlease = \"20s\"\n", fleet.URLs())
		check.OK(t, os.WriteFile(filepath.Join(i.cmd.Dir, "redlock.toml"), []byte(strings.ReplaceAll(file, `" "`, `", "`)), 0o600))
		i.start()
		t.Cleanup(func() {
			if !i.exited() {
				_ = syscall.Kill(-i.cmd.Process.Pid, syscall.SIGKILL) // the shell, and what it has started
			}
		})
		return i
	}
	i := start()
	for s.state == "another process has the lock" && s.until == "" && i.code() == exitTaken && !strings.Contains(i.stderr.String(), ") for ") {
		i = start() // a busy machine found out too late who has it
	}
	if s.until != "" {
		check.Eventually(t, "redlock says "+s.until, func() bool {
			return i.exited() || slices.ContainsFunc(connected(i.stderr.String()), func(line string) bool { return strings.Contains(line, s.until) })
		})
		i.signal(syscall.SIGTERM)
	}
	code := i.code()
	return fmt.Sprintf("%s%sexit code %d", normalized(fleet, i.stdout.String()), settled(normalized(fleet, i.stderr.String())), code)
}

// normalized has the same names for masters and others each time, and the same times.
func normalized(fleet *redlocktest.Fleet, says string) string {
	for k, url := range fleet.URLs() {
		says = strings.ReplaceAll(says, strings.TrimPrefix(url, "redis://"), fmt.Sprintf("m%d:6379", k+1))
	}
	for _, n := range normal {
		says = n.what.ReplaceAllString(says, n.with)
	}
	return says
}

// normal replaces what differs each time.
var normal = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}:r?\d+`), "OWNER"},
	{regexp.MustCompile(`\b[1-9]\d{15}\b`), "TOKEN"},
	{regexp.MustCompile(` on \S+ \(pid \d+\)`), " on HOST (pid PID)"},
	{regexp.MustCompile(`(another |does in |at most |left=|\) for )\d[0-9.hmsµ]*`), "${1}TIME"},
	{regexp.MustCompile(`[0-9a-f]{8}:r(\d+ +\d+ +)[0-9.ms]+ +`), "OWNER:r${1}TIME "},
	{regexp.MustCompile(`("(?:id|host|pid|program|version|since|set|holds|waits|\w+_ms)": )(?:"[^"]*"|\d+)`), "$1…"},
	{regexp.MustCompile(`\(\d of 3`), "(N of 3"},             // the third may vote before the others have decided
	{regexp.MustCompile(`; m3:6379: not connected yet`), ""}, // the third may not be connected yet
	{regexp.MustCompile(` +\n`), "\n"},
	{regexp.MustCompile(`MASTER +HELD +WAITING`), "MASTER HELD WAITING"},             // the column width depends on the port
	{regexp.MustCompile(`MASTER +HOLDER .*TOKEN`), "MASTER HOLDER COUNT LEFT TOKEN"}, // the column width depends on the port
	{regexp.MustCompile(`(m\d:6379) +`), "$1 "},
}

// connected returns the lines of stderr about the masters once the command has connected to all of
// them. On a busy machine an earlier line names only some masters, or no place in the line, and is followed by another.
func connected(stderr string) []string {
	return slices.DeleteFunc(slices.Collect(strings.Lines(stderr)), func(line string) bool {
		early := strings.Contains(line, "redlock: waiting for") && strings.Contains(line, "not connected yet")
		return early || strings.Contains(stderr, strings.TrimSuffix(line, "\n")+"; next in line\n")
	})
}

// settled sorts the lines of stderr, except the last, so that the order does not depend on which
// master answered first.
func settled(stderr string) string {
	lines := connected(stderr)
	if len(lines) > 1 {
		slices.Sort(lines[:len(lines)-1])
	}
	return strings.Join(lines, "")
}
