package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"example.com/redlock/redlock"
)

// callers is how many callers of one client compete, so that the lock is handed over inside a client
// as well as between clients.
const callers = 3

// contender is the state that the callers share.
type contender struct {
	take                func(context.Context) (*redlock.Hold, error)
	stay                time.Duration // how long they are in, at most
	who                 string
	journal             *os.File
	holds, lost, unsure atomic.Int64
}

// contend takes the lock, or a permit, again and again until ctx ends. While it has it, it appends two
// lines to the journal, which all contenders share: that who is in, with its slot and its token, and
// that who is out. So the lines of a slot are in the order of its holds.
//
// Holds may be lost when masters restart. That is not a failure: contend says how many were lost.
//
// Goroutines: one for each caller. contend waits for them.
func contend(ctx context.Context, take func(context.Context) (*redlock.Hold, error), stay time.Duration, journal, who string) error {
	file, err := os.OpenFile(journal, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	say("clock %d", shown())
	c := &contender{take: take, stay: stay, who: who, journal: file}
	var wg sync.WaitGroup
	errs := make([]error, callers)
	for i := range callers {
		wg.Go(func() {
			for ctx.Err() == nil && errs[i] == nil {
				errs[i] = c.turn(ctx)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	say("holds %d lost %d unsure %d", c.holds.Load(), c.lost.Load(), c.unsure.Load())
	return nil
}

// turn locks and unlocks once.
func (c *contender) turn(ctx context.Context) error {
	hold, err := c.take(ctx)
	if ctx.Err() != nil && err != nil {
		return nil // it was time to end
	}
	if err != nil {
		return fmt.Errorf("taking it: %w", err)
	}
	c.holds.Add(1)
	for _, act := range []string{"in", "out"} {
		if act == "out" && c.stay > 0 {
			time.Sleep(rand.N(c.stay))
		}
		if _, err := fmt.Fprintf(c.journal, "%s %d %s %d\n", act, hold.Slot(), c.who, hold.Token()); err != nil {
			return err
		}
	}
	if hold.Remaining() == 0 {
		return errors.New("held up for longer than the hold lasted: the order of the journal means nothing")
	}
	switch err := hold.Unlock(context.WithoutCancel(ctx)); {
	case err == nil:
	case errors.Is(err, redlock.ErrLost):
		c.lost.Add(1)
	case errors.Is(err, redlock.ErrNoQuorum):
		c.unsure.Add(1)
	default:
		return fmt.Errorf("unlock: %w", err)
	}
	return nil
}
