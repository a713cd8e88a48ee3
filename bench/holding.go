package main

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

// Taking, renewing and releasing many locks at once.

// keepers is how many goroutines do that.
const keepers = 64

// share has the keepers call do(0) to do(n-1) between them, and returns the first error.
func share(n int, do func(i int) error) error {
	var group errgroup.Group
	for k := range keepers {
		group.Go(func() error {
			for i := k; i < n; i += keepers {
				if err := do(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// takeAll locks each of the names.
func takeAll(ctx context.Context, cl client, names []string) ([]hold, error) {
	holds := make([]hold, len(names))
	return holds, share(len(names), func(i int) (err error) {
		holds[i], err = cl.Lock(ctx, names[i])
		return err
	})
}

// keep renews holds whose library does not renew them, each once per period and evenly spread, until
// ctx ends. It then closes the channel. A renewal that fails shows when the lock is released.
func keep(ctx context.Context, holds []hold, period time.Duration) <-chan struct{} {
	done := make(chan struct{})
	if _, ok := holds[0].(renewer); !ok {
		close(done)
		return done
	}
	start := time.Now()
	go func() {
		defer close(done)
		for round := 0; ctx.Err() == nil; round++ {
			_ = share(len(holds), func(i int) error {
				due := time.Duration(round)*period + period*time.Duration(i)/time.Duration(len(holds))
				sleep(ctx, time.Until(start.Add(due)))
				if ctx.Err() == nil {
					_ = holds[i].(renewer).Extend(ctx)
				}
				return ctx.Err()
			})
		}
	}()
	return done
}

// Some holds show by themselves that they are lost: their context has ended, or their validity is
// over.
type (
	witness interface{ Context() context.Context }
	limited interface{ Until() time.Time }
)

// unlock unlocks h. It returns an error if h had been lost, according to h itself or to the masters.
func unlock(ctx context.Context, h hold) error {
	var lost error
	if w, ok := h.(witness); ok {
		lost = context.Cause(w.Context())
	}
	if l, ok := h.(limited); ok && lost == nil && !time.Now().Before(l.Until()) {
		lost = errLost
	}
	if err := h.Unlock(ctx); err != nil {
		return err
	}
	return lost
}

// unlockAll unlocks the holds, and returns how many had been lost.
func unlockAll(ctx context.Context, holds []hold) (lost int) {
	gone := make([]bool, len(holds))
	_ = share(len(holds), func(i int) error {
		gone[i] = unlock(ctx, holds[i]) != nil
		return nil
	})
	for _, g := range gone {
		if g {
			lost++
		}
	}
	return lost
}
