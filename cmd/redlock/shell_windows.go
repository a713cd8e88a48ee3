package main

import (
	"os/exec"
	"syscall"
)

// shell returns the command that runs script with cmd, as make does there. cmd does not undo the
// quoting that Go adds to arguments, so the command line is built here: with /s, cmd takes off the
// outermost quotes and nothing else.
func shell(script string) (*exec.Cmd, error) {
	path, err := find("cmd")
	return &exec.Cmd{Path: path, SysProcAttr: &syscall.SysProcAttr{CmdLine: `cmd /s /c "` + script + `"`}}, err
}

func ignoreBackgroundRead() {}
