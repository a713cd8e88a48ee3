//go:build unix

package main

import (
	"os"

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
