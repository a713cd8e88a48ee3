package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/redisserver"
)

// completions are what is typed before a tab, and what the line must be then.
var completions = []struct{ typed, want string }{
	{"redlock ins", "redlock inspect "},
	{"redlock run --no-w", "redlock run --no-wait "},
	{"redlock hold n --js", "redlock hold n --json "},
	{"redlock inspect --tls-ca ca", "redlock inspect --tls-ca ca-cert.pem "},
	{"redlock inspect --tls-ca=ca", "redlock inspect --tls-ca=ca-cert.pem "},
	{"redlock demo --html ca", "redlock demo --html ca-cert.pem "},
	{"redlock completion fi", "redlock completion fish "},
	{"redlock help exit", "redlock help exit-codes "},
	{"redlock run n -- ca-c", "redlock run n -- ca-command "},
	{"redlock run n -- cat ca-ce", "redlock run n -- cat ca-cert.pem "},
}

// shellBin has redlock and another command in a folder, and files in another one.
func shellBin(t *testing.T) (bin, work string) {
	t.Helper()
	bin, work = redlockIn(t), t.TempDir()
	for path, mode := range map[string]os.FileMode{filepath.Join(bin, "ca-command"): 0o700, filepath.Join(work, "ca-cert.pem"): 0o600} {
		check.OK(t, os.WriteFile(path, nil, mode))
	}
	return bin, work
}

// fish says what it would complete.
func TestCompletionFishLong(t *testing.T) {
	fish, err := redisserver.Need("fish", "fish", func() string {
		path, _ := exec.LookPath("fish")
		return path
	})
	if errors.Is(err, redisserver.ErrMissing) {
		t.Skip(err)
	}
	check.OK(t, err)
	bin, work := shellBin(t)
	for _, c := range completions {
		i := command(t).env("PATH="+bin+":"+os.Getenv("PATH"), "HOME="+work)
		i.cmd.Path, i.cmd.Args, i.cmd.Dir = fish, []string{"fish", "--no-config", "-c", "redlock completion fish | source; complete -C '" + c.typed + "'"}, work
		i.start().wantCode(0)
		want := c.want[strings.LastIndex(strings.TrimSuffix(c.want, " "), " ")+1:]
		if !strings.HasPrefix(i.stdout.String(), strings.TrimSpace(want)) {
			t.Errorf("fish completes %q to %q, want %q", c.typed, &i.stdout, want)
		}
	}
}

// bash completes the names of locks, which the masters of the environment know. It ends words at colons. A name that
// somebody else chose runs nothing, neither now nor as part of the line.
func TestCompletionOfNames(t *testing.T) {
	bin, work := shellBin(t)
	fleet, _ := masters(t, 3)
	for _, name := range []string{"orders:42", "orders:43", "invoices", "$(touch ran)", "two words; touch ran", "s*"} {
		take(t, fleet, name)
	}
	for _, c := range []struct{ typed, words, want string }{
		{"redlock inspect ord", "redlock inspect ord", "orders:42 orders:43"},
		{"redlock inspect orders:", "redlock inspect orders :", "42 43"},
		{"redlock unlock --force orders:4", "redlock unlock --force orders : 4", "42 43"},
		{"redlock run inv", "redlock run inv", "invoices"},
		{"redlock inspect ", "redlock inspect ''", `\$\(touch\ ran\) invoices orders:42 orders:43 s\* two\ words\;\ touch\ ran`},
		{"redlock inspect tw", "redlock inspect tw", `two\ words\;\ touch\ ran`},
		{"redlock run x -- ca-c", "redlock run x -- ca-c", "ca-command"},
		{"redlock clients in", "redlock clients in", ""},
		{"redlock clients --p", "redlock clients --p", "--password-file --prefix"},
		{"redlock completion fi", "redlock completion fi", "fish"},
		{"redlock inspect --tls-ca ca-ce", "redlock inspect --tls-ca ca-ce", "ca-cert.pem"},
	} {
		i := command(t).env("PATH="+bin+":"+os.Getenv("PATH"), "HOME="+work, "REDLOCK_MASTERS="+strings.Join(fleet.URLs(), ","), "REDLOCK_NODE_TIMEOUT=5s", "TYPED="+c.typed)
		i.cmd.Path, i.cmd.Args, i.cmd.Dir = "/bin/bash", []string{"bash", "--norc", "-c", `
			source <(redlock completion bash)
			COMP_WORDS=(` + c.words + `) COMP_LINE=$TYPED COMP_POINT=${#TYPED}
			COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
			_redlock
			echo "${COMPREPLY[@]}"`}, work
		i.start().wantCode(0)
		check.Equal(t, strings.TrimSpace(i.stdout.String()), c.want, "bash completes %q to", c.typed)
	}
	if _, err := os.Stat(filepath.Join(work, "ran")); err == nil {
		t.Error("the name of a lock was run")
	}
}
