package multilock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// Waiting for a lock: when it is won, what is asked meanwhile, and when it is in vain.

// A free lock costs one round trip and no subscription, also for who would wait.
func TestAFreeLockCostsOneRoundTrip(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, fx *fixture) {
		fx.each(func(m *redlocktest.Master) { m.Delay(30 * time.Millisecond) })
		before := fx.Master(0).Calls("EVALSHA")
		start := time.Now()
		req := patient("k")
		hold, err := fx.m.Lock(t.Context(), req)
		if took := time.Since(start); err != nil || took != 60*time.Millisecond {
			t.Fatalf("Lock = %v after %v, want nil after 60ms", err, took)
		}
		if got, want := hold.Remaining(), clock.Validity(lease, 60*time.Millisecond); got != want {
			t.Errorf("Remaining = %v, want %v", got, want)
		}
		time.Sleep(time.Second)
		for _, m := range fx.Masters() {
			if calls := m.Calls("SUBSCRIBE"); calls != 0 {
				t.Errorf("%s: %d subscriptions, want none", m.Name(), calls)
			}
		}
		if calls := fx.Master(0).Calls("EVALSHA") - before; calls != 1 {
			t.Errorf("%d script calls, want 1", calls)
		}
		unlock(t, hold)
		time.Sleep(time.Second)
		fx.wantNothing(t, "after Unlock", fx.m)
		req.Entry.(*entry).wantEnded(t, ErrNotHeld)
	})
}

// The lock is won with the q-th message, when that comes: the release takes as long as the
// message to each master, so the third of five comes after 2 · 3 ms.
func TestWonAtTheMajoritysMessage(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		m := fx.another(t)
		c := begin(t, m, patient("k"))
		time.Sleep(time.Second) // subscribed
		for i, m := range fx.Masters() {
			m.Delay(time.Duration(i+1) * time.Millisecond)
		}
		start := time.Now()
		unlock(t, hold)
		time.Sleep(20 * time.Millisecond)
		next := c.wantHold(t, "after the messages")
		if took := c.at.Sub(start); took != 6*time.Millisecond {
			t.Errorf("Lock returned %v after the release, want 6ms", took)
		}
		// It was handed off for a short time, and is to be renewed soon to what was wanted.
		if left := next.Remaining(); left > time.Second {
			t.Errorf("Remaining = %v at once, want that of a hand-off", left)
		}
		time.Sleep(20 * time.Millisecond)
		if left := next.Remaining(); left < lease-time.Second {
			t.Errorf("Remaining = %v soon after, want that of the lease", left)
		}
		unlock(t, next)
		time.Sleep(time.Second)
		fx.wantNothing(t, "after both", fx.m, m)
	})
}

// Not one message earlier, whatever else is known.
func TestNotWonByAMinority(t *testing.T) {
	for n := 1; n <= 5; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			inBubble(t, n, func(t *testing.T, fx *fixture) {
				hold := fx.take(t, fx.m, "k")
				m := fx.another(t)
				post := fx.hold(t, m)
				c := asked(m)
				unlock(t, hold)
				for i := range n/2 + 1 {
					wantNotWon(t, "before the q-th message", c)
					post.deliver(t, i)
				}
				m.release(wantWon(t, "at the q-th message", c).Claim, 0)
			})
		})
	}
}

// Expiry sends no message: a caller asks when the time is over that the masters said is left.
func TestALeaseThatRunsOutIsNoticed(t *testing.T) {
	const settle = time.Millisecond
	for _, lease := range []time.Duration{50 * time.Millisecond, 300 * time.Millisecond, 1234 * time.Millisecond} {
		t.Run(lease.String(), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				fx.seat("x", lease, 0, 1, 2)
				start := time.Now()
				c := begin(t, fx.another(t), patient("k"))
				time.Sleep(5 * time.Second)
				c.wantHold(t, "after the lease")
				if took := c.at.Sub(start); took < lease || took > lease+settle {
					t.Errorf("Lock returned after %v, want %v to %v", took, lease, lease+settle)
				}
			})
		})
	}
}

