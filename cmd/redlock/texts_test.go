//go:build unix

package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/redlock/redlocktest"
)

// To update the file: go test ./cmd/redlock -run TestTexts -update
var update = flag.Bool("update", false, "update testdata/texts.txt")

// scene is a command line that goes wrong.
type scene struct {
	args  string // NAMES stands for the masters
	when  string
	do    func(t *testing.T, fleet *redlocktest.Fleet)
	until string // what stderr says before TERM ends it; empty: it ends by itself
	says  string // it is run again until stderr says this, which a busy machine may find out too late
}

const off = "--no-restart-guard"

func first(do func(*redlocktest.Master)) func(*testing.T, *redlocktest.Fleet) {
	return func(_ *testing.T, fleet *redlocktest.Fleet) {
		for _, m := range fleet.Masters()[:2] {
			do(m)
		}
	}
}

// taken has another client hold the lock.
func taken(t *testing.T, fleet *redlocktest.Fleet) {
	take(t, fleet, "nightly")
	everywhere(t, fleet, func(m *redlocktest.Master) bool { return m.Holder("nightly") != "" })
}

// reading has another client read what the scene is about.
func reading(t *testing.T, fleet *redlocktest.Fleet) {
	if _, err := client(t, fleet).RLock(t.Context(), "nightly"); err != nil {
		t.Fatal(err)
	}
	everywhere(t, fleet, func(m *redlocktest.Master) bool { return m.Holder("nightly") != "" })
}

// permitted has another client hold the one permit.
func permitted(t *testing.T, fleet *redlocktest.Fleet) {
	if _, err := client(t, fleet).Semaphore("nightly", 1).Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	everywhere(t, fleet, func(m *redlocktest.Master) bool { return len(m.ZSet("redlock_slots:{nightly}")) > 0 })
}

// everywhere waits until each master has what another client took, and knows that client. It makes the third
// master answer last, so that it is always the same masters that decide.
func everywhere(t *testing.T, fleet *redlocktest.Fleet, has func(*redlocktest.Master) bool) {
	t.Helper()
	eventually(t, "all masters have it, and know whose it is", func() bool {
		return !slices.ContainsFunc(fleet.Masters(), func(m *redlocktest.Master) bool {
			return !has(m) || !slices.ContainsFunc(m.Keys(), func(key string) bool { return strings.HasPrefix(key, "redlock_client:") })
		})
	})
	fleet.Master(2).Delay(150 * time.Millisecond)
}

func refusing(msg string) func(*testing.T, *redlocktest.Fleet) {
	return first(func(m *redlocktest.Master) { m.Refuse(msg) })
}

func text(m *redlocktest.Master) { m.Set("nightly", "text") }

var scenes = []scene{
	{args: "run NAMES " + off + " --name nightly --no-wait -- true", when: "another process has the lock", do: taken, says: ") for "},
	{args: "run NAMES " + off + " --name nightly --wait 500ms -- true", when: "two masters are dead", do: first((*redlocktest.Master).Kill)},
	{args: "run NAMES " + off + " --name nightly --no-wait -- true", when: "two masters are replicas", do: first(func(m *redlocktest.Master) { m.SetRole("slave") })},
	{args: "run NAMES " + off + " --name nightly -- true", when: "a password is missing", do: first(func(m *redlocktest.Master) { m.Password("secret") })},
	{args: "run NAMES " + off + " --name nightly -- true", when: "the key is something else", do: first(text)},
	{args: "run NAMES " + off + " --name nightly -- true", when: "permissions are missing", do: refusing("NOPERM this user has no permissions to run the 'evalsha' command")},
	{args: "run NAMES " + off + " --name nightly -- true", when: "two masters have no memory", do: refusing("OOM command not allowed when used memory > 'maxmemory'."), until: "waiting for a quorum"},
	{args: "run NAMES --name nightly -- true", when: "all masters restarted", do: func(_ *testing.T, fleet *redlocktest.Fleet) {
		for _, m := range fleet.Masters() {
			m.Restart()
		}
	}, until: "waiting for masters"},
	{args: "run NAMES " + off + " nightly -- true", when: "another process has the lock", do: taken, until: "still waiting"},
	{args: "hold NAMES " + off + " nightly", when: "another process has the lock", do: taken, until: "still waiting"},
	{args: "list NAMES", when: "nothing is held"},
	{args: "list NAMES", when: "two masters are dead", do: first((*redlocktest.Master).Kill)},
	{args: "clients NAMES", when: "nobody uses the masters"},
	{args: "clients NAMES", when: "two masters are dead", do: first((*redlocktest.Master).Kill)},
	{args: "run NAMES " + off + " --name nightly --name weekly --no-wait -- true", when: "another process has one of two locks", do: taken, says: ") for "},
	{args: "run NAMES " + off + " --name nightly --no-wait -- true", when: "another process reads", do: reading},
	{args: "run NAMES " + off + " --name nightly --shared --no-wait -- true", when: "another process has the lock, and this one wants to read", do: taken, says: ") for "},
	{args: "run NAMES " + off + " --name nightly --permits 1 --no-wait -- true", when: "another process has the only permit", do: permitted},
	{args: "run NAMES " + off + " --permits 1 nightly -- true", when: "another process has the only permit", do: permitted, until: "still waiting"},
	{args: "run NAMES " + off + " --name nightly --name weekly --shared -- true", when: "two names are to be read"},
	{args: "run NAMES " + off + " --name nightly --shared --permits 3 -- true", when: "a permit is to be read"},
	{args: "inspect NAMES --permits nightly", when: "two masters are dead", do: first((*redlocktest.Master).Kill)},
	{args: "inspect NAMES nightly", when: "two masters are dead", do: first((*redlocktest.Master).Kill)},
	{args: "inspect NAMES nightly", when: "the key is something else", do: first(text)},
	{args: "unlock NAMES --force nightly", when: "two masters are dead", do: first((*redlocktest.Master).Kill)},
	{args: "unlock NAMES nightly", when: "--force is missing"},
}

