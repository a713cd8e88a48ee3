package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"example.com/redlock/redlock"
)

// callers is how many callers of one client compete, so that the lock is handed over inside a client
// as well as between clients.
const callers = 3

// contender is the state that the callers share.
type contender struct {
	client              *redlock.Client
	name, who           string
	journal             *os.File
	holds, lost, unsure atomic.Int64
}

// contend takes the lock again and again until ctx ends. While it has the lock, it appends two lines
// to the journal, which all contenders share: that who is in, with its token, and that who is out. So
// the lines are in the order of the holds.
//
// Holds may be lost when masters restart. That is not a failure: contend says how many were lost.
//
// Goroutines: one for each caller. contend waits for them.
func contend(ctx context.Context, client *redlock.Client, name, journal, who string) error {
	file, err := os.OpenFile(journal, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	say("clock %d", shown())
	c := &contender{client: client, name: name, who: who, journal: file}
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
	hold, err := c.client.Lock(ctx, c.name)
	if ctx.Err() != nil && err != nil {
		return nil // it was time to end
	}
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	c.holds.Add(1)
	for _, act := range []string{"in", "out"} {
		if _, err := fmt.Fprintf(c.journal, "%s %s %d\n", act, c.who, hold.Token()); err != nil {
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
