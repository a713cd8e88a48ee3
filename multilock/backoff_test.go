package multilock

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node"
	"example.com/redlock/redlocktest"
)

// A minority of votes is given back: to nobody, or in turn.

// A minority of votes is handed off to nobody while one owner has a majority, who may need it to
// heal. The caller stays in the queue everywhere, and wins when the holder's lease ends.
func TestMinorityIsLeftToAHolder(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, fx *fixture) {
		fx.seat("x", 3*time.Second, 0, 1, 2)
		m := fx.another(t)
		m.subscribe()
		synctest.Wait() // or the answers of the first round might come after this, and tell nothing any more
		c := asked(m)
		if tries := stateOf(c).Try; tries != 2 {
			t.Errorf("try %d after the first round, want 2: a new owner", tries)
		}
		for range 5 {
			fx.wantHolders(t, "k", "x x x - -")
			for i, q := range fx.queues("k") {
				if q != current(c) {
					t.Errorf("queue of m%d = %q, want %q", i+1, q, current(c))
				}
			}
			time.Sleep(400 * time.Millisecond)
		}
		time.Sleep(time.Second + time.Millisecond)
		leave(c)
		if s := stateOf(c); s.State != protocol.Taken {
			t.Errorf("%v, want it won once the lease has run out", s.State)
		}
	})
}

// A caller that has votes beside a holder's majority stands in the queue at every moment while it gives
// them back: whenever the holder unlocks, the lock is handed off to it, after a message to the
// masters and one from them, or at most a round trip later, where that crosses what it sends.
func TestNoGapForAHolderToUnlockIn(t *testing.T) {
	const trip = 2 * time.Millisecond
	for after := time.Duration(0); after < 20*time.Millisecond; after += 250 * time.Microsecond {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			inBubble(t, 5, func(t *testing.T, fx *fixture) {
				fx.each(func(m *redlocktest.Master) { m.Delay(trip / 2) })
				m := fx.another(t)
				m.subscribe()
				time.Sleep(30 * time.Second) // it has measured the round trip
				hold := fx.take(t, fx.m, "k")
				for _, m := range fx.Masters()[3:] {
					m.Del("k") // as if its acquire were still on its way there
				}
				c := begin(t, m, patient("k"))
				time.Sleep(after)
				unlocked := time.Now()
				unlock(t, hold)
				for !c.over() && time.Since(unlocked) < time.Second {
					time.Sleep(trip / 8)
				}
				if took := time.Since(unlocked); took > 2*trip+trip/8 {
					t.Errorf("the lock was handed off after %v, want %v at most", took, 2*trip)
				}
				unlock(t, c.wantHold(t, "after Unlock"))
			})
		})
	}
}

// The holder of a majority heals, however many wait, and whoever tries.
func TestHealingAmongWaiters(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		for range 3 {
			m := fx.another(t)
			m.subscribe()
			begin(t, m, patient("k"))
		}
		for i, master := range fx.Masters() {
			master.FlushAll() // as if it had restarted, and its guard were over
			time.Sleep(300 * time.Millisecond)
			begin(t, fx.another(t), patient("k")) // who does not know yet that the lock is taken
			time.Sleep(2 * time.Second)
			if err := hold.Extend(t.Context(), entryOf(hold), lease); err != nil {
				t.Fatalf("Extend = %v", err)
			}
			synctest.Wait()
			if got := master.Holder("k"); got != hold.Owner() {
				t.Fatalf("m%d has %q, want %s again", i+1, got, hold.Owner())
			}
		}
		unlock(t, hold)
	})
}

