//go:build unix

package trial

import (
	"syscall"

	"example.com/redlock/internal/history"
)

// stop freezes the process of now, until cont. What they record is a little longer than the process is frozen.
func (s *slot) stop() error {
	p := s.now()
	s.rec.Add(history.Event{What: history.Stopped, Who: p.who})
	return p.cmd.Process.Signal(syscall.SIGSTOP)
}

func (s *slot) cont() error {
	p := s.now()
	err := p.cmd.Process.Signal(syscall.SIGCONT)
	s.rec.Add(history.Event{What: history.Continued, Who: p.who})
	return err
}
