//go:build unix

package main

import (
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlockadmin"
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
		i.endsBy(sig)
		eventually(t, "the lock is free", func() bool { return free(fleet, "n") })
	}
}

// The null device is at its end from the start. Then only a signal ends the hold: cron, services and
// background jobs of a script have that for stdin. One that is closed is as one with it.
func TestHoldWithoutStdin(t *testing.T) {
	for name, shell := range map[string]string{"null device": `exec "$0" "$@"`, "closed": `exec "$0" "$@" <&-`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			holdWithoutStdin(t, shell)
		})
	}
}

func holdWithoutStdin(t *testing.T, shell string) {
	fleet, flags := masters(t, 3)
	i := command(t, line("hold", flags, lasting, "n")...) // os/exec opens the null device
	i.cmd.Path, i.cmd.Args = "/bin/sh", append([]string{"sh", "-c", shell}, i.cmd.Args...)
	i.start()
	eventually(t, "the lock is held", func() bool { return strings.HasSuffix(i.stdout.String(), "\n") })
	left := fleet.Master(1).TTL("n")
	eventually(t, "the hold is renewed", func() bool {
		now := fleet.Master(1).TTL("n")
		renewed := now > left
		left = now
		return renewed
	})
	i.endsBy(syscall.SIGTERM)
	eventually(t, "the lock is free", func() bool { return free(fleet, "n") })
}

// A hold that is lost ends redlock at once, although stdin is open.
func TestHoldLost(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(*redlocktest.Fleet){
		"no majority": func(fleet *redlocktest.Fleet) { fleet.Master(0).Kill(); fleet.Master(1).Kill() },
		"freed":       func(fleet *redlocktest.Fleet) { _, _ = redlockadmin.Of(client(t, fleet)).ForceUnlock(t.Context(), "n") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fleet, flags := masters(t, 3)
			i, _, _ := holding(t, line("hold", flags, lasting, "n")...)
			harm(fleet)
			i.wantCode(exitLost).wantError(`the hold of "n" was lost`)
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
	i.wantCode(exitSoftware).wantError("no space left")
	eventually(t, "the lock is free", func() bool { return free(fleet, "n") })
}

// The scripts of the help work in a real shell.
func TestHoldAsCoprocess(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here:", err)
	}
	page := check.File(t, "../../docs/command.md")
	if block := strings.TrimPrefix(strings.ReplaceAll(manual("coprocess"), "\n  ", "\n"), "\n"); !strings.Contains(page, "```bash\n"+block+"```") {
		t.Errorf("docs/command.md has another script than\n%s", block)
	}
	fleet := redlocktest.Start(t, 3)
	for _, c := range []struct {
		name, part, instead string
		want                int
		says                string
	}{
		{"works", "./report.sh", `echo "token $token"`, 0, "token "},
		{"is lost", "./report.sh", `redlock unlock --force nightly >/dev/null; for i in {1..100}; do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done`, exitLost, "was lost"},
		{"the shell dies", "./report.sh", "kill -KILL $$", -1, ""},
		{"taken", "hold nightly", "hold nightly --no-wait", exitTaken, "not locked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.want == exitTaken {
				take(t, fleet, "nightly")
			}
			out, code := inShell(t, bash, fleet, strings.Replace(manual("coprocess"), c.part, c.instead, 1))
			if code != c.want || !strings.Contains(out, c.says) || strings.Contains(out, "lost") != (c.want == exitLost) {
				t.Errorf("the script ends with %d, want %d, and says\n%s", code, c.want, out)
			}
			if c.want != exitTaken {
				eventually(t, "the lock is free", func() bool { return free(fleet, "nightly") })
			}
		})
	}
}

// inShell runs a script in which redlock is this program, and returns what it says and its exit code.
func inShell(t *testing.T, shell string, fleet *redlocktest.Fleet, script string) (out string, code int) {
	t.Helper()
	bin := redlockIn(t)
	i := command(t).env("REDLOCK_MASTERS="+strings.Join(fleet.URLs(), ","), "REDLOCK_RESTART_GUARD=off", "REDLOCK_LEASE=1s",
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	i.cmd.Path, i.cmd.Args, i.cmd.Dir = shell, []string{shell, "-c", script}, bin
	i, _ = withStdin(t, i)
	code = i.code()
	return i.stdout.String() + i.stderr.String(), code
}
