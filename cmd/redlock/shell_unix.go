//go:build unix

package main

import (
	"os/exec"
	"os/signal"

	"golang.org/x/sys/unix"
)

// shell returns the command that runs script: with sh, as make and cron do, whatever the user's own
// shell is.
func shell(script string) (*exec.Cmd, error) {
	path, err := find("sh")
	return &exec.Cmd{Path: path, Args: []string{"sh", "-c", script}}, err
}

// ignoreBackgroundRead has the system fail a read from the terminal by a process in the background,
// instead of stopping the process: nobody would renew the hold then.
func ignoreBackgroundRead() { signal.Ignore(unix.SIGTTIN) }
