package multilock

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
)

// A free lock costs one round trip and no subscription.
func TestBidWinsAFreeLockInOneRoundTrip(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b bench) {
		for _, m := range b.Masters() {
			m.Delay(30 * time.Millisecond)
		}
		before := b.Master(0).Calls("EVALSHA")
		start := time.Now()
		bid := newBid(b.m)
		bid.Ask()
		g, won := bid.Wait(t.Context(), nil, nil)
		if took := time.Since(start); !won || took != 60*time.Millisecond {
			t.Errorf("Wait = %v after %v, want true after 60ms", won, took)
		}
		if got, want := clock.Until(g.Until), clock.Validity(bidLease, 60*time.Millisecond); got != want || g.Short {
			t.Errorf("validity = %v, short %v, want %v, false", got, g.Short, want)
		}
		time.Sleep(time.Second)
		for _, m := range b.Masters() {
			if calls := m.Calls("SUBSCRIBE"); calls != 0 {
				t.Errorf("%s: %d subscriptions, want none", m.Name(), calls)
			}
		}
		if calls := b.Master(0).Calls("EVALSHA") - before; calls != 1 {
			t.Errorf("%d script calls, want 1", calls)
		}
		b.m.Release(g.Claim, 0)
		time.Sleep(time.Second)
		b.wantNothing(t, "after Release")
	})
}

// The lock is won with the q-th message, when that comes: the release takes as long as the
// message to each master, so the third of five comes after 2 · 3 ms.
func TestBidIsWonAtTheMajoritysMessage(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b bench) {
		claim := b.held(t)
		bid := askedBid(b.another(t, 0))
		w := wait(t, bid)
		time.Sleep(time.Second) // subscribed
		for i, m := range b.Masters() {
			m.Delay(time.Duration(i+1) * time.Millisecond)
		}
		start := time.Now()
		b.m.Release(claim, 0)
		time.Sleep(20 * time.Millisecond)
		got := w.now()
		if took := got.at.Sub(start); !got.won || took != 6*time.Millisecond {
			t.Errorf("won %v, %v after the release, want true after 6ms", got.won, took)
		}
		if !got.grant.Short {
			t.Error("Short = false, want true: it was passed on")
		}
		b.m.Release(got.grant.Claim, 0)
		time.Sleep(time.Second)
		b.wantNothing(t, "after Release")
	})
}

// Not one message earlier, whatever else is known.
func TestBidIsNotWonByAMinority(t *testing.T) {
	for n := 1; n <= 5; n++ {
		t.Run(strings.Repeat("m", n), func(t *testing.T) {
			inBubble(t, n, func(t *testing.T, b bench) {
				claim := b.held(t)
				m := b.another(t, 0)
				post := b.hold(t, m)
				bid := askedBid(m)
				b.m.Release(claim, 0)
				for i := range n/2 + 1 {
					wantNotWon(t, "before the q-th message", bid)
					post.deliver(t, i)
				}
				wantWon(t, "at the q-th message", bid)
			})
		})
	}
}

// A lease that runs out is told by nobody: the bid asks when the time is over that the
// masters said is left.
func TestBidNoticesALeaseThatRunsOut(t *testing.T) {
	for _, lease := range []time.Duration{50 * time.Millisecond, 300 * time.Millisecond, 1234 * time.Millisecond} {
		t.Run(lease.String(), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, b bench) {
				b.seat("x:r1", lease, 0, 1, 2)
				start := time.Now()
				w := wait(t, askedBid(b.another(t, 0)))
				time.Sleep(5 * time.Second)
				got := w.now()
				if took := got.at.Sub(start); !got.won || took < lease || took > lease+settle {
					t.Errorf("won %v after %v, want true after %v to %v", got.won, took, lease, lease+settle)
				}
			})
		})
	}
}

// It is the majority's time that counts, not the first master's.
func TestBidWaitsUntilAMajorityIsFree(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.seat("x:r1", 20*time.Millisecond, 0)
		b.seat("x:r1", 120*time.Millisecond, 1)
		b.seat("x:r1", 5*time.Second, 2)
		before := b.Master(2).Calls("EVALSHA")
		start := time.Now()
		m := b.another(t, 0)
		b.hold(t, m) // no hint but the time
		w := wait(t, askedBid(m))
		time.Sleep(150 * time.Millisecond)
		got := w.now()
		if took := got.at.Sub(start); !got.won || took != 120*time.Millisecond+settle {
			t.Errorf("won %v after %v, want true after %v", got.won, took, 120*time.Millisecond+settle)
		}
		if calls := b.Master(2).Calls("EVALSHA") - before; calls != 2 {
			t.Errorf("%d asks, want 2", calls)
		}
	})
}

// A bid that has no hint goes on asking: after 200 ms, every 400 ms later.
func TestBidAsksAgain(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.held(t)
		m := b.another(t, 0)
		b.hold(t, m)
		before := b.Master(0).Calls("EVALSHA")
		start := time.Now()
		wait(t, askedBid(m))
		for _, tt := range []struct {
			until       time.Duration
			least, most int64
		}{
			{firstAsk - together, 1, 1},
			{firstAsk + 1, 2, 2},
			{time.Second, 4, 6},
			{9 * time.Second, 23, 29},
		} {
			time.Sleep(tt.until - time.Since(start))
			got := b.Master(0).Calls("EVALSHA") - before
			if got < tt.least || got > tt.most {
				t.Errorf("after %v: %d asks, want %d to %d", tt.until, got, tt.least, tt.most)
			}
		}
	})
}

