package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin, work = t.TempDir(), t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "redlock")); err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{filepath.Join(bin, "ca-command"): 0o700, filepath.Join(work, "ca-cert.pem"): 0o600} {
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	return bin, work
}

// bash and zsh complete what a user types at a terminal.
func TestCompletionOnTerminal(t *testing.T) {
	for _, c := range []struct {
		shell string
		args  []string
		start string // loads the script
	}{
		{"bash", []string{"--norc"}, "source <(redlock completion bash)"},
		{"zsh", []string{"-f"}, "autoload -U compinit && compinit -D && source <(redlock completion zsh)"},
	} {
		t.Run(c.shell, func(t *testing.T) {
			path, err := exec.LookPath(c.shell)
			if err != nil {
				t.Skipf("no %s here: %v", c.shell, err)
			}
			bin, work := shellBin(t)
			i := command(t).env("PATH="+bin+":"+os.Getenv("PATH"), "PS1=> ", "TERM=dumb", "INPUTRC=/dev/null")
			i.cmd.Path, i.cmd.Args, i.cmd.Dir = path, append([]string{c.shell}, append(c.args, "-i")...), work
			i, terminal := onTerminal(t, i)
			send := func(text string) {
				if _, err := io.WriteString(terminal, text); err != nil {
					t.Fatal(err)
				}
			}
			// What the shell makes of the line is printed by an echo that is put in front of it, once it
			// has been completed (Ctrl-A), so that nothing is run.
			send("stty -echo; " + c.start + "; echo rea''dy\n")
			eventually(t, c.shell+" is ready", func() bool { return strings.Contains(i.stdout.String(), "ready") })
			for _, one := range completions {
				before := len(i.stdout.String())
				send(one.typed + "\t\x05$\x01echo '=' \n")
				eventually(t, "completes "+one.typed+": "+one.want, func() bool {
					// zsh takes back the space that it adds when something else is typed.
					said, whole := i.stdout.String()[before:], "= "+strings.TrimSuffix(one.want, " ")
					return strings.Contains(said, whole+" $\r\n") || strings.Contains(said, whole+"$\r\n")
				})
			}
		})
	}
}

// fish says what it would complete.
func TestCompletionFish(t *testing.T) {
	fish, err := exec.LookPath("fish")
	if err != nil {
		t.Skip("no fish here:", err)
	}
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

// Each flag and command that can be used is in each script.
func TestCompletionIsWhole(t *testing.T) {
	var line cli
	parser, err := newParser(&line, io.Discard, io.Discard, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		i := command(t, "completion", shell).start()
		i.wantCode(0)
		script := i.stdout.String()
		for _, node := range parser.Model.Children {
			if !strings.Contains(script, node.Name) {
				t.Errorf("%s: no %s", shell, node.Name)
			}
			for _, flag := range node.Flags {
				if has := strings.Contains(script, flag.Name+"\n") || strings.Contains(script, flag.Name+"[") || strings.Contains(script, flag.Name+"=[") || strings.Contains(script, "-l "+flag.Name+" "); has == flag.Hidden {
					t.Errorf("%s: --%s of %s is there: %t", shell, flag.Name, node.Name, has)
				}
			}
		}
	}
}
