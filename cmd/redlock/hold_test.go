//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"example.com/redlock/redlocktest"
)

// holding starts redlock hold and waits for what it prints.
func holding(t *testing.T, args ...string) (i *invocation, in *os.File, told string) {
	t.Helper()
	i, in = withStdin(t, command(t, args...))
	eventually(t, "the lock is held", func() bool {
		if i.exited() {
			t.Fatalf("redlock %v ended with %d", i.cmd.Args[1:], i.code())
		}
		return strings.HasSuffix(i.stdout.String(), "\n")
	})
	return i, in, i.stdout.String()
}

func (i *invocation) exited() bool {
	select {
	case <-i.ended:
		return true
	default:
		return false
	}
}

// What is printed for each kind of hold, for people and as JSON.
func TestHoldPrints(t *testing.T) {
	fleet, flags := masters(t, 3)
	flags = append(flags, "--node-timeout=5s") // long enough for a busy machine
	for _, c := range []struct {
		args  []string
		env   string
		lines []string // T stands for a token
		names []string
		slot  bool
	}{
		{args: []string{"n"}, lines: []string{"T"}, names: []string{"n"}},
		{args: []string{"--name", "n"}, lines: []string{"T"}, names: []string{"n"}},
		{args: []string{"n"}, env: "REDLOCK_NAME=other", lines: []string{"T"}, names: []string{"n"}},
		{args: nil, env: "REDLOCK_NAME=n", lines: []string{"T"}, names: []string{"n"}},
		{args: []string{"two words", "b", "a", "b"}, lines: []string{"T a", "T b", "T two words"}, names: []string{"a", "b", "two words"}},
		{args: []string{"n", "--shared"}, lines: []string{"T"}, names: []string{"n"}},
		{args: []string{"n", "--permits", "3"}, lines: []string{"T S"}, names: []string{"n"}, slot: true},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			env := func(i *invocation) *invocation {
				if c.env != "" {
					i.env(c.env)
				}
				return i
			}
			i, in := withStdin(t, env(command(t, line("hold", flags, c.args...)...)))
			eventually(t, "all lines are there", func() bool { return strings.Count(i.stdout.String(), "\n") == len(c.lines) })
			for k, got := range strings.Split(strings.TrimSuffix(i.stdout.String(), "\n"), "\n") {
				token, rest, _ := strings.Cut(got, " ")
				_, want, _ := strings.Cut(c.lines[k], " ")
				if c.slot {
					want = rest
					if n, err := strconv.Atoi(rest); err != nil || n < 0 || n > 2 {
						t.Errorf("line %q: the slot is not from 0 to 2", got)
					}
				}
				if n, err := strconv.ParseInt(token, 10, 64); err != nil || n <= 0 || rest != want {
					t.Errorf("line %d is %q, want %q", k, got, c.lines[k])
				}
			}
			in.Close()
			i.wantCode(0)
			if i.stderr.String() != "" {
				t.Errorf("stderr is %q, want nothing", &i.stderr)
			}
			eventually(t, "all is free", func() bool {
				return !slices.ContainsFunc(c.names, func(name string) bool { return !free(fleet, name) })
			})

			i, in = withStdin(t, env(command(t, line("hold", append(flags, "--json"), c.args...)...)))
			eventually(t, "a line is there", func() bool { return strings.HasSuffix(i.stdout.String(), "\n") })
			var got heldReport
			if err := json.Unmarshal([]byte(i.stdout.String()), &got); err != nil || strings.Count(i.stdout.String(), "\n") != 1 {
				t.Fatalf("hold --json prints %q: %v, want one object on one line", &i.stdout, err)
			}
			var names []string
			for _, one := range got.Held {
				names = append(names, one.Name)
				if one.Token <= 0 || one.Owner == "" || (one.Slot != nil) != c.slot {
					t.Errorf("hold --json: %+v", one)
				}
			}
			if !slices.Equal(names, c.names) {
				t.Errorf("hold --json names %q, want %q", names, c.names)
			}
			in.Close()
			i.wantCode(0)
		})
	}
}

// A signal ends the hold, and the lock is free at once.
func TestHoldSignal(t *testing.T) {
	fleet, flags := masters(t, 3)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(sig) {
			continue // as under nohup: what was ignored stays ignored
		}
		i, _, _ := holding(t, line("hold", flags, "n")...)
		command(t, line("run", flags, "n", "--no-wait", "--", "true")...).start().wantCode(exitTaken)
		i.signal(syscall.SIGUSR1) // means nothing here
		i.signal(sig)
		i.wantCode(128 + int(sig))
		eventually(t, "the lock is free", func() bool { return free(fleet, "n") })
	}
}

