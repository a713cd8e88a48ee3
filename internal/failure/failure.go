// Package failure says of what kind an error of package redlock is, for histories.
package failure

import (
	"context"
	"errors"

	"example.com/redlock/internal/history"
	"example.com/redlock/redlock"
)

// Of returns the kind of an error of package redlock: "" of nil, and Unknown of any other. Some errors match
// several: the context's comes with what the caller waited for.
func Of(err error) history.Failure {
	if err == nil {
		return ""
	}
	for _, kind := range []struct {
		err error
		is  history.Failure
	}{
		{redlock.ErrClosed, history.Closed},
		{redlock.ErrUpgrade, history.Upgrade},
		{redlock.ErrNotHeld, history.NotHeld},
		{redlock.ErrLost, history.NoLock},
		{context.DeadlineExceeded, history.Ended},
		{context.Canceled, history.Ended},
		{redlock.ErrTaken, history.Taken},
		{redlock.ErrNoQuorum, history.NoQuorum},
	} {
		if errors.Is(err, kind.err) {
			return kind.is
		}
	}
	return history.Unknown
}
