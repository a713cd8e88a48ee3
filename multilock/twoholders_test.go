package multilock

import (
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/clock"
)

// The counterexamples that the design was found with, each in the order of events that
// makes two holders where its rule is broken. A has the lock, B and C want it.

// wantOne fails if b holds the lock while another has it until then.
func wantOne(t *testing.T, b *Bid, another clock.Instant) {
	t.Helper()
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over && clock.Until(b.grant.Until) > 0 && clock.Until(another) > 0 {
		t.Errorf("two holders: B for %v, another for %v", clock.Until(b.grant.Until), clock.Until(another))
	}
}

// at sleeps until d after start.
func at(start time.Time, d time.Duration) {
	time.Sleep(d - time.Since(start))
	synctest.Wait()
}

// The lock is passed to B, whose messages are held up until the lease is over. C takes the
// lock. B asks again, which C's hold answers. Now the messages come: they name the first
// ask, and count from then, so not at all.
func TestAPassHeldUpPastItsLease(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		claim := b.held(t)
		m := b.another(t, 0)
		post := b.hold(t, m)
		start := time.Now()
		bid := askedBid(m)
		at(start, 10*time.Millisecond)
		b.m.Release(claim, 0)
		at(start, 11*time.Millisecond+firstH)
		c := take(t, b.another(t, 0))
		bid.Ask()
		at(start, 20*time.Millisecond+firstH)
		for i := range 3 {
			if p := post.deliver(t, i); p.Round != 1 || p.Owner != bid.owner.ID {
				t.Errorf("m%d passed %+v, want it for ask 1 of %s", i+1, p, bid.owner.ID)
			}
			wantOne(t, bid, c.Until)
		}
		wantNotWon(t, "after messages that came too late", bid)
	})
}

// The same with one re-send that was answered busy before the lease was over: the pass was
// under way then, and names the ask before.
func TestAPassUnderWayAtTheNextAsk(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		claim := b.held(t)
		m := b.another(t, 0)
		post := b.hold(t, m)
		start := time.Now()
		bid := askedBid(m)
		// B's second ask is on its way when the lock is passed, and its lease over when that
		// arrives.
		at(start, 150*time.Millisecond)
		b.m.Release(claim, 0)
		synctest.Wait()
		for _, master := range b.Masters() {
			master.Delay(firstH + 50*time.Millisecond)
		}
		at(start, 200*time.Millisecond)
		bid.Ask()
		synctest.Wait()
		for _, master := range b.Masters() {
			master.Delay(0)
		}
		at(start, 155*time.Millisecond+firstH) // before the ask arrives
		c := take(t, b.another(t, 0))
		at(start, 160*time.Millisecond+firstH)
		for i := range 3 {
			post.deliver(t, i)
			wantOne(t, bid, c.Until)
		}
		wantNotWon(t, "after messages that came too late", bid)
	})
}

// Messages that come while the lease runs do not make it longer: when C can have the lock,
// B has it no more.
func TestAPassDoesNotCountFromItsReceipt(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		claim := b.held(t)
		m := b.another(t, 0)
		post := b.hold(t, m)
		start := time.Now()
		bid := askedBid(m)
		at(start, 1*time.Millisecond)
		b.m.Release(claim, 0)
		at(start, 300*time.Millisecond)
		for i := range 2 {
			post.deliver(t, i)
		}
		g := wantWon(t, "after two messages", bid)
		if got, want := clock.Until(g.Until), firstValid-300*time.Millisecond; got != want {
			t.Errorf("got %v left, want %v", got, want)
		}
		at(start, 2*time.Millisecond+firstH) // the masters have let go
		wantOne(t, bid, take(t, b.another(t, 0)).Until)
	})
}

// The hold lasts as long as a majority of the votes: B is passed m1 for its first ask and
// m2 for its second. When m1's time is over, C takes m1 and m3.
func TestTheMajorityEndsWithItsFirstVote(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		claim := b.held(t)
		m := b.another(t, 0)
		post := b.hold(t, m)
		b.fences(1<<50, 1<<50) // above what the asks propose, so that the two passes agree
		b.Master(2).Kill()
		start := time.Now()
		bid := askedBid(m)
		at(start, 10*time.Millisecond)
		claim.At = 1
		b.m.Release(claim, 0)
		synctest.Wait()
		b.Master(0).Kill() // so it does not hear B's second ask
		at(start, 150*time.Millisecond)
		bid.Ask()
		at(start, 160*time.Millisecond)
		claim.At = 2
		b.m.Release(claim, 0)
		synctest.Wait()
		post.deliver(t, 0)
		wantNotWon(t, "after one message", bid)
		post.deliver(t, 1)
		wantWon(t, "after two messages", bid)
		b.Master(0).RestartWithData()
		b.Master(2).RestartWithData()
		b.Master(2).Del("k") // A's
		at(start, 15*time.Millisecond+firstH)
		wantOne(t, bid, take(t, b.another(t, 0)).Until)
		b.wantHolders(t, "k", b.Master(0).Holder("k")+" "+bid.owner.ID+" "+b.Master(0).Holder("k"))
	})
}

