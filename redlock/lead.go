package redlock

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"example.com/redlock/multilock/poll"
)

// How long Lead pauses after a failure, on average: a process that cannot lead leaves that to the others.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// Lead runs fn in one process of the fleet at a time, and in another one when that process fails. It
// campaigns for name as Lock waits for it, runs fn while this process leads, and campaigns again when it
// does not lead any more.
//
// The context of fn ends when ctx does and, with a cause that matches ErrLost, before another process can
// begin to lead. Lead waits for fn to return before it campaigns again. What a leader writes that was
// paused for longer than its lease has to be refused where it is written, by its [Token], which grows from
// leader to leader.
//
// Lead returns nil when fn returns nil while it leads: the work is done, also if ctx ends or the masters fall silent
// while the lock is given back. When fn returns an error, or the
// masters refuse the campaign (ErrNoQuorum, a [*ConflictError]), this process resigns, logs the error, and
// campaigns again after a pause of about 1s, which doubles up to about 1min, and is 1s again after a minute
// of leading. It campaigns again at once when the hold was lost, or [Config.MaxHold] is over.
//
// When ctx ends, Lead resigns as soon as fn has returned, so that the next process leads one message later,
// and returns an error that matches ctx's. Other errors, such as ErrClosed, are returned at once.
//
// With [Lease], a process leads for that long at most, and then campaigns again. With [Permits], so many lead at a
// time. Shared is an error. The Inspect of package redlockadmin tells every process who leads and since when. Cost:
// as [Client.Do].
func (c *Client) Lead(ctx context.Context, name string, fn func(context.Context) error, options ...Option) error {
	if slices.ContainsFunc(options, func(o Option) bool { return o.shared }) {
		return errors.New("redlock: Shared and Lead do not go together: all readers would lead")
	}
	for pause := firstPause; ; {
		var lost bool
		var failed error
		var began time.Time // to lead
		err := c.Do(ctx, name, func(ctx context.Context) error {
			began = time.Now()
			failed = fn(ctx)
			lost = ctx.Err() != nil
			return failed
		}, options...)
		led := !began.IsZero()
		switch _, conflict := errors.AsType[*ConflictError](err); {
		case led && failed == nil && !lost && !errors.Is(err, ErrLost):
			return nil // whatever became of the release
		case ctx.Err() != nil:
			if !errors.Is(err, ctx.Err()) {
				err = errors.Join(poll.Fail("lead", name, poll.Ended(ctx)), err)
			}
			return err
		case led && (lost || failed == nil):
			c.log.WarnContext(ctx, "redlock: leads no more, and campaigns again", "name", name, "error", err)
			continue
		case !led && !conflict && !errors.Is(err, ErrNoQuorum):
			return err
		}
		if led && time.Since(began) >= lastPause {
			pause = firstPause
		}
		wait := pause/2 + rand.N(pause)
		pause = min(2*pause, lastPause)
		if led {
			c.log.WarnContext(ctx, "redlock: leads no more, and campaigns again", "name", name, "pause", wait, "error", err)
		} else {
			c.log.WarnContext(ctx, "redlock: could not lead, and campaigns again", "name", name, "pause", wait, "error", err)
		}
		select {
		case <-time.After(wait):
		case <-c.sets[c.now[0]].masters.All.Closing():
		case <-ctx.Done():
		}
	}
}