// It is the majority's time that counts, not the first master's.
func TestWaitsUntilAMajorityIsFree(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.seat("x", 20*time.Millisecond, 0)
		fx.seat("x", 120*time.Millisecond, 1)
		fx.seat("x", 5*time.Second, 2)
		m := fx.another(t)
		fx.hold(t, m) // no hint but the time
		m.greet(t.Context())
		before := fx.Master(2).Calls("EVALSHA")
		start := time.Now()
		c := begin(t, m, patient("k"))
		time.Sleep(150 * time.Millisecond)
		c.wantHold(t, "when two are free")
		if took := c.at.Sub(start); took != 121*time.Millisecond {
			t.Errorf("Lock returned after %v, want 121ms", took)
		}
		if calls := fx.Master(2).Calls("EVALSHA") - before; calls != 2 {
			t.Errorf("%d rounds, want 2", calls)
		}
	})
}

// A caller that has no hint goes on asking: after 200 ms, every 400 ms later.
func TestAsksAgain(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.seat("x", time.Hour, 0, 1, 2)
		m := fx.another(t)
		fx.hold(t, m)
		m.greet(t.Context())
		before := fx.Master(0).Calls("EVALSHA")
		start := time.Now()
		c := begin(t, m, patient("k"))
		for _, tt := range []struct {
			until       time.Duration
			least, most int64
		}{
			{150 * time.Millisecond, 1, 1},
			{201 * time.Millisecond, 2, 2},
			{time.Second, 4, 6},
			{9 * time.Second, 23, 29},
		} {
			time.Sleep(tt.until - time.Since(start))
			synctest.Wait()
			if got := fx.Master(0).Calls("EVALSHA") - before; got < tt.least || got > tt.most {
				t.Errorf("after %v: %d rounds, want %d to %d", tt.until, got, tt.least, tt.most)
			}
		}
		c.wantWaiting(t, "all along")
	})
}

// Where a subscription begins or breaks, messages may have been lost: a caller asks.
func TestAsksWhenMessagesMayBeLost(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.seat("x", time.Hour, 0, 1, 2)
		m := fx.another(t)
		fx.hold(t, m)
		m.greet(t.Context())
		before := fx.Master(0).Calls("EVALSHA")
		m.subs.mu.Lock()
		m.subs.work = 0
		m.subs.mu.Unlock()
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
			time.Sleep(tt.after)
			synctest.Wait()
			want++
			if got := fx.Master(0).Calls("EVALSHA") - before; got != want {
				t.Errorf("%s: %d rounds after %v, want %d", tt.name, got, tt.after, want)
			}
		}
	})
}

// A caller that sleeps through what it won gives it back and goes on: it never gets a grant that
// is no longer valid.
func TestCallerThatSleptBeginsAnew(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, fx *fixture) {
		c := asked(fx.m) // won, and nobody looks
		first := current(c)
		time.Sleep(lease)
		if g, ok := c.take(); ok {
			t.Errorf("take = %v of validity, want nothing", clock.Until(g.Until))
		}
		<-c.decided // told of the first time
		<-c.decided
		g := wantWon(t, "the second time", c)
		if left := clock.Until(g.Until); left <= 0 || g.ID == first {
			t.Errorf("won for %v by %s, want for some time by a new owner", left, g.ID)
		}
		fx.m.release(g.Claim, 0)
		fx.wantNothing(t, "after the release", fx.m)
	})
}

// An unlock of Redisson's wakes a caller, also the first one of a client, which has no subscription
// yet when it learns who has the lock.
func TestRedissonsUnlockIsHeard(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.seat("8743c9c0-0795-4907-87fd-6c719a6b4586:17", time.Minute, 0, 1, 2)
		m := fx.another(t)
		c := begin(t, m, patient("k"))
		time.Sleep(100 * time.Millisecond)
		start := time.Now()
		for _, master := range fx.Masters() {
			conn, err := master.Dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r := redis.NewConn(conn, 0, 0)
			master.Del("k")
			if heard, err := redis.Int(r.Do("PUBLISH", "redisson_lock__channel:{k}", "0")); heard != 1 || err != nil {
				t.Errorf("%d heard the unlock (%v), want 1", heard, err)
			}
			r.Close()
		}
		time.Sleep(20 * time.Millisecond)
		c.wantHold(t, "after the unlock")
		if took := c.at.Sub(start); took > 2*time.Millisecond {
			t.Errorf("Lock returned %v after the unlock, want 2ms at most", took)
		}
	})
}

