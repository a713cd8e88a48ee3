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

// contender is a caller that takes a lock, or a permit, again and again.
type contender struct {
	take func(context.Context) (*redlock.Hold, error)
	stay time.Duration              // how long it is in, at most
	line func(*redlock.Hold) string // that it writes
}

// contend takes the lock, or a permit, again and again until ctx ends. While it has it, it appends two
// lines to the journal, which all contenders share: that who is in, with its slot and its token, and
// that who is out. So the lines of a slot are in the order of its holds.
func contend(ctx context.Context, take func(context.Context) (*redlock.Hold, error), stay time.Duration, journal, who string) error {
	say("clock %d", shown())
	all := make([]contender, callers)
	for i := range all {
		all[i] = contender{take, stay, func(h *redlock.Hold) string { return fmt.Sprint(h.Slot(), " ", who, " ", h.Token()) }}
	}
	return compete(ctx, all, journal)
}

// tally is what the callers share.
type tally struct {
	journal             *os.File
	holds, lost, unsure atomic.Int64
}

// compete has each of all take what it takes until ctx ends, and write its line with "in" and with "out"
// before it.
//
// Holds may be lost when masters restart. That is not a failure: compete says how many were lost.
//
// Goroutines: one for each caller. compete waits for them.
func compete(ctx context.Context, all []contender, journal string) error {
	file, err := os.OpenFile(journal, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	t := &tally{journal: file}
	var wg sync.WaitGroup
	errs := make([]error, len(all))
	for i, c := range all {
		wg.Go(func() {
			for ctx.Err() == nil && errs[i] == nil {
				errs[i] = c.turn(ctx, t)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	say("holds %d lost %d unsure %d", t.holds.Load(), t.lost.Load(), t.unsure.Load())
	return nil
}

// turn takes the lock once.
func (c *contender) turn(ctx context.Context, t *tally) error {
	hold, err := c.take(ctx)
	if ctx.Err() != nil && err != nil {
		return nil // it was time to end
	}
	if err != nil {
		return fmt.Errorf("taking it: %w", err)
	}
	t.holds.Add(1)
	for _, act := range []string{"in", "out"} {
		if act == "out" && c.stay > 0 {
			time.Sleep(rand.N(c.stay))
		}
		if _, err := fmt.Fprintf(t.journal, "%s %s\n", act, c.line(hold)); err != nil {
			return err
		}
	}
	if hold.Remaining() == 0 {
		return errors.New("held up for longer than the hold lasted: the order of the journal means nothing")
	}
	switch err := hold.Unlock(context.WithoutCancel(ctx)); {
	case err == nil:
	case errors.Is(err, redlock.ErrLost):
		t.lost.Add(1)
	case errors.Is(err, redlock.ErrNoQuorum):
		t.unsure.Add(1)
	default:
		return fmt.Errorf("unlock of %s: %w", c.line(hold), err)
	}
	return nil
}
