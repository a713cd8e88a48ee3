package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/redlock/redlock"
)

// asleep is how far the clock must jump to show that the process was stopped. No scheduler keeps a
// thread waiting that long.
const asleep = 500 * time.Millisecond

// wake takes the lock and prints its owner. Then it reads the clock in a loop, so that it is running
// when the process is stopped, and notices the stop first thing when the process goes on. It then
// uses the hold in the way that how names, and prints how long it was stopped and how long after
// waking it knew that the hold was lost.
//
// The library has had no time to do anything by then: its timers run on another thread, which is only
// waking up as well.
func wake(ctx context.Context, client *redlock.Client, name, how string) error {
	hold, err := client.Lock(ctx, name)
	if err != nil {
		return err
	}
	last := time.Now() // before the test knows of the hold, and stops the process
	say("held %s %d", hold.Owner(), hold.Token())
	woke := time.Now()
	for woke.Sub(last) < asleep {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		last, woke = woke, time.Now()
	}
	looks := 1
	switch how {
	case "context":
		for ; hold.Context().Err() == nil; looks++ {
			if time.Since(woke) > asleep {
				return errors.New("the context goes on after waking")
			}
		}
	case "remaining":
		if left := hold.Remaining(); left != 0 {
			err = fmt.Errorf("Remaining() = %v, want 0", left)
		}
	case "unlock":
		err = wantLost("Unlock", hold.Unlock(ctx))
	case "extend":
		err = wantLost("Extend", hold.Extend(ctx, time.Second))
	default:
		err = fmt.Errorf("%q is not a way to use a hold", how)
	}
	if took := time.Since(woke); err == nil {
		say("woke %d %d %d", woke.Sub(last), took, looks)
	}
	if err != nil {
		return err
	}
	// However the loss was noticed, the other promises hold too.
	select {
	case <-hold.Context().Done():
	case <-time.After(asleep):
		return errors.New("the context goes on after waking")
	}
	if err := wantLost("Cause", context.Cause(hold.Context())); err != nil {
		return err
	}
	if how == "unlock" {
		return nil
	}
	return wantLost("Unlock", hold.Unlock(ctx))
}

func wantLost(what string, err error) error {
	if !errors.Is(err, redlock.ErrLost) {
		return fmt.Errorf("%s = %v, want ErrLost", what, err)
	}
	return nil
}