// Where a subscription begins or breaks, messages may have been lost: the bid asks.
func TestBidAsksWhenMessagesMayBeLost(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.held(t)
		m := b.another(t, 0)
		b.hold(t, m)
		before := b.Master(0).Calls("EVALSHA")
		wait(t, askedBid(m))
		for i, tt := range []struct {
			on    bool
			after time.Duration
		}{
			{true, 2 * gather}, // the others will soon work as well
			{false, 2 * settle},
		} {
			m.Subscribed(0, tt.on)
			time.Sleep(tt.after)
			synctest.Wait()
			if got, want := b.Master(0).Calls("EVALSHA")-before, int64(i+2); got != want {
				t.Errorf("%v after Subscribed(0, %v): %d asks, want %d", tt.after, tt.on, got, want)
			}
		}
	})
}

// Wait may return for another reason, and be called again.
func TestWaitReturnsAndGoesOn(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		claim := b.held(t)
		bid := askedBid(b.another(t, 0))
		enter := make(chan struct{}, 1)
		for range 3 {
			enter <- struct{}{}
			if _, won := bid.Wait(t.Context(), enter, nil); won {
				t.Fatal("Wait = true after enter, want false")
			}
			time.Sleep(70 * time.Millisecond)
		}
		done := make(chan struct{})
		close(done)
		if _, won := bid.Wait(t.Context(), enter, done); won {
			t.Error("Wait = true after done, want false")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 33*time.Millisecond)
		defer cancel()
		start := time.Now()
		if _, won := bid.Wait(ctx, enter, nil); won || time.Since(start) != 33*time.Millisecond {
			t.Errorf("Wait = %v after %v, want false after 33ms", won, time.Since(start))
		}
		b.m.Release(claim, 0)
		if _, won := bid.Wait(t.Context(), enter, nil); !won {
			t.Error("Wait = false after the release, want true")
		}
	})
}

// A caller that sleeps through what it won gives it back and goes on: it never gets a
// grant that is no longer valid.
func TestBidThatSleptBeginsAnew(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b bench) {
		bid := askedBid(b.m) // won, and nobody looks
		time.Sleep(bidLease)
		g, won := bid.Wait(t.Context(), nil, nil)
		if left := clock.Until(g.Until); !won || left <= 0 {
			t.Fatalf("Wait = %v with %v of validity, want true and some", won, left)
		}
		b.m.Release(g.Claim, 0)
		time.Sleep(time.Second)
		b.wantNothing(t, "after Release")
	})
}

// Nor when something else ends the wait at the same moment.
func TestBidThatSleptIsNotWon(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b bench) {
		bid := askedBid(b.m)
		time.Sleep(bidLease)
		if g, won := bid.result(); won {
			t.Errorf("won with %v of validity", clock.Until(g.Until))
		}
		bid.GiveUp(nil)
		time.Sleep(time.Second)
		b.wantNothing(t, "after GiveUp")
	})
}

// An unlock of Redisson's wakes a bid, also the first one of a client, which has no
// subscription yet when it learns who has the lock.
func TestBidHearsRedisson(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.seat("8743c9c0-0795-4907-87fd-6c719a6b4586:17", time.Minute, 0, 1, 2)
		m := b.another(t, 0)
		w := wait(t, askedBid(m))
		time.Sleep(100 * time.Millisecond)
		start := time.Now()
		for _, master := range b.Masters() {
			conn, err := master.Dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			c := redis.NewConn(conn, 0, 0)
			master.Del("k")
			if heard, err := redis.Int(c.Do("PUBLISH", "redisson_lock__channel:{k}", "0")); heard != 1 || err != nil {
				t.Errorf("%d heard the unlock (%v), want 1", heard, err)
			}
			c.Close()
		}
		time.Sleep(20 * time.Millisecond)
		got := w.now()
		if took := got.at.Sub(start); !got.won || took > 2*settle {
			t.Errorf("won %v after %v, want true within %v", got.won, took, 2*settle)
		}
		m.Release(got.grant.Claim, 0)
	})
}

// A lock that never expires is asked about no more often than one that does.
func TestLockThatNeverExpires(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		for i := range 3 {
			b.Master(i).HSet("k", id("x:r0"), "1")
			b.Master(i).Delay(time.Millisecond)
		}
		bid := newBid(b.m)
		bid.Ask()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		before := b.Master(0).Calls("EVALSHA")
		if _, won := bid.Wait(ctx, nil, nil); won {
			t.Error("it was won")
		}
		if got := b.Master(0).Calls("EVALSHA") - before; got > 60 {
			t.Errorf("%d script calls on a master in 10 s, want 60 at most", got)
		}
		bid.GiveUp(nil)
		synctest.Wait()
	})
}

// A pass that is for another lock than the bid is no vote for it.
func TestPassOfAnotherLock(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.seat("x:r0", time.Minute, 0, 1, 2)
		bid := askedBid(b.m)
		for i := range 3 {
			b.m.HandedOff(i, script.HandOff{Owner: bid.owner.ID, Round: 1, Token: 9, Key: "another"})
		}
		bid.mu.Lock()
		over := bid.over
		bid.mu.Unlock()
		if over {
			t.Error("the bid was won")
		}
		bid.GiveUp(nil)
		synctest.Wait()
	})
}
