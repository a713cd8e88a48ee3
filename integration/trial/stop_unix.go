//go:build unix

package trial

import (
	"syscall"

	"example.com/redlock/internal/history"
)

// stop freezes the process, until cont. What they record is a little longer than the process is frozen.
func (p *process) stop(rec *history.Recorder) error {
	rec.Add(history.Event{What: history.Stopped, Who: p.who})
	return p.cmd.Process.Signal(syscall.SIGSTOP)
}

func (p *process) cont(rec *history.Recorder) error {
	err := p.cmd.Process.Signal(syscall.SIGCONT)
	rec.Add(history.Event{What: history.Continued, Who: p.who})
	return err
}
