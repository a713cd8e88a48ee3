package main

import (
	"context"
	"sync"
	"time"
)

// releases gives locks back as a careful user does whose context may have ended: the libraries would not
// send anything under it.
//
// Goroutines: one for each release, which ends when that has been answered, or after limit. Wait waits for
// all of them.
type releases struct {
	limit time.Duration // enough for a command and its repetition
	sync.WaitGroup
}

// release carries out do and returns what it returned, unless ctx ends before that: do then goes on.
func (r *releases) release(ctx context.Context, do func(context.Context) error) error {
	done := make(chan error, 1) // room for a result that nobody waits for
	r.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.limit)
		defer cancel()
		done <- do(ctx)
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
