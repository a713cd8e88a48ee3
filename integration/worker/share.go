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

const (
	readers = 3                    // callers of one client that read; one more writes
	inside  = 4 * time.Millisecond // how long each has the lock, at most
)

// share takes the lock again and again until ctx ends, for writing and for reading. Who has it appends
// two lines to the journal, which all share: "in kind who token" and "out kind who token". So between
// the two of a writer is no other, if it was alone.
//
// Goroutines: one for each caller. share waits for them.
func share(ctx context.Context, client *redlock.Client, name, journal, who string) error {
	file, err := os.OpenFile(journal, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	say("begins")
	var wg sync.WaitGroup
	var holds, lost, unsure atomic.Int64
	errs := make([]error, readers+1)
	for i := range errs {
		kind, lock := "reader", client.RLock
		if i == 0 {
			kind, lock = "writer", client.Lock
		}
		turn := func() error {
			hold, err := lock(ctx, name)
			if ctx.Err() != nil && err != nil {
				return nil // it was time to end
			}
			if err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}
			holds.Add(1)
			line := fmt.Sprintf("%s %s-%d %d\n", kind, who, i, hold.Token())
			_, err1 := fmt.Fprint(file, "in ", line)
			time.Sleep(rand.N(inside))
			_, err2 := fmt.Fprint(file, "out ", line)
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
			if hold.Remaining() == 0 {
				return errors.New("held up for longer than the hold lasted: the order of the journal means nothing")
			}
			switch err := hold.Unlock(context.WithoutCancel(ctx)); {
			case err == nil:
			case errors.Is(err, redlock.ErrLost):
				lost.Add(1)
			case errors.Is(err, redlock.ErrNoQuorum):
				unsure.Add(1)
			default:
				return fmt.Errorf("unlock of a %s: %w", kind, err)
			}
			return nil
		}
		wg.Go(func() {
			for ctx.Err() == nil && errs[i] == nil {
				errs[i] = turn()
			}
		})
	}
	wg.Wait()
	say("holds %d lost %d unsure %d", holds.Load(), lost.Load(), unsure.Load())
	return errors.Join(errs...)
}

// read takes the lock for reading, once, and keeps it.
func read(ctx context.Context, client *redlock.Client, name string) error {
	hold, err := client.RLock(ctx, name)
	if err != nil {
		return err
	}
	say("reads")
	<-ctx.Done()
	return hold.Unlock(context.WithoutCancel(ctx))
}
