package main

import (
	"context"
	"math/rand/v2"
	"strconv"
	"time"
)

// pause is a time of varying length, so that it falls in no step with who polls.
type pause struct{ least, spread time.Duration }

func (p pause) sleep(ctx context.Context) { sleep(ctx, p.least+rand.N(p.spread)) }

// rested returns how long it takes to acquire a free lock after a pause, in which
// processors fall asleep. It goes on while more says so of the number of acquires.
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
