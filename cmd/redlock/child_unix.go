//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// child is the command of redlock run, with every process that it started.
//
// # Process group
//
// Where redlock has a terminal, in its foreground or not, the command stays in redlock's own group.
// Ctrl-C, Ctrl-\ and Ctrl-Z then reach it from the terminal itself, fg and bg work, and so does
// a pager behind a pipe; a job in the background that reads from the terminal is stopped as a whole. A
// group of its own would have to take over the terminal, and that pager would lose it. The price: while
// redlock is in the foreground, it does not pass on INT and QUIT, since the command already has them,
// and a kill -INT to redlock alone looks the same.
//
// Everywhere else (cron, CI, services) the command has a group of its own. Signals reach only redlock,
// which passes each on once, and one system call kills the whole group.
type child struct {
	ending
	pid    int
	own    bool        // it leads a process group of its own
	halted atomic.Bool // something has stopped it

	// What already ran below this process on Linux, by [process.born]: a shell script may start a helper before it becomes
	// redlock (exec). The helper is no part of the command; what it starts later and leaves behind is.
	helpers map[string]bool
}

// startChild starts cmd, whose streams must be files, in a group of its own if own is true.
//
// Goroutines: one. It starts the command and reaps it, and ends when no process of its tree is left,
// or when redlock ends. It is locked to its thread, because Linux sends the parent-death signal when
// the thread that started the child ends, not when the process does.
func startChild(cmd *exec.Cmd, own bool) (*child, error) {
	c := &child{ending: newEnding(), own: own}
	cmd.SysProcAttr = childAttr(own)
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		c.adoptOrphans()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		c.pid = cmd.Process.Pid
		_ = cmd.Process.Release() // reap waits for it
		started <- nil
		c.reap()
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// exitCode returns the code that a shell would report: the exit status, or 128+n after signal n.
func exitCode(ws unix.WaitStatus) int {
	if ws.Signaled() {
		return exitSignal + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// haltOnBSD returns whether a command with that status lives on macOS and the BSDs, and whether it is stopped. x/sys takes
// a STOP for a continuation there.
func haltOnBSD(status uint32) (lives, halted bool) {
	const cont = 19 // SIGCONT on all of them
	switch {
	case status == cont, status == 0xffff: // FreeBSD; OpenBSD
		return true, false
	case status&0x7f == 0x7f:
		return true, status>>8 != cont // macOS tells of a continuation so
	}
	return false, false
}

// caught lists the signals that redlock run catches, for a command in a group of its own or not.
//
// PIPE is among them so that a closed stderr is an error and does not kill redlock: the command would
// lose its lock. WINCH and TSTP reach a command in redlock's group from the terminal.
func caught(own bool) []os.Signal {
	all := []os.Signal{
		unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT,
		unix.SIGUSR1, unix.SIGUSR2, unix.SIGPIPE,
	}
	if own {
		all = append(all, unix.SIGWINCH, unix.SIGTSTP)
	}
	return all
}

// endsWait reports whether sig ends the wait for the lock. Other signals are meant for the command,
// which has not started yet.
func endsWait(sig os.Signal) bool {
	return sig == unix.SIGINT || sig == unix.SIGTERM || sig == unix.SIGHUP || sig == unix.SIGQUIT
}

// signalCode returns the exit code for a process that sig ended.
func signalCode(sig os.Signal) int {
	if s, ok := sig.(syscall.Signal); ok {
		return exitSignal + int(s)
	}
	return exitSoftware
}

// forward passes sig on. valid reports whether the hold is still valid.
//
// A signal that asks the command to end goes to every process of the tree, as it does from a terminal
// and from timeout(1): if only a shell died, what it started would run on without the lock. Other
// signals go to the command alone, as they would without redlock, since USR1, for example, kills a
// process that does not expect it.
func (c *child) forward(sig os.Signal, valid func() bool) {
	s, ok := sig.(syscall.Signal)
	if !ok {
		return
	}
	switch s {
	case unix.SIGPIPE: // was for redlock
	case unix.SIGTSTP:
		c.pause(valid)
	case unix.SIGINT, unix.SIGQUIT:
		if c.own || !foreground() { // otherwise the terminal has already sent it to the command
			_ = c.end(s)
		}
	case unix.SIGTERM, unix.SIGHUP:
		_ = c.end(s)
	default:
		_ = send(c.pid, s)
	}
}

// pause stops the command and redlock until somebody continues redlock.
//
// The command gets STOP rather than TSTP, which it could ignore: it must not run while nobody renews
// its hold. It is continued only if the hold is still valid after the pause.
func (c *child) pause(valid func() bool) {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	defer signal.Stop(continued)
	_ = c.signal(unix.SIGSTOP)
	_ = unix.Kill(unix.Getpid(), unix.SIGSTOP)
	// STOP may reach another thread first, so that this one runs on for a moment. The first process of
	// a container is not stopped at all, and goes on after the timeout.
	select {
	case <-continued:
	case <-time.After(time.Second):
	}
	if valid() {
		_ = c.signal(unix.SIGCONT)
	}
}

func (c *child) stopped() bool { return c.halted.Load() }

// report tells the shell that the command is stopped, by stopping as well, if there is a terminal.
func (c *child) report(valid func() bool) bool {
	if !c.own {
		c.pause(valid)
	}
	return !c.own
}

// end asks every process of the tree to end. CONT wakes those that were stopped.
func (c *child) end(s syscall.Signal) error {
	err := c.signal(s)
	_ = c.signal(unix.SIGCONT)
	return err
}

func (c *child) terminate() error { return c.end(unix.SIGTERM) }

// kill ends every process of the tree that it finds.
func (c *child) kill() error { return c.signal(unix.SIGKILL) }

// send sends s to a process, or to a group if target is negative. A process that is gone needs none. One that
// runs as another user, as under sudo, refuses it.
func send(target int, s syscall.Signal) error {
	err := unix.Kill(target, s)
	if err == nil || errors.Is(err, unix.ESRCH) {
		return nil
	}
	return fmt.Errorf("%v to process %d: %w", s, max(target, -target), err)
}

// hasTerminal reports whether redlock has a terminal.
func hasTerminal() bool { return terminalGroup() >= 0 }

// foreground reports whether redlock is in the foreground group of its terminal, if it has one.
func foreground() bool {
	own, err := unix.Getpgid(0) // Getpgrp is not the same on every system
	return err == nil && terminalGroup() == own
}

// terminalGroup returns the foreground group of redlock's terminal: 0 if that is not known, -1 if there is no terminal.
func terminalGroup() int {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return -1
	}
	defer tty.Close()
	group, _ := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return max(group, 0)
}

// size returns how many rows and columns out has, if it is a terminal.
func size(out *os.File) (rows, width int, terminal bool) {
	window, err := unix.IoctlGetWinsize(int(out.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0, false
	}
	if window.Row == 0 || window.Col == 0 { // it does not know
		return 24, columns, true
	}
	return int(window.Row), int(window.Col), true
}

// shell returns the command that runs script: with sh, as make and cron do, whatever the user's own
// shell is.
func shell(script string) (*exec.Cmd, error) {
	path, err := find("sh")
	return &exec.Cmd{Path: path, Args: []string{"sh", "-c", script}}, err
}

// ignoreBackgroundRead makes a read from the terminal fail in the background. Otherwise the system would stop redlock, and
// nobody would renew the hold.
func ignoreBackgroundRead() { signal.Ignore(unix.SIGTTIN) }