// What Redisson's clients publish is subscribed to while a caller waits for one of them, and no
// longer, however that ends.
func TestRedissonsChannelIsLeft(t *testing.T) {
	for name, end := range map[string]func(*fixture, *contest){
		"given up": func(_ *fixture, c *contest) { c.giveUp(nil) },
		"won": func(fx *fixture, c *contest) {
			fx.each(func(m *redlocktest.Master) { m.Del("k") })
			time.Sleep(time.Second)
			g := wantWon(t, "when it is free", c)
			c.m.release(g.Claim, 0)
		},
		"in vain": func(fx *fixture, _ *contest) {
			fx.each(func(m *redlocktest.Master) { m.Set("k", "no lock") })
			time.Sleep(time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				fx.m.subscribe()
				time.Sleep(time.Second)
				fx.seat("8743c9c0-0795-4907-87fd-6c719a6b4586:17", time.Minute, 0, 1, 2)
				before := fx.Master(1).Calls("SUBSCRIBE")
				c := asked(fx.m)
				if got := fx.Master(1).Calls("SUBSCRIBE") - before; got != 1 {
					t.Errorf("%d subscriptions, want 1", got)
				}
				time.Sleep(time.Second) // and several rounds
				end(fx, c)
				synctest.Wait()
				if got := fx.Master(1).Calls("SUBSCRIBE") - before; got != 1 {
					t.Errorf("%d subscriptions in the end, want 1", got)
				}
				if got := fx.Master(1).Calls("UNSUBSCRIBE"); got != 1 {
					t.Errorf("%d were ended, want 1", got)
				}
			})
		})
	}
}

// A lock that never expires is asked about no more often than one that does.
func TestLockThatNeverExpires(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.each(func(m *redlocktest.Master) {
			m.HSet("k", id("x"), "1")
			m.Delay(time.Millisecond)
		})
		c := begin(t, fx.m, patient("k"))
		before := fx.Master(0).Calls("EVALSHA")
		time.Sleep(10 * time.Second)
		c.wantWaiting(t, "all along")
		if got := fx.Master(0).Calls("EVALSHA") - before; got > 60 {
			t.Errorf("%d script calls on a master in 10 s, want 60 at most", got)
		}
	})
}

// A hand-off of another lock is no vote, and is released, since nobody here has asked for that.
func TestHandOffOfAnotherLock(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.seat("x", time.Minute, 0, 1, 2)
		c := asked(fx.m)
		fx.each(func(m *redlocktest.Master) { m.HSet("another", current(c), "1") })
		for i := range 3 {
			fx.m.HandedOff(i, script.HandOff{Owner: current(c), Round: 1, Token: 9, Key: "another"})
		}
		wantNotWon(t, "after hand-offs of another lock", c)
		fx.wantHolders(t, "another", "- - -")
		c.giveUp(nil)
	})
}

