package main

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// child is the command of redlock run, with every process that it started.
//
// They are in one job, which ends them all when its last handle is closed, even if redlock dies.
// Windows has no TERM, so a command that has to end is killed at once. Ctrl-C reaches the command from
// the console.
type child struct {
	ending
	pid  int
	job  windows.Handle // 0 if there is none
	proc *os.Process
}

// startChild starts cmd, whose streams must be files.
//
// Goroutines: one. It waits for the command and ends with it.
func startChild(cmd *exec.Cmd, _ bool) (*child, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{ending: newEnding(), pid: cmd.Process.Pid, proc: cmd.Process}
	// Without a job, redlock still knows the command itself.
	if job, err := jobOf(c.pid); err == nil {
		c.job = job
	}
	go func() {
		defer close(c.gone)
		_ = cmd.Wait() // ProcessState has everything, unless that cannot be told
		code := cmd.ProcessState.ExitCode()
		if code < 0 {
			code = exitSoftware
		}
		c.exited <- code
	}()
	return c, nil
}

// jobOf puts the process into a new job, which ends when its last handle is closed.
func jobOf(pid int) (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		return 0, errors.Join(err, windows.CloseHandle(job))
	}
	proc, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return 0, errors.Join(err, windows.CloseHandle(job))
	}
	defer windows.CloseHandle(proc)
	if err := windows.AssignProcessToJobObject(job, proc); err != nil {
		return 0, errors.Join(err, windows.CloseHandle(job))
	}
	return job, nil
}

func caught(bool) []os.Signal { return []os.Signal{os.Interrupt, windows.SIGTERM} }

func endsWait(os.Signal) bool { return true }

func signalCode(sig os.Signal) int {
	if sig == os.Interrupt {
		return exitSignal + 2
	}
	return exitSignal + 15
}

// forward does nothing: the console has sent the command what it sent redlock.
func (c *child) forward(os.Signal, func() bool) {}

func (c *child) stopped() bool { return false }

func (c *child) report(func() bool) bool { return false }

func (c *child) terminate() error { return c.kill() }

func (c *child) kill() error {
	if c.job != 0 {
		return windows.TerminateJobObject(c.job, exitSignal+9)
	}
	if err := c.proc.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

func hasTerminal() bool { return true }

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