// Where nobody has a majority, the votes are given back and the caller enters the queue as a new owner,
// with its old place.
func TestMinorityIsGivenBack(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, fx *fixture) {
		fx.seat("x", time.Minute, 0, 1)
		fx.seat("y", time.Minute, 2, 3)
		m := fx.another(t)
		fx.hold(t, m)
		c := newWaiting(m)
		since := m.Now().UnixMicro()
		time.Sleep(5 * time.Millisecond)
		c.start()
		synctest.Wait()
		owners := map[string]bool{current(c): true}
		fx.wantHolders(t, "k", "x x y y "+current(c))
		for range 3 {
			last := current(c)
			for ms := 0; ms < 1000 && current(c) == last; ms++ {
				time.Sleep(time.Millisecond)
				synctest.Wait()
			}
			if owners[current(c)] {
				t.Errorf("owner %s is used again", current(c))
			}
			owners[current(c)] = true
			for i := range 4 {
				want := fmt.Sprint(map[string]float64{current(c): float64(since)})
				if got := fmt.Sprint(fx.places(i)); got != want {
					t.Errorf("queue of m%d = %s, want %s", i+1, got, want)
				}
			}
			if got := fx.Master(4).Holder("k"); got != current(c) {
				t.Errorf("holder of m5 = %s, want the new owner, %s", got, current(c))
			}
		}
		c.giveUp(nil)
	})
}

// places returns the owners in the queue of a master for k, and their places.
func (fx *fixture) places(i int) map[string]float64 {
	places := map[string]float64{}
	for waiter, since := range fx.Master(i).ZSet("redlock_wait:{k}") {
		owner, _, _ := strings.Cut(waiter, " ")
		places[owner] = since
	}
	return places
}

// Hand-offs that make no majority are first asked about, since what the masters said before them may be
// out of date; then they are given back as well.
func TestHandedOffMinorityAsksBeforeItGivesBack(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		m := fx.another(t)
		post := fx.hold(t, m)
		c := asked(m)
		owner := current(c)
		claim := hold.claim
		claim.At = 1 // the releases for the others are lost
		fx.m.release(claim, 0)
		post.deliver(t, 0)
		before := fx.Master(1).Calls("EVALSHA")
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		if calls := fx.Master(1).Calls("EVALSHA") - before; calls < 1 || calls > 3 {
			t.Errorf("%d calls after a hand-off of one of three, want a round, and a release and a round perhaps", calls)
		}
		// Both others name one holder, so nobody else can win.
		time.Sleep(100 * time.Millisecond)
		fx.wantHolders(t, "k", "- "+hold.Owner()+" "+hold.Owner())
		if got := current(c); got == owner {
			t.Errorf("owner is still %s, want a new one", got)
		}
		wantNotWon(t, "with one vote of three", c)
		c.giveUp(nil)
		hold.end(nil)
	})
}

// Messages for the owner before count for nothing, also while its release is under way.
func TestHandOffsForTheOwnerBefore(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, fx *fixture) {
		fx.seat("x", time.Minute, 0, 1)
		fx.seat("y", time.Minute, 2, 3)
		m := fx.another(t)
		fx.hold(t, m)
		c := askedQuiet(m)
		old := handOff(c, 1, 1)
		fx.each(func(m *redlocktest.Master) { m.Delay(50 * time.Millisecond) })
		backOff(t, c)
		if current(c) == old.Owner {
			t.Fatal("the minority was not given back")
		}
		for i := range 5 {
			m.HandedOff(i, old)
		}
		wantNotWon(t, "after messages for the owner before", c)
		c.giveUp(nil)
		time.Sleep(time.Second)
		fx.wantHolders(t, "k", "x x y y -")
		wantForgotten(t, "then", m)
	})
}

// A grant to an owner that was given back meanwhile is no vote for the next one: the release is behind
// it, and the master may be somebody else's by the time another vote comes.
func TestGrantToAnOwnerThatWasGivenBack(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, fx *fixture) {
		for i, other := range []string{"x", "y", "z"} {
			fx.seat(other, time.Minute, i)
		}
		const delay = 40 * time.Millisecond // an answer before timeout
		fx.Master(4).Delay(delay)
		c := askedQuiet(fx.m)
		first := current(c)
		time.Sleep(delay / 4)
		backOff(t, c)
		if current(c) == first {
			t.Fatal("the minority was not given back")
		}
		time.Sleep(2*delay - delay/4) // its answer to the first round is a grant
		synctest.Wait()
		if why := c.reason(nil); why == nil || why.Got != 1 {
			t.Errorf("reason = %v, want that m4 alone said yes", why)
		}
		if s := stateOf(c); s.Masters[4].Voted && s.Masters[4].Until == s.Rounds[len(s.Rounds)-2].Sent {
			t.Error("a vote of m5 for the owner before")
		}
		c.giveUp(nil)
		time.Sleep(time.Second)
		fx.wantHolders(t, "k", "x y z - -")
		wantForgotten(t, "then", fx.m)
	})
}

