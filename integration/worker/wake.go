package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/redlock/redlock"
)

// asleep is how long the clock must have jumped for the process to have been stopped. No
// scheduler keeps a thread waiting for so long.
const asleep = 500 * time.Millisecond

// wake takes the lock and says who has it. Then it reads the clock again and again, so that
// it is running when the process is stopped, and knows of it with the first thing it does when
// it goes on. There it does with the hold what how names. It says how long it was stopped, and
// how long after waking the hold was known to be lost.
//
// The library has had no time for anything yet when that is done: its timers are served by
// another thread, which wakes as well.
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
		err = fmt.Errorf("%q is no use of a hold", how)
	}
	if took := time.Since(woke); err == nil {
		say("woke %d %d %d", woke.Sub(last), took, looks)
	}
	if err != nil {
		return err
	}
	// The rest of what is promised holds however it was noticed.
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
