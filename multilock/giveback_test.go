package multilock

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A minority of votes is given back to nobody while one owner has a majority, who may need
// it to heal. The bid stays in the queue everywhere, and wins when the holder's lease ends.
func TestMinorityIsLeftToAHolder(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b bench) {
		b.seat("x:r1", 3*time.Second, 0, 1, 2)
		m := b.another(t, 0)
		bid := askedBid(m)
		owner := bid.owner.ID
		b.wantHolders(t, "k", strings.Join([]string{"x:r1 x:r1 x:r1", owner, owner}, " "))
		w := wait(t, bid)
		for range 5 {
			time.Sleep(400 * time.Millisecond)
			b.wantHolders(t, "k", "x:r1 x:r1 x:r1 - -")
		}
		for i, q := range b.queues() {
			if q != bid.current() || q == owner {
				t.Errorf("queue of m%d = %q, want %q, a new owner", i+1, q, bid.current())
			}
		}
		time.Sleep(time.Second + settle)
		if got := w.now(); !got.won || got.grant.ID != bid.current() {
			t.Errorf("won %v by %q, want true by %q, once the lease has run out", got.won, got.grant.ID, bid.current())
		}
	})
}

// The holder of a majority heals, however many wait, and whoever tries.
func TestHealingAmongWaiters(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		g := take(t, b.m)
		a := newAsked("k", g.ID)
		for range 3 {
			m := b.another(t, 0)
			m.Listen()
			wait(t, askedBid(m))
		}
		for i, master := range b.Masters() {
			master.FlushAll() // as if it had restarted, and its guard were over
			time.Sleep(300 * time.Millisecond)
			late := b.another(t, 0)
			wait(t, askedBid(late)) // who does not know yet that the lock is taken
			time.Sleep(2 * time.Second)
			b.m.Renew(bidLease, []Renewal{a})
			if got, ok := (<-a.told).(time.Duration); !ok {
				t.Fatalf("renewed for %v, want success", got)
			}
			synctest.Wait()
			if got := master.Holder("k"); got != g.ID {
				t.Fatalf("m%d has %q, want %s again", i+1, got, g.ID)
			}
		}
	})
}

// Where nobody has a majority, the votes are given back and the bid enters the queue as a
// new owner, with its old stamp.
func TestMinorityIsGivenBack(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b bench) {
		b.seat("x:r1", time.Minute, 0, 1)
		b.seat("y:r1", time.Minute, 2, 3)
		m := b.another(t, 0)
		b.hold(t, m)
		bid := newBid(m)
		since := time.Now().UnixMicro()
		time.Sleep(5 * time.Millisecond)
		bid.Ask()
		synctest.Wait()
		owners := []string{bid.owner.ID}
		b.wantHolders(t, "k", "x:r1 x:r1 y:r1 y:r1 "+bid.owner.ID)
		wait(t, bid)
		for range 3 {
			// A roll-back takes stuck · 3 at most, doubled each time; then it asks again.
			for ms := 0; ms < 1000 && bid.current() == owners[len(owners)-1]; ms++ {
				time.Sleep(time.Millisecond)
				synctest.Wait()
			}
			owners = append(owners, bid.current())
			for i := range 4 {
				want := fmt.Sprint(map[string]float64{bid.current(): float64(since)})
				if got := fmt.Sprint(b.entries(i)); got != want {
					t.Errorf("queue of m%d = %s, want %s", i+1, got, want)
				}
			}
			if got := b.Master(4).Holder("k"); got != bid.current() {
				t.Errorf("holder of m5 = %s, want the new owner, %s", got, bid.current())
			}
		}
		seen := map[string]bool{}
		for _, o := range owners {
			if seen[o] {
				t.Errorf("owner %s was used again, of %q", o, owners)
			}
			seen[o] = true
		}
	})
}

// current returns the owner of a bid.
func (b *Bid) current() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.owner.ID
}

// entries returns the owners in the queue of a master, and their places.
func (b bench) entries(i int) map[string]float64 {
	places := map[string]float64{}
	for ask, since := range b.Master(i).ZSet("redlock_wait:{k}") {
		owner, _, _ := strings.Cut(ask, " ")
		places[owner] = since
	}
	return places
}

// Passes that make no majority are first asked about, since what the masters said before
// them may be out of date; then they are given back as well.
func TestPassedMinorityAsksBeforeItGivesBack(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		claim := b.held(t)
		m := b.another(t, 0)
		post := b.hold(t, m)
		bid := askedBid(m)
		owner := bid.owner.ID
		w := wait(t, bid)
		claim.At = 1 // the releases for the others are lost
		b.m.Release(claim, 0)
		post.deliver(t, 0)
		before := b.Master(1).Calls("EVALSHA")
		time.Sleep(3*stuck + 1)
		synctest.Wait()
		if calls := b.Master(1).Calls("EVALSHA") - before; calls < 1 || calls > 2 {
			t.Errorf("%d calls after a pass of one of three, want an ask, and a release perhaps", calls)
		}
		// Both others name one holder, so nobody else can win.
		time.Sleep(100 * time.Millisecond)
		b.wantHolders(t, "k", "- "+claim.ID+" "+claim.ID)
		if got := bid.current(); got == owner {
			t.Errorf("owner is still %s, want a new one", got)
		}
		if w.now().won {
			t.Error("won with one vote of three")
		}
	})
}