// Two callers that share the masters come to an end: one wins, then the other.
func TestCallersThatSplitTheVotesPart(t *testing.T) {
	for _, n := range []int{2, 3, 4, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			inBubble(t, n, func(t *testing.T, fx *fixture) {
				one, two := fx.another(t), fx.another(t)
				one.greet(t.Context())
				two.greet(t.Context())
				// Each reaches another half of the masters first.
				for i, m := range fx.Masters() {
					m.Delay(time.Duration(1+i%2) * time.Millisecond)
				}
				x := begin(t, one, patient("k"))
				for i, m := range fx.Masters() {
					m.Delay(time.Duration(1+(i+1)%2) * time.Millisecond)
				}
				y := begin(t, two, patient("k"))
				time.Sleep(500 * time.Millisecond)
				first, second := x, y
				if y.over() {
					first, second = y, x
				}
				hold := first.wantHold(t, "half a second later")
				second.wantWaiting(t, "while the other has it")
				unlock(t, hold)
				time.Sleep(500 * time.Millisecond)
				unlock(t, second.wantHold(t, "half a second after the release"))
				time.Sleep(time.Second)
				fx.wantNothing(t, "after both releases", one, two)
			})
		})
	}
}

// far puts the masters trip away, there and back, and makes a client that has measured it.
func (fx *fixture) far(t *testing.T, trip time.Duration) *Masters {
	t.Helper()
	fx.each(func(m *redlocktest.Master) { m.Delay(trip / 2) })
	m := fx.client(t, node.Config{Timeout: timeout + 2*trip})
	time.Sleep(10 * time.Second) // a TIME each second: the deviation of the first guess has gone
	m.greet(t.Context())
	return m
}

// Three callers on three masters get one vote each, since each reaches its own master first. They give
// it back however far away the masters are, and all are served.
func TestFarCallersDoNotBlockEachOther(t *testing.T) {
	for _, ms := range []time.Duration{20, 100, 198, 240, 300, 450, 600} {
		trip := ms * time.Millisecond
		t.Run(trip.String(), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				clients := make([]*Masters, 3)
				for i := range clients {
					clients[i] = fx.far(t, trip)
				}
				var callers sync.WaitGroup
				// A back-off or two, and a hand-over to each.
				most := 3*(protocol.Usual.LastPause+protocol.Usual.BackOff) + 12*trip
				ctx, cancel := context.WithTimeout(t.Context(), most)
				defer cancel()
				for i, m := range clients {
					// Its own master is a little nearer to each.
					for k, master := range fx.Masters() {
						d := trip / 2
						if k != i {
							d += time.Millisecond
						}
						master.Delay(d)
					}
					callers.Go(func() {
						hold, err := m.Lock(ctx, patient("k"))
						if err != nil {
							t.Errorf("caller %d was not served in %v: %v", i, most, err)
							return
						}
						unlock(t, hold)
					})
					synctest.Wait()
				}
				callers.Wait()
			})
		})
	}
}

// A majority answers no sooner than its slowest master, and nobody waits for the rest.
func TestRoundTripOfAMajority(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, fx *fixture) {
		for i, ms := range []time.Duration{40, 10, 60, 30, 20} {
			fx.Master(i).Delay(ms * time.Millisecond / 2)
		}
		m := fx.another(t)
		time.Sleep(3 * time.Minute) // checks from time to time: the deviation of the first guess has gone
		check := func(when string, want time.Duration) {
			t.Helper()
			if got := m.RoundTrip(); got < want || got > want+want/10 {
				t.Errorf("%s: RoundTrip = %v, want %v and little more", when, got, want)
			}
		}
		check("five masters", 30*time.Millisecond)
		fx.Master(1).Kill()
		time.Sleep(time.Second)
		check("without the fastest", 40*time.Millisecond)
		fx.Master(3).Kill()
		fx.Master(2).Kill()
		time.Sleep(time.Second)
		check("without a majority", 40*time.Millisecond)
		fx.Master(0).Kill()
		fx.Master(4).Kill()
		time.Sleep(time.Second)
		check("without masters", 0)
	})
}
