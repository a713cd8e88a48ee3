package main

import (
	"context"
	"math/rand/v2"
	"strconv"
	"time"
)

// pause is a random length of time, so that it does not fall into step with clients that poll.
type pause struct{ least, spread time.Duration }

func (p pause) sleep(ctx context.Context) { sleep(ctx, p.least+rand.N(p.spread)) }

// rested returns how long it takes to acquire a free lock after a pause, during which processors go
// to sleep. It goes on while more returns true for the number of acquires so far.
func rested(ctx context.Context, cl client, p pause, more func(n int) bool) (samples, error) {
	var acquires samples
	for more(len(acquires)) && ctx.Err() == nil {
		p.sleep(ctx)
		asked := time.Now()
		h, err := cl.Lock(ctx, "rested:"+strconv.Itoa(len(acquires)))
		if err != nil {
			return nil, err
		}
		acquires = append(acquires, time.Since(asked))
		if err := h.Unlock(ctx); err != nil {
			return nil, err
		}
	}
	return acquires, nil
}
