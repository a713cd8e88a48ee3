package multilock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/internal/check"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// The life of a hold: validity, Extend, its end.

// Giving a lock back.

// An Unlock of one entry of several that finds the hold gone ends it for all.
func TestUnlockOfOneEntryFindsTheHoldLost(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		owner := new(int)
		one, two := shared(owner), shared(owner)
		hold := fx.lock(t, one)
		fx.lock(t, two)
		fx.each(func(m *redlocktest.Master) { m.Del("k") })
		check.Err(t, "Unlock", hold.Unlock(t.Context(), one.Entry), poll.ErrLost)
		one.Entry.(*entry).wantEnded(t, poll.ErrNotHeld)
		two.Entry.(*entry).wantEnded(t, poll.ErrLost)
		check.Err(t, "Unlock of the other", hold.Unlock(t.Context(), two.Entry), poll.ErrLost)
		fx.wantNothing(t, "then", fx.m)
	})(t)
}

// An Unlock that too few masters confirm says whether the release is sent again.
func TestAnUnlockThatIsNotConfirmed(t *testing.T) {
	for says, fault := range map[string]func(*redlocktest.Master){
		"the release goes on in the background": (*redlocktest.Master).Freeze,
		"goes on in the background": func(m *redlocktest.Master) { // it is down by then
			m.Kill()
			time.Sleep(time.Second)
		},
		"are not asked again": func(m *redlocktest.Master) { m.Set("k", "no lock") },
	} {
		t.Run(says, bubble(3, func(t *testing.T, fx *fixture) {
			hold := fx.take(t, fx.m, "k")
			fx.each(fault, 0, 1)
			err := hold.Unlock(t.Context(), entryOf(hold))
			check.Err(t, "Unlock", err, poll.ErrNoQuorum)
			check.Says(t, err, says, "Unlock")
			fx.each((*redlocktest.Master).Thaw)
		}))
	}
}

// Two holds that are joined have the larger token, and are lost together. One whose other half has ended
// is not joined with the next.
func TestJoin(t *testing.T) {
	const far int64 = 7_000_000_000_000_000
	gone := errors.New("gone")
	lose := func(h *Hold) { h.end(attempt.Lose, gone) }
	for _, tt := range []struct {
		what    string
		do      func(a, b *Hold)
		want    error // why the first has ended; nil if it goes on
		joins   bool  // they can be joined again
		another bool  // the first is joined with another then
	}{
		{"again", func(a, b *Hold) {}, nil, true, false},
		{"the first is lost", func(a, b *Hold) { lose(a) }, gone, false, false},
		{"the second is lost", func(a, b *Hold) { lose(b) }, gone, false, false},
		{"validity ends", func(a, b *Hold) { time.Sleep(lease) }, poll.ErrLost, false, false},
		{"that of the second ends first", func(a, b *Hold) {
			b.d.mu.Lock()
			b.d.state.Until = clock.Now()
			b.d.mu.Unlock()
			check.Err(t, "Check of the second", b.Check(), poll.ErrLost)
		}, poll.ErrLost, false, false},
		{"the second is unlocked", func(a, b *Hold) { unlock(t, b) }, nil, false, false},
		{"another second", func(a, b *Hold) { unlock(t, b) }, nil, false, true},
	} {
		t.Run(tt.what, bubble(3, func(t *testing.T, fx *fixture) {
			second := &fixture{Fleet: redlocktest.Start(t, 3)}
			second.m = second.another(t)
			second.each(func(m *redlocktest.Master) { m.Set("redlock_fence:{k}", "7000000000000000") })
			a, b := fx.take(t, fx.m, "k"), second.take(t, second.m, "k")
			if err := Join(t.Context(), a, b); err != nil || a.Token() != b.Token() || a.Token() <= far {
				t.Errorf("Join = %v with tokens %d and %d, want one token above %d", err, a.Token(), b.Token(), far)
			}
			tt.do(a, b)
			if tt.want == nil {
				entryOf(a).wantAlive(t)
			} else {
				entryOf(a).wantEnded(t, tt.want)
				entryOf(b).wantEnded(t, tt.want)
			}
			if tt.another {
				b = second.take(t, second.m, "k")
			}
			err := Join(t.Context(), a, b)
			if tt.joins {
				check.Err(t, "Join", err)
				entryOf(a).wantAlive(t)
				return
			}
			check.That(t, errors.Is(err, poll.ErrLost) && a.Count() == 0 && b.Count() == 0, "Join = %v with counts %d and %d, want ErrLost and neither held", err, a.Count(), b.Count())
		}))
	}
}