// The null device is at its end from the start. Then only a signal ends the hold: cron, services and
// background jobs of a script have that for stdin.
func TestHoldWithoutStdin(t *testing.T) {
	fleet, flags := masters(t, 3)
	i := command(t, line("hold", flags, "--lease=600ms", "n")...).start() // os/exec opens the null device
	eventually(t, "the lock is held", func() bool { return strings.HasSuffix(i.stdout.String(), "\n") })
	left := fleet.Master(1).TTL("n")
	eventually(t, "the hold is renewed", func() bool {
		now := fleet.Master(1).TTL("n")
		renewed := now > left
		left = now
		return renewed
	})
	i.signal(syscall.SIGTERM)
	i.wantCode(128 + 15)
	eventually(t, "the lock is free", func() bool { return free(fleet, "n") })
}

// A hold that is lost ends redlock at once, although stdin is open.
func TestHoldLost(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(*redlocktest.Fleet){
		"no majority": func(fleet *redlocktest.Fleet) { fleet.Master(0).Kill(); fleet.Master(1).Kill() },
		"freed":       func(fleet *redlocktest.Fleet) { _, _ = client(t, fleet).ForceUnlock(t.Context(), "n") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fleet, flags := masters(t, 3)
			i, _, _ := holding(t, line("hold", flags, "--lease=1s", "n")...)
			harm(fleet)
			i.wantCode(exitLost)
			i.wantError(`the hold of "n" was lost`)
		})
	}
}

// A token that nobody can read is no hold.
func TestHoldCannotPrint(t *testing.T) {
	fleet, flags := masters(t, 3)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here:", err)
	}
	defer full.Close()
	i := command(t, line("hold", flags, "n")...)
	i.cmd.Stdout = full
	i, _ = withStdin(t, i)
	i.wantCode(exitSoftware)
	i.wantError("no space left")
	eventually(t, "the lock is free", func() bool { return free(fleet, "n") })
}

// The scripts of the help work in a real shell.
func TestHoldAsCoprocess(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here:", err)
	}
	page := readFile(t, "../../docs/command.md")
	if block := strings.TrimPrefix(strings.ReplaceAll(coprocess, "\n  ", "\n"), "\n"); !strings.Contains(page, "```bash\n"+block+"```") {
		t.Errorf("docs/command.md has another script than\n%s", block)
	}
	fleet := redlocktest.Start(t, 3)
	for _, c := range []struct {
		name, work string
		want       int
		says       string
	}{
		{"works", `echo "token $token"`, 0, "token "},
		{"is lost", `redlock unlock --force nightly >/dev/null; for i in {1..100}; do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done`, exitLost, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			script := strings.Replace(coprocess, "./report.sh", c.work, 1)
			if script == coprocess {
				t.Fatal("the example has no ./report.sh")
			}
			out, code := inShell(t, bash, fleet, script)
			if code != c.want || !strings.Contains(out, c.says) {
				t.Errorf("the script ends with %d, want %d, and says\n%s", code, c.want, out)
			}
			eventually(t, "the lock is free", func() bool { return free(fleet, "nightly") })
		})
	}
	t.Run("taken", func(t *testing.T) {
		take(t, fleet, "nightly")
		out, code := inShell(t, bash, fleet, strings.Replace(coprocess, "hold nightly", "hold nightly --no-wait", 1))
		if code != exitTaken || !strings.Contains(out, "not locked") {
			t.Errorf("the script ends with %d, want %d, and says\n%s", code, exitTaken, out)
		}
	})
}

// A shell that dies takes the hold with it.
func TestHoldEndsWithTheShell(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here:", err)
	}
	fleet := redlocktest.Start(t, 3)
	out, _ := inShell(t, bash, fleet, strings.Replace(coprocess, "./report.sh", "kill -KILL $$", 1))
	eventually(t, "the lock is free", func() bool { return free(fleet, "nightly") })
	if strings.Contains(out, "lost") {
		t.Errorf("the hold was lost and not released:\n%s", out)
	}
}

// inShell runs a script in which redlock is this program, and returns what it says and its exit code.
func inShell(t *testing.T, shell string, fleet *redlocktest.Fleet, script string) (out string, code int) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "redlock")); err != nil {
		t.Fatal(err)
	}
	i := command(t).env("REDLOCK_MASTERS="+strings.Join(fleet.URLs(), ","), "REDLOCK_RESTART_GUARD=off", "REDLOCK_LEASE=1s",
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	i.cmd.Path, i.cmd.Args, i.cmd.Dir = shell, []string{shell, "-c", script}, bin
	i, _ = withStdin(t, i)
	code = i.code()
	return i.stdout.String() + i.stderr.String(), code
}
