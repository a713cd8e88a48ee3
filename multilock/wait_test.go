package multilock

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// Waiting for a lock: when it is won, what is asked meanwhile, and when it is in vain.

// Where a subscription begins or breaks, messages may have been lost: a caller asks.
func TestAsksWhenMessagesMayBeLost(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		fx.seat("x", time.Hour, 0, 1, 2)
		m := fx.another(t)
		deafen(m)
		m.All.Greet(t.Context())
		before := fx.Master(0).Calls("EVALSHA")
		m.subs.work.Store(0)
		begin(t, m, patient("k"))
		want := int64(1)
		for _, tt := range []struct {
			name  string
			i     int
			on    bool
			after time.Duration
		}{
			{"one works, and others soon will", 0, true, 2 * gather},
			{"it breaks", 0, false, 2 * time.Millisecond},
			{"one works again", 0, true, 2 * gather},
			{"two work", 1, true, 2 * gather},
			{"all work", 2, true, 2 * time.Millisecond},
		} {
			m.Subscribed(tt.i, tt.on)
			rest(tt.after)
			want++
			check.Equal(t, fx.Master(0).Calls("EVALSHA")-before, want, "%s: rounds after %v", tt.name, tt.after)
		}
	})(t)
}

// A caller that gives up before any master has answered it says what others of its client found out: who has the lock,
// but not an outage that is over.
func TestReasonsOfOthers(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		held := fx.take(t, fx.another(t), "k")
		var calls []*call
		for range 4 {
			calls = append(calls, begin(t, fx.m, patient("k")))
		}
		first, second, third, fourth := calls[0], calls[1], calls[2], calls[3]
		time.Sleep(time.Second)
		fx.each(func(m *redlocktest.Master) { m.Delay(10 * time.Millisecond) })
		first.cancel()
		synctest.Wait()
		second.cancel()
		synctest.Wait()
		why, ok := errors.AsType[*poll.MajorityError](second.err)
		check.That(t, ok && why.Holder == held.Owner(), "behind one that left = %v, want it to name %s", second.err, held.Owner())
		fx.each((*redlocktest.Master).Freeze)
		time.Sleep(time.Second)
		third.cancel()
		third.wantError(t, "in an outage", poll.ErrNoQuorum)
		fx.each((*redlocktest.Master).Thaw)
		time.Sleep(time.Second)
		fx.each(func(m *redlocktest.Master) { m.Delay(0) })
		unlock(t, held)
		hold := fourth.wantHold(t, "after it")
		last := begin(t, fx.m, patient("k"))
		last.cancel()
		last.wantError(t, "behind a hold of the client", poll.ErrTaken)
		check.NotErr(t, "Lock after the outage", last.err, poll.ErrNoQuorum)
		unlock(t, hold)
	})(t)
}

// A master that does not know the holder grants the lock, and tells of it when the caller gives that vote back: this
// does not make the caller ask again at once.
func TestAWaiterDoesNotHearItself(t *testing.T) {
	for _, tt := range []struct {
		name, key, holder string
		permits           int
	}{
		{"a permit", script.SlotKey("k", 0), id("x"), 1},
		{"a lock", "k", id("x"), 0},
		{"what one of Redisson's clients has", "k", "8743c9c0-0795-4907-87fd-6c719a6b4586:17", 0},
	} {
		t.Run(tt.name, bubble(3, func(t *testing.T, fx *fixture) {
			for i := range 2 {
				fx.Master(i).HSet(tt.key, tt.holder, "1")
			}
			req := permit(tt.permits)
			before := fx.calls()
			for range 3 {
				req.Entry = new(entry)
				defer begin(t, fx.another(t), req).cancel()
			}
			time.Sleep(10 * time.Second)
			check.AtMost(t, (fx.calls()-before)/3/3, 40, "script calls of each of three callers on each master in ten seconds")
		}))
	}
}