// TestTexts: what the user of the command reads, word for word, is in testdata/texts.txt. Read changes
// to that file aloud.
func TestTexts(t *testing.T) {
	t.Parallel()
	got := make([]string, len(scenes))
	t.Run("scenes", func(t *testing.T) { // returns when all have ended
		for i, s := range scenes {
			t.Run(s.args+", "+s.when, func(t *testing.T) {
				t.Parallel()
				got[i] = fmt.Sprintf("# %s\n$ redlock %s\n%s\n", s.when, strings.Replace(s.args, " NAMES", "", 1), s.play(t))
			})
		}
	})
	golden(t, "testdata/texts.txt", strings.Join(got, ""))
}

// golden compares got with the text of a file, which -update writes.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// play runs the command and returns what it printed, and its exit code.
func (s scene) play(t *testing.T) string {
	fleet := redlocktest.Start(t, 3)
	urls := fleet.URLs()
	if s.do != nil {
		s.do(t, fleet)
	}
	args := strings.Fields(strings.Replace(s.args, "NAMES", "--node-timeout 5s --masters "+strings.Join(urls, ","), 1)) // long enough for a busy machine
	plain := func(says string) string {
		for k, url := range urls {
			says = strings.ReplaceAll(says, strings.TrimPrefix(url, "redis://"), fmt.Sprintf("m%d:6379", k+1))
		}
		for _, n := range normal {
			says = n.what.ReplaceAllString(says, n.with)
		}
		return says
	}
	i := command(t, args...).start()
	for s.says != "" && i.code() >= 0 && !strings.Contains(plain(i.stderr.String()), s.says) {
		i = command(t, args...).start()
	}
	if s.until != "" {
		eventually(t, "redlock says "+s.until, func() bool { return slices.ContainsFunc(connected(i.stderr.String()), s.told) })
		i.signal(syscall.SIGTERM)
	}
	code := i.code()
	return fmt.Sprintf("%s%sexit code %d\n", plain(i.stdout.String()), settled(plain(i.stderr.String())), code)
}

// normal replaces what differs each time.
var normal = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}:r?\d+`), "OWNER"},
	{regexp.MustCompile(` on \S+ \(pid \d+\)`), " on HOST (pid PID)"},
	{regexp.MustCompile(`(another |does in |left=|\) for )[0-9.hmsµ]+`), "${1}TIME"},
	{regexp.MustCompile(`\(\d of 3`), "(N of 3"},             // the third may vote before the others have decided
	{regexp.MustCompile(`; m3:6379: not connected yet`), ""}, // the third may not be connected yet
	{regexp.MustCompile(` +\n`), "\n"},
	{regexp.MustCompile(`MASTER +HELD +WAITING`), "MASTER HELD WAITING"},             // the column width depends on the port
	{regexp.MustCompile(`MASTER +HOLDER .*TOKEN`), "MASTER HOLDER COUNT LEFT TOKEN"}, // the column width depends on the port
	{regexp.MustCompile(`(m\d:6379) +`), "$1 "},
}

// told reports whether line is the one that the scene waits for.
func (s scene) told(line string) bool { return strings.Contains(line, s.until) }

// connected returns the lines of stderr about the masters once the command has connected to all of
// them. On a busy machine an earlier line names only some masters, and is followed by another.
func connected(stderr string) []string {
	return slices.DeleteFunc(slices.Collect(strings.Lines(stderr)), func(line string) bool {
		return strings.Contains(line, "redlock: waiting for") && strings.Contains(line, "not connected yet")
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
