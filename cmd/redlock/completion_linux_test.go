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

// completions are what is typed before a tab, and how the last word may go on. Names of locks are from the masters of
// the environment.
var completions = []struct{ typed, want string }{
	{"redlock ins", "inspect"},
	{"redlock run --no-w", "--no-wait"},
	{"redlock clients --p", "--password-file --prefix"},
	{"redlock clients in", ""},
	{"redlock completion fi", "fish"},
	{"redlock help exit", "exit-codes"},
	{"redlock inspect --tls-ca ca-c", "ca-cert.pem"},
	{"redlock inspect --tls-ca=ca-c", "--tls-ca=ca-cert.pem"},
	{"redlock run n -- ca-com", "ca-command"},
	{"redlock run n -- cat ca-ce", "ca-cert.pem"},
	{"redlock run inv", "invoices"},
	{"redlock hold orders:", "orders:42 orders:43"},
	{"redlock unlock --force orders:4", "orders:42 orders:43"},
	{"redlock inspect tw", "two words; touch ran"},
	{`redlock inspect two\ w`, "two words; touch ran"},
	{"redlock inspect s", "s*"},
	{"redlock inspect b", `b\ack`},
	{"redlock inspect ", `$(touch ran) b\ack invoices orders:42 orders:43 s* two words; touch ran`},
}

// completed returns how the shell at path completes a line: script does, with the line in $TYPED.
func completed(t *testing.T, path, script string) func(typed string) string {
	bin, work := redlockIn(t), t.TempDir()
	check.OK(t, os.WriteFile(filepath.Join(bin, "ca-command"), nil, 0o700))
	check.OK(t, os.WriteFile(filepath.Join(work, "ca-cert.pem"), nil, 0o600))
	fleet, _ := masters(t)
	for _, name := range []string{"orders:42", "orders:43", "invoices", "$(touch ran)", "two words; touch ran", "s*", `b\ack`} {
		take(t, fleet, name)
	}
	t.Cleanup(func() {
		if _, err := os.Stat(filepath.Join(work, "ran")); err == nil {
			t.Error("the name of a lock was run")
		}
	})
	return func(typed string) string {
		i := command(t).env("PATH="+bin+":"+os.Getenv("PATH"), "HOME="+work, "REDLOCK_MASTERS="+strings.Join(fleet.URLs(), ","), "REDLOCK_NODE_TIMEOUT=5s", "TYPED="+typed)
		i.cmd.Path, i.cmd.Args, i.cmd.Dir = path, []string{path, "-c", script}, work
		i.start().wantCode(0)
		return strings.TrimSpace(strings.ReplaceAll(i.stdout.String(), "\n", " "))
	}
}

// bash ends words at colons and at =, and puts what it completes into the line as it is.
func TestCompletion(t *testing.T) {
	complete := completed(t, "/bin/bash", `
		source <(redlock completion bash)
		COMP_LINE=$TYPED COMP_POINT=${#TYPED}
		IFS=$'\n' COMP_WORDS=($(grep -oE '([^ :=\\]|\\.)+|[:=]' <<<"$TYPED"))
		[[ $TYPED == *' ' ]] && COMP_WORDS+=('')
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_redlock
		printf '%s\n' "${COMPREPLY[@]}"`)
	quote := strings.NewReplacer("$(touch ran)", `\$\(touch\ ran\)`, "two words; touch ran", `two\ words\;\ touch\ ran`, "s*", `s\*`, `b\ack`, `b\\ack`)
	for _, c := range completions {
		want := quote.Replace(c.want)
		if ends := strings.LastIndexAny(c.typed, ":="); ends >= 0 {
			begin := c.typed[strings.LastIndex(c.typed, " ")+1 : ends+1]
			want = strings.ReplaceAll(want, begin, "")
		}
		check.Equal(t, complete(c.typed), want, "bash completes %q to", c.typed)
	}
}

// fish says what it would complete. Of zsh, the functions that the script calls are ours, and say what they get.
func TestCompletionLong(t *testing.T) {
	for shell, script := range map[string]string{
		"fish": `redlock completion fish | source; complete -C $TYPED | string replace -r '\t.*' ''; true`,
		"zsh": `compdef() { }
			compset() { begin=${(M)PREFIX##--*=} PREFIX=${PREFIX##*=} }
			_describe() { print -rl -- ${(P)2} | sed -E 's/([^\\]):.*/\1/; s/\\(.)/\1/g' }
			_files() { for file in $PREFIX*(N); print -r -- $begin$file }
			_normal() { (( CURRENT == $#words )) && print -rl -- ${(k)commands} *(N) | grep "^$PREFIX" }
			source <(redlock completion zsh)
			words=(${(z)TYPED}) PREFIX=${TYPED##*[^\\] }
			[[ $TYPED == *' ' ]] && words+=('')
			CURRENT=$#words
			_redlock; true`,
	} {
		t.Run(shell, func(t *testing.T) {
			path, err := redisserver.Need(shell, shell, func() string {
				path, _ := exec.LookPath(shell)
				return path
			})
			if errors.Is(err, redisserver.ErrMissing) {
				t.Skip(err)
			}
			check.OK(t, err)
			complete := completed(t, path, script)
			for _, c := range completions {
				check.Equal(t, complete(c.typed), c.want, "%s completes %q to", shell, c.typed)
			}
		})
	}
}