// A hold that is joined with one that goes on is joined with no other, which is lost, and stays as it is. Readers of one
// owner that lock a name at the same time have two holds in one set, and share that in the other.
func TestJoinBesideAnother(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		second := &fixture{Fleet: redlocktest.Start(t, 3)}
		second.m = second.another(t)
		reads := func(fx *fixture) *Hold {
			req := request("k")
			req.Shared = true
			return fx.lock(t, req)
		}
		a, b := reads(fx), reads(second)
		check.OK(t, Join(t.Context(), a, b))
		third, fourth := reads(fx), reads(second)
		for i, pair := range [][2]*Hold{{third, b}, {a, fourth}} {
			check.Err(t, fmt.Sprintf("Join %d", i), Join(t.Context(), pair[0], pair[1]), poll.ErrLost)
		}
		check.Equal(t, [4]int{a.Count(), b.Count(), third.Count(), fourth.Count()}, [4]int{1, 1, 0, 0}, "the hold counts")
	})(t)
}

// Permits of two sets keep their tokens, and those that cannot be joined say which semaphore was lost.
func TestJoinOfPermits(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		req, other := request("k"), request("k")
		req.Permits, other.Permits = 2, 2
		a := fx.lock(t, req)
		rest(time.Millisecond)
		b := fx.lock(t, other)
		first, second := a.Token(), b.Token()
		check.OK(t, Join(t.Context(), a, b))
		check.That(t, first < second && a.Token() == first && b.Token() == second, "joined, they have the tokens %d and %d, want %d and %d", a.Token(), b.Token(), first, second)
		unlock(t, b)
		check.Equal(t, fmt.Sprint(Join(t.Context(), a, b)), `redlock: acquire "k": hold lost`, "Join says")
	})(t)
}

// TestActivity: the masters are checked as often as what the client does needs.
func TestActivity(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		m, other := fx.m, fx.another(t)
		does := func(when string, want node.Activity) {
			t.Helper()
			synctest.Wait()
			check.Equal(t, m.Activity(), want, "the activity %s", when)
		}
		renewed := func(m *Masters, key string) *Hold {
			return begin(t, m, watched(key)).wantHold(t, "what is free")
		}
		does("at first", node.Idle)
		hold := renewed(m, "k")
		does("with a hold", node.Holding)
		second := renewed(m, "l")
		unlock(t, hold)
		does("with another hold", node.Holding)
		unlock(t, second)
		does("after Unlock", node.Idle)

		theirs := renewed(other, "k")
		waits := begin(t, m, patient("k"))
		time.Sleep(time.Minute)
		does("while it waits", node.Waiting)
		waits.cancel()
		does("after it gave up", node.Idle)

		unlock(t, theirs)
		synctest.Wait() // all masters are free: else the next lock waits, until the frozen one counts as down
		fx.Master(0).Freeze()
		hold = renewed(m, "k")
		unlock(t, hold)
		does("while a release is owed", node.Waiting)
		fx.Master(0).Thaw()
		time.Sleep(lease)
		does("after it was answered", node.Idle)

		renewed(m, "k")
		fx.each((*redlocktest.Master).Cut)
		time.Sleep(2 * lease)
		does("after a hold was lost", node.Idle)
	})(t)
}

// Callers that share an owner enter each other's hold.

// wantCounts checks the hold count of hold at each master, which must be the same, and in the client.
func (fx *fixture) wantCounts(t *testing.T, hold *Hold, want string, inClient int) {
	t.Helper()
	synctest.Wait()
	for i, m := range fx.Masters() {
		check.Equal(t, m.HGet("k", hold.Owner()), want, "hold count at m%d", i+1)
	}
	check.Equal(t, hold.Count(), inClient, "Count")
}

// Re-entry touches only what is held, and needs a majority that has the hold.
func TestEnterNeedsAMajority(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		owner := new(int)
		req := shared(owner)
		hold := fx.lock(t, req)
		fx.Master(0).FlushAll()
		fx.lock(t, shared(owner)) // two masters of three have the hold
		fx.wantHolders(t, "k", "- "+hold.Owner()+" "+hold.Owner())

		fx.each((*redlocktest.Master).Freeze, 1, 2)
		fx.wantRefused(t, shared(owner), poll.ErrNoQuorum)
		check.Equal(t, hold.Count(), 2, "Count, in which is nothing that was not confirmed")
		fx.each((*redlocktest.Master).Thaw, 1, 2)
		time.Sleep(2 * time.Second)
		// Nor is the hold's owner a stray by that, which this client would release wherever it meets it.
		fx.wantRefused(t, request("k"), poll.ErrTaken)
		fx.wantHolders(t, "k", "- "+hold.Owner()+" "+hold.Owner())
		check.Equal(t, fx.Master(2).HGet("k", hold.Owner()), "2", "hold count of m3, where the entry was taken back")

		// A majority has lost it: the hold is lost, and the caller locks anew.
		fx.Master(1).FlushAll()
		next, err := fx.m.Lock(t.Context(), shared(owner))
		if err != nil || next == hold {
			t.Fatalf("Lock with the hold at one master of three = %v, want a new hold", err)
		}
		req.Entry.(*entry).wantEnded(t, poll.ErrLost)
		entryOf(next).wantAlive(t) // it was not inside when that hold ended
		fx.wantHolders(t, "k", next.Owner()+" "+next.Owner()+" "+next.Owner())
		check.AtLeast(t, next.Token(), hold.Token()+1, "the token of the next hold")
	})(t)
}