// B gives its votes back and goes on as a new owner. Messages for the old one come late:
// what they tell of was released, and C has it.
func TestAnOwnerIsNotUsedAgain(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		m, other := b.another(t, 0), b.another(t, 0)
		post, othersPost := b.hold(t, m), b.hold(t, other)
		a := Claim{Owner: b.m.NewOwner("k"), Token: 1, At: 1}
		b.seat(a.ID, time.Minute, 0)
		b.seat("x:r1", 300*time.Millisecond, 1)

		bid := askedBid(m) // m3 grants, the others have it in their queues
		b.m.Release(a, 0)  // m1 passes it to B, and the message is held up
		synctest.Wait()
		c := other.NewBid(Wanted{Key: "k", Lease: bidLease, Since: clock.Now().Add(-time.Hour)})
		c.Ask()
		time.Sleep(20 * time.Millisecond)
		bid.look() // m1 and m3 are given back, and pass to C, which waits for longer
		synctest.Wait()
		othersPost.deliver(t, 0)
		othersPost.deliver(t, 2)
		g := wantWon(t, "C, after two messages", c)
		time.Sleep(300 * time.Millisecond) // m2's lease is over
		b.Master(1).Del("redlock_wait:{k}")
		bid.Ask() // m2 grants
		synctest.Wait()
		post.deliver(t, 0)
		wantOne(t, bid, g.Until)
		wantNotWon(t, "B, after a message for an owner that is given up", bid)
	})
}

// A has m1 and m2, and m2 restarts empty. It must not pass the lock that it has forgotten
// to B, who is passed m3 as well.
func TestAGuardedMasterPassesNothing(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		const guard = 20 * time.Second
		m := b.another(t, guard)
		mine := m.NewOwner("k")
		b.seat(mine.ID, bidLease, 2) // what is left of an earlier try of B's client
		a := take(t, b.m)
		b.wantHolders(t, "k", a.ID+" "+a.ID+" "+mine.ID)
		b.Master(1).Restart()
		time.Sleep(2 * time.Second) // and is up again
		post := b.hold(t, m)
		bid := newBid(m)
		m.ReleaseTo(Claim{Owner: mine, Token: 5, At: 1<<1 | 1<<2}, bid)
		synctest.Wait()
		post.deliver(t, 2)
		post.mu.Lock()
		passes := post.passes[1]
		post.mu.Unlock()
		for _, p := range passes {
			m.HandedOff(1, p)
		}
		wantOne(t, bid, a.Until)
		b.wantHolders(t, "k", a.ID+" - "+bid.owner.ID)
		if got := b.queues()[1]; got != bid.owner.ID {
			t.Errorf("queue of m2 = %q, want %q: it may enter", got, bid.owner.ID)
		}
	})
}

// A has the vote of m1, which restarts empty then. B is passed m2 and m3 for a short time, and
// its renewal reaches m2 late: A takes that as well. Had B set the lock again at m1, it would
// hold m1 and m3 meanwhile.
func TestAGuardedMasterHealsNothing(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		const guard = 20 * time.Second
		m, other := b.another(t, guard), b.another(t, guard)
		time.Sleep(guard + guard/10) // a fresh fleet's guard
		post := b.hold(t, m)
		x := Claim{Owner: b.m.NewOwner("k"), Token: 5, At: 1<<1 | 1<<2}
		b.seat(x.ID, time.Minute, 1, 2)
		a := askedBid(other)
		b.wantHolders(t, "k", a.owner.ID+" "+x.ID+" "+x.ID)
		b.Master(0).Restart()
		time.Sleep(time.Second)

		bid := m.NewBid(Wanted{Key: "k", Lease: bidLease, Since: clock.Now().Add(-time.Hour)})
		bid.Ask()
		synctest.Wait()
		b.m.Release(x, 0)
		post.deliver(t, 1)
		post.deliver(t, 2)
		g := wantWon(t, "B, after two messages", bid)
		renewal := newAsked("k", g.ID)
		b.Master(1).Delay(2 * firstH)
		m.Renew(bidLease, []Renewal{renewal})
		synctest.Wait()
		b.Master(1).Delay(0)
		time.Sleep(firstH)
		if left, ok := (<-renewal.told).(time.Duration); ok {
			g.Until = clock.Now().Add(left - firstH)
		}
		a.Ask()
		b.wantHolders(t, "k", "- "+a.owner.ID+" "+g.ID)
		wantOne(t, a, g.Until)
		wantVotes(t, "A, with the votes of m1 and m2", a)
	})
}

// A renews for less than the lease that it has, and still counts on that. B does not get the
// lock before it is over.
func TestARenewalDoesNotShorten(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		a := take(t, b.m)
		m := b.another(t, 0)
		renewal := newAsked("k", a.ID)
		b.m.Renew(time.Second, []Renewal{renewal})
		<-renewal.told
		time.Sleep(2 * time.Second)
		bid := askedBid(m)
		wantOne(t, bid, a.Until)
		wantNotWon(t, "in the lease of A", bid)
	})
}
