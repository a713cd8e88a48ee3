package main

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// witnessed is a hold whose context ends with it.
type witnessed struct {
	ctx   context.Context
	error // of Unlock
}

func (w witnessed) Context() context.Context     { return w.ctx }
func (w witnessed) Unlock(context.Context) error { return w.error }

// A hold is lost if either the hold itself or the masters say so.
func TestUnlockAll(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		hold hold
		want int
	}{
		{"kept", witnessed{t.Context(), nil}, 0},
		{"its context has ended", witnessed{ended, nil}, 1},
		{"its master has lost it", witnessed{t.Context(), errLost}, 1},
		{"both", witnessed{ended, errLost}, 1},
		{"kept, without a context", new(fake), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := unlockAll(t.Context(), []hold{c.hold}); got != c.want {
				t.Errorf("unlockAll = %d lost, want %d", got, c.want)
			}
		})
	}
}

// renewed counts its renewals.
type renewed struct {
	fake
	times atomic.Int32
}

func (r *renewed) Extend(context.Context) error {
	r.times.Add(1)
	return nil
}

func TestKeepRenewsEachOnceInAPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		holds := make([]hold, 1000)
		for i := range holds {
			holds[i] = new(renewed)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := keep(ctx, holds, 3*time.Second)
		time.Sleep(6*time.Second - time.Nanosecond)
		cancel()
		<-done
		for i, h := range holds {
			if n := h.(*renewed).times.Load(); n != 2 {
				t.Errorf("hold %d was renewed %d times in two periods, want twice", i, n)
			}
		}
	})
}