// What Redisson's clients publish is subscribed to while a caller waits for one of them, and no
// longer, however that ends.
func TestRedissonsChannelIsLeft(t *testing.T) {
	for name, end := range map[string]func(*fixture, *driver){
		"given up": func(_ *fixture, d *driver) { d.giveUp() },
		"won": func(fx *fixture, d *driver) {
			fx.each(func(m *redlocktest.Master) { m.Del("k") })
			time.Sleep(time.Second)
			wantWon(t, "when it is free", d)
			d.giveUp()
		},
		"in vain": func(fx *fixture, _ *driver) {
			fx.each(func(m *redlocktest.Master) { m.Set("k", "no lock") })
			time.Sleep(time.Second)
		},
	} {
		t.Run(name, bubble(3, func(t *testing.T, fx *fixture) {
			fx.m.subscribe()
			time.Sleep(time.Second)
			fx.seat("8743c9c0-0795-4907-87fd-6c719a6b4586:17", time.Minute, 0, 1, 2)
			before := fx.Master(1).Calls("SUBSCRIBE")
			c := asked(fx.m)
			check.Equal(t, fx.Master(1).Calls("SUBSCRIBE")-before, 1, "subscriptions")
			time.Sleep(time.Second) // and several rounds
			end(fx, c)
			synctest.Wait()
			check.Equal(t, fx.Master(1).Calls("SUBSCRIBE")-before, 1, "subscriptions in the end")
			check.Equal(t, fx.Master(1).Calls("UNSUBSCRIBE"), 1, "subscriptions that were ended")
		}))
	}
}

// The first caller of a client that waits is in the queue before the client is subscribed. It keeps its place:
// what is handed off to it meanwhile it finds when it asks.
func TestFirstToWaitKeepsItsPlace(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		holder := fx.take(t, fx.m, "k")
		early, later := fx.another(t), fx.another(t)
		for _, m := range []*Masters{early, later} {
			unlock(t, fx.take(t, m, "other")) // which tells them the time
		}
		later.subscribe()
		time.Sleep(time.Second)
		fx.each(func(m *redlocktest.Master) { m.Delay(40 * time.Millisecond) })
		first := begin(t, early, patient("k"))
		time.Sleep(10 * time.Millisecond)
		second := begin(t, later, patient("k"))
		time.Sleep(10 * time.Millisecond) // its release comes last, and before the first has subscribed
		unlock(t, holder)
		time.Sleep(time.Second)
		second.wantWaiting(t, "behind the first")
		unlock(t, first.wantHold(t, "first"))
		time.Sleep(time.Second)
		unlock(t, second.wantHold(t, "after it"))
	})(t)
}

// A hold that was handed off, and whose token the masters had to agree on, ends when its validity does, whatever its timer
// was set for while it waited.
func TestHandedOffEndsInTime(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		holder := fx.take(t, fx.another(t), "k")
		c := begin(t, fx.m, patient("k"))
		time.Sleep(time.Second)
		for i, m := range fx.Masters() {
			m.Set("redlock_fence:{k}", fmt.Sprint(7_000_000_000_000_000+10*int64(i)))
		}
		fx.each(func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
		unlock(t, holder)
		time.Sleep(50 * time.Millisecond)
		check.AtLeast(t, c.wantHold(t, "handed off").Token(), 7_000_000_000_000_010, "the token")
		rest(lease)
		c.entry.wantEnded(t, poll.ErrLost)
	})(t)
}

// A caller that wants what nobody has gets it, or is told that there was no quorum, though the context ends as the masters answer.
func TestTheContextEndsAtTheMajority(t *testing.T) {
	free := func(t *testing.T, fx *fixture, req Request) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
		defer cancel()
		hold, err := fx.m.Lock(ctx, req)
		switch {
		case err == nil:
			check.OK(t, hold.Unlock(t.Context(), req.Entry))
		case !errors.Is(err, poll.ErrNoQuorum) || errors.Is(err, poll.ErrTaken) || errors.Is(err, poll.ErrClosed):
			t.Errorf("Lock = %v, want ErrNoQuorum", err)
		}
	}
	for name, req := range map[string]Request{"TryLock": {}, "Lock": {Wait: true}, "permit": {Wait: true, Permits: 1}} {
		t.Run(name, bubble(3, func(t *testing.T, fx *fixture) {
			fx.each(func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
			for range 300 {
				req.Key, req.Lease, req.Entry = "k", lease, new(entry)
				free(t, fx, req)
				time.Sleep(10 * time.Millisecond)
			}
		}))
	}
}