// A hold is not taken by another owner because a minority of the masters says so, while others say nothing.
func TestEnterBesideAStray(t *testing.T) {
	bubble(5, func(t *testing.T, fx *fixture) {
		req := shared(new(int))
		hold := fx.lock(t, req)
		fx.seat("x", time.Hour, 0)
		fx.each((*redlocktest.Master).Freeze, 1, 2)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_, err := fx.m.Lock(ctx, shared(req.Owner))
		check.Err(t, "Lock", err, poll.ErrNoQuorum, context.DeadlineExceeded)
		check.NotErr(t, "Lock", err, poll.ErrTaken)
		check.NotErr(t, "Lock", fx.wantRefused(t, shared(req.Owner), poll.ErrNoQuorum), poll.ErrTaken)
		check.Err(t, "Check", hold.Check())
	})(t)
}

// A caller who waits enters once the hold of its owner can be confirmed, and stays a waiter until then.
func TestWaitingToEnter(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		owner := new(int)
		hold := fx.lock(t, shared(owner))
		fx.each(func(m *redlocktest.Master) { m.Refuse("OOM no") }, 0, 1)
		c := begin(t, fx.m, patiently(owner))
		time.Sleep(time.Second)
		c.wantWaiting(t, "while two masters refuse")
		fx.Master(0).Refuse("")
		time.Sleep(time.Second)
		h := c.wantHold(t, "when one answers again")
		check.That(t, h == hold && h.Count() == 2, "Lock = another hold, or count %d, want the same with 2", h.Count())
		// It ends with its context, and says why.
		fx.Master(0).Refuse("OOM no")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := fx.m.Lock(ctx, patiently(owner))
		check.Err(t, "Lock", err, context.DeadlineExceeded, poll.ErrNoQuorum)
		fx.each(func(m *redlocktest.Master) { m.Refuse("") })
		hold.end(attempt.End, poll.ErrNotHeld)
		// And at once where no wait could help.
		hold = fx.lock(t, shared(owner))
		fx.each(func(m *redlocktest.Master) { m.Refuse("NOPERM no") })
		_, err = fx.m.Lock(t.Context(), patiently(owner))
		why, ok := errors.AsType[*poll.MajorityError](err)
		check.That(t, ok && why.Hopeless && hold.Count() == 1, "Lock = %v, want it hopeless while the hold lasts", err)
		fx.each(func(m *redlocktest.Master) { m.Refuse("") })
		hold.end(attempt.End, poll.ErrNotHeld)
	})(t)
}

// A caller that waits, and is not the first, enters the hold that another call gets for its owner.
func TestOwnersCallersEnterOutOfTurn(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		owner := new(int)
		first := begin(t, fx.m, patiently(owner))
		between := begin(t, fx.m, patiently(new(int)))
		last := begin(t, fx.m, patiently(owner))
		unlock(t, hold)
		hold = first.wantHold(t, "it is the first")
		check.Equal(t, last.wantHold(t, "its owner has the lock"), hold, "the hold of the last caller")
		between.wantWaiting(t, "while another owner has it")
		fx.wantCounts(t, hold, "2", 2)
		for _, c := range []*call{first, last} {
			check.Err(t, "Unlock", hold.Unlock(t.Context(), c.entry))
		}
		unlock(t, between.wantHold(t, "then"))
		fx.wantNothing(t, "after all", fx.m)
	})(t)
}

// A caller that asks the masters enters the hold that a try gets for its owner, where they have forgotten who waits.
func TestACallerThatAsksEntersWhatATryGets(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		fx.seat("x", time.Hour, 0, 1, 2)
		owner := new(int)
		asks := begin(t, fx.m, patiently(owner))
		fx.each((*redlocktest.Master).FlushAll)
		hold := fx.lock(t, shared(owner))
		check.Equal(t, asks.wantHold(t, "its owner has the lock"), hold, "the hold of the caller that asks")
		hold.end(attempt.End, poll.ErrNotHeld)
	})(t)
}

