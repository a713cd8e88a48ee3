//go:build !unix

package trial

import "errors"

func (*slot) stop() error { return errors.ErrUnsupported }

func (*slot) cont() error { return errors.ErrUnsupported }
