package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"example.com/redlock/internal/check"
)

func TestRunKilledEndsTheCommand(t *testing.T) {
	_, flags := masters(t)
	i := command(t, line("run", flags, "--name", "n", "--", "sh", "-c", "echo $$; exec sleep 100")...).start()
	check.Eventually(t, "the command runs", func() bool { return len(i.pids()) == 1 })
	i.signal(unix.SIGKILL)
	i.wantCode(-1)
	// The process that inherits it may take a while to reap it.
	check.Eventually(t, "the command is gone", func() bool { s := state(i.pids()[0]); return s == 0 || s == 'Z' })
}

// Outside a terminal, TSTP stops redlock and the command: the command must not run while nobody renews
// its hold.
func TestRunPauses(t *testing.T) {
	_, flags := masters(t)
	i, in := withStdin(t, command(t, line("run", flags, "--name", "n", "--", "sh", "-c", "echo $$; echo ready; read x; exit 0")...))
	i.ready()
	i.signal(unix.SIGTSTP)
	check.Eventually(t, "both are stopped", func() bool { return state(i.pids()[0]) == 'T' && state(i.cmd.Process.Pid) == 'T' })
	i.signal(unix.SIGCONT)
	check.Eventually(t, "both go on", func() bool { return state(i.pids()[0]) == 'S' && state(i.cmd.Process.Pid) != 'T' })
	in.Close()
	i.wantCode(0)
}

// A command that was stopped for longer than its hold lasted is ended and does not go on.
func TestRunPausedForTooLong(t *testing.T) {
	t.Parallel()
	fleet, flags := masters(t)
	i := command(t, line("run", flags, "--name", "n", "--lease=3s", "--grace=1s", "--",
		"sh", "-c", "trap '' TERM; echo $$; echo ready; while :; do sleep 0.02; done")...).start()
	i.ready()
	i.signal(unix.SIGTSTP)
	check.Eventually(t, "the hold has ended", func() bool { return free(fleet, "n") })
	i.signal(unix.SIGCONT)
	i.wantCode(exitLost)
	if running(i.pids()[0]) {
		t.Error("the command is still running")
	}
}

// state returns the letter in /proc/pid/stat: R for running, S for sleeping, T for stopped, Z for dead
// but not reaped; or 0 if there is no such process.
func state(pid int) byte {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return bytes.TrimSpace(stat[bytes.LastIndexByte(stat, ')')+1:])[0]
}

func TestParseStat(t *testing.T) {
	for _, c := range []struct {
		name, stat string
		want       process
		ok         bool
	}{
		{"plain", "7 (sh) S 3 5 5 0 -1", process{pid: 7, parent: 3, group: 5}, true},
		{"brackets in the name", "7 (a) R 1) (b) S 3 5 5", process{pid: 7, parent: 3, group: 5}, true},
		{"blank name", "7 ( ) Z 3 5", process{pid: 7, parent: 3, group: 5}, true},
		{
			"all of it", "7 (sh) S 3 5 5 0 -1 4194560 103 0 0 0 1 2 3 4 20 0 1 0 4711 2596864 220",
			process{pid: 7, parent: 3, group: 5, born: "7 4711"},
			true,
		},
		{"cut short", "7 (sh) S 3", process{}, false},
		{"no numbers", "7 (sh) S x y", process{}, false},
		{"empty", "", process{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, ok := parseStat(7, []byte(c.stat)); got != c.want || ok != c.ok {
				t.Errorf("parseStat(%q) = %v, %t, want %v, %t", c.stat, got, ok, c.want, c.ok)
			}
		})
	}
}

// On a terminal, Ctrl-C reaches the command once: from the terminal, and not also from redlock.
func TestRunOnTerminal(t *testing.T) {
	_, flags := masters(t)
	i, terminal := onTerminal(t, command(t, line("run", flags, "--name", "n", "--", os.Args[0], asCounter)...))
	check.Eventually(t, "the command prints ready", func() bool { return strings.Contains(i.stdout.String(), "ready") })
	typed(t, terminal, "\x03")
	i.wantCode(41)
}

