//go:build !unix

package trial

import (
	"errors"

	"example.com/redlock/internal/history"
)

func (p *process) stop(*history.Recorder) error { return errors.ErrUnsupported }

func (p *process) cont(*history.Recorder) error { return errors.ErrUnsupported }