// Unlock of one entry returns once the masters have been told, however many others come and go meanwhile.
func TestUnlockWhileOthersComeAndGo(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		owner := new(int)
		outer, inner := shared(owner), shared(owner)
		hold := fx.lock(t, outer)
		fx.lock(t, inner)
		fx.each(func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
		var others sync.WaitGroup
		others.Go(func() {
			for range 5000 {
				others.Go(func() {
					req := shared(owner)
					_, err := fx.m.Lock(t.Context(), req)
					check.Err(t, "Lock", err)
					check.Err(t, "Unlock", hold.Unlock(t.Context(), req.Entry))
				})
				time.Sleep(time.Second / 5000)
			}
		})
		time.Sleep(100 * time.Millisecond)
		began := time.Now()
		check.OK(t, hold.Unlock(t.Context(), inner.Entry))
		check.AtMost(t, time.Since(began), 10*time.Millisecond, "Unlock took")
		others.Wait()
		fx.wantCounts(t, hold, "1", 1)
		unlock(t, hold)
	})(t)
}

// downgrade has the masters make a reader of a hold, without its client.
func (fx *fixture) downgrade(t *testing.T, hold *Hold) {
	t.Helper()
	reader := script.NewReader(hold.d.key, hold.Owner())
	words := script.Renew(lease, []script.Renewal{{Owner: reader, Token: hold.Token()}}).Words(nil, false)
	for _, p := range fx.Pools() {
		conn := p.Get()
		_, err := conn.Do(words[0].(string), words[1:]...)
		check.OK(t, errors.Join(err, conn.Close()))
	}
}

// What was asked for a writer, and comes behind the downgrade, says nothing of the reader that the hold is by
// then: nothing is lost, and it is asked again for a reader. What comes before the downgrade counts.
func TestWhatComesBehindADowngrade(t *testing.T) {
	type call func(fx *fixture, hold *Hold, owner any, inner Entry) error
	leave := call(func(_ *fixture, hold *Hold, _ any, inner Entry) error {
		return hold.Unlock(context.Background(), inner)
	})
	for name, tt := range map[string]struct {
		call   call
		want   error
		count  int
		before bool
	}{
		"RLock": {func(fx *fixture, _ *Hold, owner any, _ Entry) error {
			req := shared(owner)
			req.Shared = true
			_, err := fx.m.Lock(context.Background(), req)
			return err
		}, nil, 3, false},
		"Lock": {func(fx *fixture, _ *Hold, owner any, _ Entry) error {
			_, err := fx.m.Lock(context.Background(), shared(owner))
			return err
		}, poll.ErrUpgrade, 2, false},
		"Unlock":           {leave, nil, 1, false},
		"Unlock before it": {leave, nil, 1, true},
		"Extend": {func(_ *fixture, hold *Hold, _ any, inner Entry) error {
			return hold.Extend(context.Background(), inner, lease)
		}, nil, 2, false},
	} {
		t.Run(name, bubble(3, func(t *testing.T, fx *fixture) {
			owner := new(int)
			outer, inner := shared(owner), shared(owner)
			hold := fx.lock(t, outer)
			fx.lock(t, inner)
			if !tt.before {
				fx.downgrade(t, hold) // the masters know it first
			}
			fx.each(func(m *redlocktest.Master) { m.Delay(10 * time.Millisecond) })
			result := during(func() error { return tt.call(fx, hold, owner, inner.Entry) }) // it was asked for a writer
			check.Err(t, "Downgrade", hold.Downgrade(t.Context(), outer.Entry))
			check.Err(t, name, <-result, tt.want)
			check.Equal(t, hold.Count(), tt.count, "Count")
			outer.Entry.(*entry).wantAlive(t)
			hold.end(attempt.End, poll.ErrNotHeld)
			time.Sleep(time.Second)
			fx.wantHolders(t, "k", "- - -")
		}))
	}
}

// A hold whose last entry gives up before it is confirmed has ended, as by Unlock.
func TestTheLastEntryGivesUp(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		outer := shared(new(int))
		hold := fx.lock(t, outer)
		synctest.Wait()
		fx.each(func(m *redlocktest.Master) { m.Delay(10 * time.Millisecond) })
		inner := begin(t, fx.m, shared(outer.Owner))
		check.Equal(t, hold.Count(), 1, "the hold count, before the masters have confirmed an entry")
		var unlocked sync.WaitGroup
		unlocked.Go(func() { check.OK(t, hold.Unlock(t.Context(), outer.Entry)) })
		synctest.Wait()
		inner.cancel()
		inner.wantError(t, "it gave up", context.Canceled)
		check.Err(t, "Check", hold.Check(), poll.ErrNotHeld)
		unlocked.Wait()
		outer.Entry.(*entry).wantEnded(t, poll.ErrNotHeld)
		fx.wantNothing(t, "after all", fx.m)
	})(t)
}