// Messages for the owner before count for nothing, also while its release is under way.
func TestPassesForTheOwnerBeforeARollBack(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b bench) {
		b.seat("x:r1", time.Minute, 0, 1)
		b.seat("y:r1", time.Minute, 2, 3)
		m := b.another(t, 0)
		b.hold(t, m)
		bid := askedBid(m)
		old := bid.pass(1, 1)
		time.Sleep(3 * stuck)
		for _, master := range b.Masters() {
			master.Delay(50 * time.Millisecond)
		}
		bid.look()
		if bid.current() == old.Owner {
			t.Fatal("the minority was not given back")
		}
		for i := range 5 {
			m.HandedOff(i, old)
		}
		wantNotWon(t, "after messages for the owner before", bid)
		bid.GiveUp(nil)
		time.Sleep(time.Second)
		b.wantHolders(t, "k", "x:r1 x:r1 y:r1 y:r1 -")
	})
}

// The time that a minority is kept is random, and twice as long after each roll-back, up to
// a bound: two bids that share the masters must part some day.
func TestBackOffGrows(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b bench) {
		bid := newBid(b.m)
		defer bid.GiveUp(nil)
		for rolls := range 10 {
			bid.rolls = rolls
			unit := stuck << min(rolls, 4)
			least, most := time.Hour, time.Duration(0)
			for range 400 {
				p := bid.patience()
				least, most = min(least, p), max(most, p)
			}
			if least < unit || least > unit+unit/4 || most > 3*unit || most < 3*unit-unit/4 {
				t.Errorf("after %d roll-backs: got %v to %v, want %v to %v", rolls, least, most, unit, 3*unit)
			}
		}
	})
}

// Two bids that share the masters come to an end: one wins, then the other.
func TestSplitBidsPart(t *testing.T) {
	for _, n := range []int{2, 3, 4, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			inBubble(t, n, func(t *testing.T, b bench) {
				one, two := b.another(t, 0), b.another(t, 0)
				x, y := newBid(one), newBid(two)
				// Each reaches another half of the masters first.
				for i, m := range b.Masters() {
					m.Delay(time.Duration(1+i%2) * time.Millisecond)
				}
				x.Ask()
				synctest.Wait() // it is on its way
				for i, m := range b.Masters() {
					m.Delay(time.Duration(1+(i+1)%2) * time.Millisecond)
				}
				y.Ask()
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				won := make(chan Claim)
				for _, bid := range []*Bid{x, y} {
					go func() {
						g, ok := bid.Wait(ctx, nil, nil)
						if !ok {
							t.Error("a bid was not won in a minute")
						}
						won <- g.Claim
					}()
				}
				for range 2 {
					one.Release(<-won, 0)
				}
				if took := time.Since(start); took > time.Second {
					t.Errorf("both were served after %v, want a second at most", took)
				}
				time.Sleep(time.Second)
				b.wantNothing(t, "after both releases")
			})
		})
	}
}

// A bid that gives way begins anew: nobody has answered its new owner, and there is no minority to
// give back yet.
func TestGivingWayBeginsAnew(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		bid := askedBid(b.m) // all masters grant it, and the caller sleeps through that
		defer bid.GiveUp(nil)
		bid.mu.Lock()
		bid.stuckAt = time.Now().Add(stuck) // as the first of three passes sets it
		bid.mu.Unlock()
		time.Sleep(2 * bidLease)
		bid.look()
		bid.mu.Lock()
		if bid.fresh != 0 || !bid.stuckAt.IsZero() {
			t.Errorf("fresh = %03b, stuckAt = %v, want none of the new owner", bid.fresh, bid.stuckAt)
		}
		bid.mu.Unlock()
		synctest.Wait()
		bid.look()
		if bid.rolls != 1 {
			t.Errorf("rolled back %d times, want once", bid.rolls)
		}
	})
}

// A grant to an owner that was given back meanwhile is no vote for the next one: the release is
// behind it, and the master may be somebody else's by the time another vote comes.
func TestGrantToAnOwnerThatWasGivenBack(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b bench) {
		for i, other := range []string{"x:r1", "y:r1", "z:r1"} {
			b.seat(other, time.Minute, i)
		}
		m := b.another(t, 0)
		const delay = 40 * time.Millisecond // an answer before timeout
		b.Master(4).Delay(delay)
		bid := newBid(m)
		first := bid.owner.ID
		bid.Ask()
		wait(t, bid)
		time.Sleep(2*delay - time.Nanosecond)
		if bid.current() == first {
			t.Fatalf("the owner is %s still: the minority was not given back", first)
		}
		voted := func() bool {
			bid.mu.Lock()
			defer bid.mu.Unlock()
			return bid.seats[4].voted
		}
		if voted() {
			t.Fatal("a vote of m5 before it has answered")
		}
		time.Sleep(time.Nanosecond) // its answer to the first ask is a grant
		synctest.Wait()
		if voted() {
			t.Errorf("the grant of m5 to %s is a vote for %s", first, bid.current())
		}
	})
}