// A job is stopped as a whole and goes on as a whole, in the shells at hand: in the background when it reads from the
// terminal, and when something stops the command alone.
func TestRunInShells(t *testing.T) {
	for _, shell := range [][]string{{"bash", "--norc", "--noprofile", "-i"}, {"dash", "-i"}} {
		for name, c := range map[string]struct{ script, background, says string }{
			"background": {`echo pids=$$,$PPID.; read a; echo "answer=$a"`, " &", "answer=fine"},
			"stopped":    {`echo pids=$$,$PPID.; kill -STOP $$; read a; echo "answer=$a"`, "", "answer=fine"},
		} {
			t.Run(shell[0]+" "+name, func(t *testing.T) {
				t.Parallel()
				path, err := exec.LookPath(shell[0])
				if err != nil {
					t.Skip("no", shell[0])
				}
				fleet, flags := masters(t)
				i := command(t).env("PATH=" + redlockIn(t) + ":" + os.Getenv("PATH"))
				i.cmd.Path, i.cmd.Args = path, shell
				i, terminal := onTerminal(t, i)
				typed(t, terminal, strings.Join(line("redlock run", flags, "n", "--", "sh", "-c", "'"+c.script+"'"), " ")+c.background+"\n")
				pids := regexp.MustCompile(`pids=(\d+),(\d+)\.`)
				check.Eventually(t, "both are stopped", func() bool {
					match := pids.FindStringSubmatch(i.stdout.String())
					if match == nil {
						return false
					}
					command, _ := strconv.Atoi(match[1])
					redlock, _ := strconv.Atoi(match[2])
					return state(command) == 'T' && state(redlock) == 'T'
				})
				asked := 0
				check.Eventually(t, "the shell knows", func() bool { // or its fg waits for what runs, as it believes
					says := i.stdout.String()
					if strings.Count(says, "Running") == asked {
						typed(t, terminal, "jobs\n")
						asked++
					}
					return strings.Contains(says, "Stopped")
				})
				typed(t, terminal, "fg\n")
				typed(t, terminal, "fine\n")
				check.Eventually(t, "the command goes on", func() bool { return strings.Contains(i.stdout.String(), c.says) })
				check.Eventually(t, "the lock is free", func() bool { return free(fleet, "n") })
			})
		}
	}
}

// typed types on a terminal: \x03 is Ctrl-C.
func typed(t *testing.T, terminal *os.File, text string) {
	t.Helper()
	_, err := terminal.WriteString(text)
	check.OK(t, err)
}

// onTerminal starts i in the foreground of a new terminal, and returns the terminal's other side.
func onTerminal(t *testing.T, i *invocation) (*invocation, *os.File) {
	t.Helper()
	ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	check.OK(t, unix.IoctlSetPointerInt(int(ptmx.Fd()), unix.TIOCSPTLCK, 0))
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, ptmx.Fd(), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY)
	if errno != 0 {
		t.Fatal(errno)
	}
	tty := os.NewFile(fd, "tty")
	i.cmd.Stdin, i.cmd.Stdout, i.cmd.Stderr = tty, tty, tty
	i.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	i.start()
	tty.Close()
	// Goroutines: one. It ends when the last process has closed the terminal.
	read := make(chan struct{})
	go func() {
		defer close(read)
		if _, err := io.Copy(&i.stdout, ptmx); err != nil && !errors.Is(err, unix.EIO) {
			i.t.Errorf("reading the terminal: %v", err)
		}
	}()
	t.Cleanup(func() {
		_ = i.cmd.Process.Kill()
		<-read
		ptmx.Close()
	})
	return i, ptmx
}

// On a terminal, --watch draws in place, until Ctrl-C. Elsewhere it appends, and JSON is on one line each.
func TestWatch(t *testing.T) {
	watch := func(flags []string, args ...string) *invocation {
		return command(t, slices.Concat(args, []string{"--watch=100ms"}, flags)...)
	}
	repeats := func(out *check.Output, times int, what string) {
		t.Helper()
		check.Eventually(t, fmt.Sprintf("%d times %q", times, what), func() bool { return strings.Count(out.String(), what) >= times })
	}
	_, flags := masters(t)
	for _, args := range [][]string{{"inspect", "n"}, {"list"}, {"clients"}} {
		i, terminal := onTerminal(t, watch(flags, args...))
		repeats(&i.stdout, 2, "\x1b[H")
		typed(t, terminal, "\x03")
		i.wantCode(128 + 2)

		i = watch(flags, args...).start()
		repeats(&i.stdout, 2, "  redlock "+args[0])
		i.endsBy(unix.SIGTERM)
		check.That(t, !strings.Contains(i.stdout.String(), "\x1b"), "it draws, and there is no terminal: %q", &i.stdout)

		i = watch(flags, append(args, "--json")...).start()
		repeats(&i.stdout, 3, "\n")
		i.endsBy(unix.SIGTERM)
		if first, _, _ := strings.Cut(i.stdout.String(), "\n"); !json.Valid([]byte(first)) {
			t.Errorf("this is no JSON: %s", first)
		}
	}
	for _, command := range []string{"list", "clients"} {
		fleet, flags := masters(t)
		fleet.Master(1).Kill()
		fleet.Master(2).Kill()
		const reason = "no quorum (1 of 3 masters, 2 needed)" // why there is nothing to show
		i := watch(flags, command).start()
		repeats(&i.stdout, 2, reason)
		i.endsBy(unix.SIGTERM)
		i = watch(flags, command, "--json").start()
		repeats(&i.stderr, 2, reason)
		fleet.Master(1).Restart()
		repeats(&i.stdout, 1, "\n")
		i.endsBy(unix.SIGTERM)
	}
}