// Where waiting is in vain, Lock returns as soon as that is known.
func TestInVain(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(*fixture)
		want bool
	}{
		{"a majority has another key there", func(fx *fixture) { fx.Master(0).Set("k", "x"); fx.Master(2).Set("k", "x") }, true},
		{"and the third is frozen", func(fx *fixture) { fx.Master(0).Set("k", "x"); fx.Master(2).Set("k", "x"); fx.Master(1).Freeze() }, true},
		{"and the third has another holder", func(fx *fixture) {
			fx.Master(0).Set("k", "x")
			fx.Master(2).Set("k", "x")
			fx.seat("x", time.Minute, 1)
		}, true},
		{"a minority, and two are dead", func(fx *fixture) { fx.Master(0).Set("k", "x"); fx.Master(1).Kill(); fx.Master(2).Kill() }, false},
		{"a majority is dead", func(fx *fixture) { fx.Master(0).Kill(); fx.Master(1).Kill() }, false},
		{"a majority may not", func(fx *fixture) { fx.Master(0).Refuse("NOPERM no"); fx.Master(1).Refuse("NOPERM no") }, true},
		{"a majority has no memory", func(fx *fixture) { fx.Master(0).Refuse("OOM no"); fx.Master(1).Refuse("OOM no") }, false},
		{"a majority wants a password", func(fx *fixture) {
			for _, m := range fx.Masters()[:2] {
				m.Password("secret")
				m.RestartWithData()
			}
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				tt.do(fx)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				start := time.Now()
				_, err := fx.m.Lock(ctx, patient("k"))
				took := time.Since(start)
				why, ok := err.(*MajorityError)
				if !ok || why.Hopeless() != tt.want || (took < 2*time.Second) != tt.want {
					t.Errorf("Lock = %v after %v, want it hopeless and soon: %v", err, took, tt.want)
				}
			})
		})
	}
}

// What turns out to be in vain only while a caller waits is found out with the next round.
func TestTurnsOutInVain(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.seat("x", time.Minute, 0, 1, 2)
		time.AfterFunc(5*time.Second, func() { fx.each(func(m *redlocktest.Master) { m.Refuse("NOPERM no") }) })
		start := time.Now()
		_, err := fx.m.Lock(t.Context(), patient("k"))
		why, ok := err.(*MajorityError)
		if took := time.Since(start) - 5*time.Second; !ok || !why.Hopeless() || took < 0 || took > protocol.Usual.LastPause {
			t.Errorf("Lock = %v %v after the masters refused, want it to fail with the next round", err, took)
		}
		fx.each(func(m *redlocktest.Master) { m.Refuse("") })
		time.Sleep(15 * time.Second) // a refused release is repeated, ever more rarely
		fx.wantHolders(t, "k", "x x x")
		wantForgotten(t, "in the end", fx.m)
	})
}

// A client that hears of no hand-off is served in its turn all the same: it is handed the lock, and finds it
// when it asks. Whoever comes later waits.
func TestDeafClientIsServedInItsTurn(t *testing.T) {
	for name, req := range map[string]Request{
		"lock":   {},
		"reader": {Shared: true},
		"permit": {Permits: 1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				wants := func(req Request) Request {
					all := patient("k")
					all.Shared, all.Permits = req.Shared, req.Permits
					return all
				}
				holder := begin(t, fx.m, wants(Request{Permits: req.Permits})).wantHold(t, "the first")
				deaf := fx.another(t)
				deaf.subs.begun = true // and nothing comes of it
				first := begin(t, deaf, wants(req))
				time.Sleep(time.Second)
				second := begin(t, fx.another(t), wants(Request{Permits: req.Permits}))
				time.Sleep(time.Second)
				unlock(t, holder)
				time.Sleep(firstLease + 100*time.Millisecond)
				second.wantWaiting(t, "behind the deaf one")
				unlock(t, first.wantHold(t, "when it had time to ask"))
				unlock(t, second.wantHold(t, "after the deaf one"))
			})
		})
	}
}

// A lease that is used up before it can be granted is no lock that somebody else has, and no reason to ask
// again at once: the caller waits, and learns why.
func TestALeaseBelowTheRoundTrip(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.each(func(m *redlocktest.Master) { m.Delay(10 * time.Millisecond) })
		for range 30 {
			unlock(t, fx.take(t, fx.m, "other")) // it learns how far the masters are
		}
		req := patient("k")
		req.Lease = 10 * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		before := fx.calls()
		_, err := fx.m.Lock(ctx, req)
		if !errors.Is(err, ErrNoQuorum) || errors.Is(err, ErrTaken) || !strings.Contains(err.Error(), "10ms is too short for a round trip") {
			t.Errorf("Lock for 10ms over 20ms = %v, want ErrNoQuorum, and why", err)
		}
		if calls := fx.calls() - before; calls > 400 {
			t.Errorf("%d script calls in 10s, want 400 at most", calls)
		}
		time.Sleep(time.Second)
		fx.wantNothing(t, "a second later", fx.m)
	})
}
