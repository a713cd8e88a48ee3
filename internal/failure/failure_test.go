package failure

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/history"
	"example.com/redlock/redlock"
)

func TestOf(t *testing.T) {
	for _, test := range []struct {
		err  error
		want history.Failure
	}{
		{redlock.ErrTaken, history.Taken},
		{redlock.ErrNoQuorum, history.NoQuorum},
		{redlock.ErrGuarded, history.NoQuorum},
		{redlock.ErrLost, history.NoLock},
		{redlock.ErrNotHeld, history.NotHeld},
		{redlock.ErrClosed, history.Closed},
		{redlock.ErrUpgrade, history.Upgrade},
		{errors.Join(redlock.ErrTaken, context.DeadlineExceeded), history.Ended},
		{errors.Join(redlock.ErrNoQuorum, context.Canceled), history.Ended},
		{fmt.Errorf("lock: %w", redlock.ErrTaken), history.Taken},
		{redlock.ErrOverlap, history.Unknown},
		{redis.ErrNil, history.Unknown},
	} {
		check.Equal(t, Of(test.err), test.want, "Of(%v)", test.err)
	}
}
