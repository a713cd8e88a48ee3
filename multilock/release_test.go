package multilock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlocktest"
)

// Giving a lock back.

func TestUnlock(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(fx *fixture)
		want   error
	}{
		{"all masters", func(*fixture) {}, nil},
		{"a dead minority", func(fx *fixture) { fx.Master(0).Kill(); fx.Master(4).Kill() }, nil},
		{"a minority lost it", func(fx *fixture) { fx.Master(0).FlushAll(); fx.Master(4).FlushAll() }, nil},
		{"a majority lost it", func(fx *fixture) { fx.Master(0).FlushAll(); fx.Master(2).FlushAll(); fx.Master(4).FlushAll() }, ErrLost},
		{"a majority is dead", func(fx *fixture) { fx.Master(0).Kill(); fx.Master(2).Kill(); fx.Master(4).Kill() }, ErrNoQuorum},
		{"a dead minority, and one lost it", func(fx *fixture) { fx.Master(0).Kill(); fx.Master(2).Kill(); fx.Master(4).FlushAll() }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 5, func(t *testing.T, fx *fixture) {
				hold := fx.take(t, fx.m, "k")
				e := entryOf(hold)
				tt.before(fx)
				synctest.Wait()
				err := hold.Unlock(t.Context(), e)
				if !errors.Is(err, tt.want) {
					t.Errorf("Unlock = %v, want %v", err, tt.want)
				}
				// Whatever the masters say, the entry ended before they were asked.
				e.wantEnded(t, ErrNotHeld)
				if err := hold.Unlock(t.Context(), e); !errors.Is(err, ErrNotHeld) {
					t.Errorf("Unlock twice = %v, want ErrNotHeld", err)
				}
			})
		})
	}
}

// A hold that only just had a majority can be given back while one of it is away: two masters never had
// it, so with one that frees it a majority is free.
func TestUnlockOfABareMajority(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault func(fx *fixture)
		want  error
	}{
		{"all there", func(*fixture) {}, nil},
		{"one away", func(fx *fixture) { fx.Master(0).Kill() }, nil},
		{"two away", func(fx *fixture) { fx.Master(0).Kill(); fx.Master(1).Kill() }, nil},
		{"all away", func(fx *fixture) { fx.Master(0).Kill(); fx.Master(1).Kill(); fx.Master(2).Kill() }, ErrNoQuorum},
		{"one forgot", func(fx *fixture) { fx.Master(0).FlushAll() }, ErrLost}, // and somebody had a majority, perhaps
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 5, func(t *testing.T, fx *fixture) {
				fx.seat("b", time.Hour, 3, 4)
				// Wait for all answers: the masters that refuse must have done so.
				for i := range 3 {
					fx.Master(i).Delay(time.Millisecond)
				}
				hold := fx.take(t, fx.m, "k")
				time.Sleep(time.Second)
				tt.fault(fx)
				synctest.Wait()
				if err := hold.Unlock(t.Context(), entryOf(hold)); !errors.Is(err, tt.want) {
					t.Errorf("Unlock = %v, want %v", err, tt.want)
				}
			})
		})
	}
}

// A release reaches a master that was away: killed, frozen or cut off.
func TestReleaseReachesAMasterThatReturns(t *testing.T) {
	for name, f := range map[string]struct{ away, back func(*redlocktest.Master) }{
		"killed": {(*redlocktest.Master).Kill, (*redlocktest.Master).RestartWithData},
		"frozen": {(*redlocktest.Master).Freeze, (*redlocktest.Master).Thaw},
		"cut":    {(*redlocktest.Master).Cut, (*redlocktest.Master).Mend},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				hold := fx.take(t, fx.m, "k")
				f.away(fx.Master(0))
				unlock(t, hold)
				time.Sleep(time.Second)
				f.back(fx.Master(0))
				time.Sleep(2 * time.Second)
				fx.wantNothing(t, "when it is back", fx.m)
			})
		})
	}
}

// Unlock without waiting says so, and that the release goes on. It does.
func TestUnlockThatIsNotWaitedFor(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		fx.each(func(m *redlocktest.Master) { m.Delay(timeout / 4) })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := hold.Unlock(ctx, entryOf(hold))
		const want = `redlock: unlock "k": context canceled: not waited for, the release goes on in the background (0 of 3 masters, 2 needed)`
		if !errors.Is(err, ErrNoQuorum) || !errors.Is(err, context.Canceled) || err.Error() != want {
			t.Errorf("Unlock = %v, want %s", err, want)
		}
		time.Sleep(time.Second)
		fx.wantNothing(t, "a second later", fx.m)
	})
}

// cancels is an entry whose end ends a context, as the context of a hold does.
type cancels struct {
	entry
	cancel context.CancelCauseFunc
}

func (c *cancels) Ended(cause error) {
	c.entry.Ended(cause)
	c.cancel(cause)
}

// Unlock under the context of its own entry waits for the answers all the same: that context ends
// with the Unlock.
func TestUnlockUnderItsOwnContext(t *testing.T) {
	for name, shares := range map[string]bool{"alone": false, "one of two": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				owner := new(int)
				req := shared(owner)
				e := &cancels{cancel: cancel}
				req.Entry = e
				hold := fx.lock(t, req)
				other := shared(owner)
				if shares {
					fx.lock(t, other)
				}
				synctest.Wait()
				fx.each(func(m *redlocktest.Master) { m.Delay(10 * time.Millisecond) })
				start := time.Now()
				if err := hold.Unlock(ctx, e); err != nil {
					t.Errorf("Unlock = %v, want nil: a majority confirms it", err)
				}
				if took := time.Since(start); took != 20*time.Millisecond {
					t.Errorf("Unlock took %v, want a round trip", took)
				}
				hold.end(nil)
				time.Sleep(time.Second)
				fx.wantNothing(t, "then", fx.m)
			})
		})
	}
}

// An Unlock of one entry of several that finds the hold gone ends it for all.
func TestUnlockOfOneEntryFindsTheHoldLost(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		owner := new(int)
		one, two := shared(owner), shared(owner)
		hold := fx.lock(t, one)
		fx.lock(t, two)
		synctest.Wait()
		fx.each(func(m *redlocktest.Master) { m.Del("k") })
		if err := hold.Unlock(t.Context(), one.Entry); !errors.Is(err, ErrLost) {
			t.Errorf("Unlock = %v, want ErrLost", err)
		}
		one.Entry.(*entry).wantEnded(t, ErrNotHeld)
		two.Entry.(*entry).wantEnded(t, ErrLost)
		if err := hold.Unlock(t.Context(), two.Entry); !errors.Is(err, ErrLost) {
			t.Errorf("Unlock of the other = %v, want ErrLost", err)
		}
		fx.wantNothing(t, "then", fx.m)
	})
}
