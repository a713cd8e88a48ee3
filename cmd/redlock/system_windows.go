package main

import (
	"os"
	"os/exec"
	"syscall"
)

// size says that nothing is a terminal: not every console of Windows understands the sequences that
// draw in place.
func size(*os.File) (rows, width int, terminal bool) { return 0, 0, false }

// shell returns the command that runs script with cmd, as make does there. cmd does not undo the
// quoting that Go adds to arguments, so the command line is built here: with /s, cmd takes off the
// outermost quotes and nothing else.
func shell(script string) (*exec.Cmd, error) {
	path, err := find("cmd")
	return &exec.Cmd{Path: path, SysProcAttr: &syscall.SysProcAttr{CmdLine: `cmd /s /c "` + script + `"`}}, err
}

func ignoreBackgroundRead() {}
