//go:build unix

// Package pages does what the pages say, and wants to see what they show.
package pages

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/redisserver"
)

var full = flag.Bool("full", false, "also upgrade from an earlier commit, which the clone must have: make soak")

// step is a block of shell, with the files that the page has in front of it and what it should print.
type step struct {
	files  map[string]string // by name
	under  string            // the heading of its section
	shell  string
	prints string // as the page has it; "" if it shows nothing
}

// stepsOf returns the steps of a page.
//
// A file is a block of Go behind a line that ends with its name: `main.go`:
func stepsOf(t *testing.T, page string) (steps []step) {
	t.Helper()
	files := map[string]string{}
	blocks := regexp.MustCompile("(?ms)(\\S+)?\\s*^```(\\w+)\n(.*?)^```$|^## ([^\n]*)$").FindAllStringSubmatch(check.File(t, filepath.Join("../../docs", page)), -1)
	under := ""
	for _, b := range blocks {
		if b[4] != "" {
			under = b[4]
			continue
		}
		name, isFile := strings.CutSuffix(b[1], "`:")
		switch _, name, _ = strings.Cut(name, "`"); {
		case b[2] == "go" && isFile:
			files[name] = b[3]
		case b[2] == "sh":
			steps = append(steps, step{files: files, under: under, shell: b[3]})
			files = map[string]string{}
		case b[2] == "text" && b[1] == "" && len(steps) > 0: // right behind the shell
			steps[len(steps)-1].prints = b[3]
		}
	}
	return steps
}

// ports are those that a page may use. A test uses others, which are free.
var ports = regexp.MustCompile(`\b(700\d|8080)\b`)

// follow does the steps in one shell, in an empty folder beside the checkout.
func follow(t *testing.T, steps []step) {
	t.Helper()
	server, err := redisserver.Find()
	check.OK(t, err)
	root, err := filepath.Abs("../..")
	check.OK(t, err)
	work, bin := t.TempDir(), t.TempDir()
	for name, to := range map[string]string{filepath.Join(work, "redlock"): root, filepath.Join(bin, "redis-server"): server} {
		check.OK(t, os.Symlink(to, name))
	}
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "redlock"), ".")
	build.Dir = filepath.Join(root, "cmd", "redlock")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	free := map[string]string{}
	place := func(text string) string {
		return ports.ReplaceAllStringFunc(text, func(port string) string {
			if free[port] == "" {
				listener, err := net.Listen("tcp", "127.0.0.1:0")
				check.OK(t, err)
				defer listener.Close()
				_, free[port], _ = net.SplitHostPort(listener.Addr().String())
			}
			return free[port]
		})
	}
	const end = "---- end of step"
	var script strings.Builder
	for i, s := range steps {
		for name, text := range s.files {
			fmt.Fprintf(&script, "cat >%s <<'END OF FILE'\n%sEND OF FILE\n", name, place(text))
		}
		fmt.Fprintf(&script, "%s\necho '%s %d'\n", place(s.shell), end, i)
	}
	shell := exec.Command("bash", "--norc", "-c", script.String())
	shell.Dir = work
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "REDLOCK_") {
			shell.Env = append(shell.Env, entry)
		}
	}
	shell.Env = append(shell.Env, "PATH="+bin+":"+os.Getenv("PATH"))
	t.Cleanup(func() {
		_ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL)
		for _, port := range free {
			_ = exec.Command("redis-cli", "-p", port, "shutdown", "nosave").Run() // those that the page left running
		}
	})
	file, err := os.Create(filepath.Join(bin, "output")) // not a pipe, which daemons would keep open
	check.OK(t, err)
	defer file.Close()
	shell.Stdout, shell.Stderr = file, file
	if err := shell.Run(); err != nil {
		t.Errorf("the page ends with %v", err)
	}
	rest := check.File(t, file.Name())
	for i, s := range steps {
		got, behind, ok := strings.Cut(rest, fmt.Sprintf("%s %d\n", end, i))
		if rest = behind; !ok {
			t.Fatalf("the page ends within\n%s\n%s", s.shell, got)
		}
		if s.prints != "" && alike(got) != alike(place(s.prints)) {
			t.Errorf("%s\nprints\n%s\nand the page shows\n%s\n%s", s.shell, got, s.prints, alike(got))
		}
	}
}

var numbers = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{8}\b|\d[\d.]*(ms|m?s|m)?`)

// alike returns a text without what differs from run to run: numbers, the host, the order of lines of a log,
// where lines are broken, what go says of modules, and when the guard of which master is over.
func alike(text string) string {
	host, _ := os.Hostname()
	text = regexp.MustCompile(`\b`+regexp.QuoteMeta(host)+`\b`).ReplaceAllString(text, "host-7")
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "go: ") && !strings.Contains(line, "redlock: master grants ") {
			lines = append(lines, numbers.ReplaceAllString(line, "#"))
		}
	}
	for from := range lines {
		to := from
		for to < len(lines) && strings.HasPrefix(lines[to], "#/#/#") {
			to++
		}
		slices.Sort(lines[from:to])
	}
	return strings.Join(strings.Fields(strings.Join(lines, "")), " ")
}

func TestGettingStarted(t *testing.T) {
	t.Parallel()
	steps := stepsOf(t, "getting-started.md")
	follow(t, steps)
	// The service of the last steps is the example.
	for _, name := range []string{"main.go", "handler.go"} {
		last := ""
		for _, s := range steps {
			if text, ok := s.files[name]; ok {
				last = text
			}
		}
		check.That(t, last == check.File(t, "../service/"+name), "examples/service/%s is not what the page shows", name)
	}
}

// TestChangesByThePage: each change of the page goes as it says; those of masters follow each other.
func TestChangesByThePage(t *testing.T) {
	t.Parallel()
	changes := map[string][]step{}
	for _, s := range stepsOf(t, "changes.md") {
		of := s.under
		if strings.HasSuffix(of, " a master") {
			of = "masters"
		}
		changes[of] = append(changes[of], s)
	}
	check.That(t, len(changes) == 3, "the page has steps for %d changes, want those for masters, sets and the library", len(changes))
	if !*full {
		delete(changes, "Upgrade the library")
	}
	for name, steps := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			follow(t, steps)
		})
	}
}
