//go:build unix

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlocktest"
)

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
				check.Eventually(t, "the lock is free", func() bool { return free(fleet, "nightly") })
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
