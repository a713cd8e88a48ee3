//go:build unix

package main

import (
	"os"
	"os/exec"
	"os/signal"

	"golang.org/x/sys/unix"
)

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

// ignoreBackgroundRead has the system fail a read from the terminal by a process in the background,
// instead of stopping the process: nobody would renew the hold then.
func ignoreBackgroundRead() { signal.Ignore(unix.SIGTTIN) }
