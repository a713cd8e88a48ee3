package multilock

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// The counterexamples that the design was found with, each in the order of events that makes two
// holders where its rule is broken. A has the lock, B and C want it.

// wantOne fails if b has the lock while another has it until then.
func wantOne(t *testing.T, b *contest, another clock.Instant) {
	t.Helper()
	synctest.Wait()
	s := stateOf(b)
	won := s.State == protocol.Won || s.State == protocol.Taken
	if won && clock.Until(s.Until) > 0 && clock.Until(another) > 0 {
		t.Errorf("two holders: B for %v, another for %v", clock.Until(s.Until), clock.Until(another))
	}
}

// at sleeps until d after start.
func at(start time.Time, d time.Duration) {
	time.Sleep(d - time.Since(start))
	synctest.Wait()
}

// until returns the end of a hold's validity.
func until(h *Hold) clock.Instant {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state.Until
}

// leave gives up, or back, what a contest has, as the end of a test.
func leave(c *contest) {
	if g, ok := c.take(); ok {
		c.m.release(g.Claim, 0)
		return
	}
	c.giveUp(nil)
}

// The lock is handed to B, whose messages are held up until the lease is over. C takes the lock. B
// asks again, which C's hold answers. Now the messages come: they name the first round, and count
// from then, so not at all.
func TestAHandOffHeldUpPastItsLease(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		a := fx.take(t, fx.m, "k")
		m := fx.another(t)
		post := fx.hold(t, m)
		start := time.Now()
		b := askedQuiet(m)
		defer leave(b)
		at(start, 10*time.Millisecond)
		unlock(t, a)
		at(start, 11*time.Millisecond+firstLease)
		c := fx.take(t, fx.another(t), "k")
		ask(b)
		at(start, 20*time.Millisecond+firstLease)
		for i := range 3 {
			if h := post.deliver(t, i); h != handOff(b, 1, h.Token) {
				t.Errorf("m%d handed off %+v, want it for round 1 of %s", i+1, h, current(b))
			}
			wantOne(t, b, until(c))
		}
		wantNotWon(t, "after messages that came too late", b)
	})
}

// The same with a round that was answered busy before the lease was over: the hand-off was under way
// then, and names the round before.
func TestAHandOffUnderWayAtTheNextRound(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		a := fx.take(t, fx.m, "k")
		m := fx.another(t)
		post := fx.hold(t, m)
		start := time.Now()
		b := askedQuiet(m)
		defer leave(b)
		// B's second round is on its way when the lock is handed off, and its lease over when that
		// arrives.
		at(start, 150*time.Millisecond)
		unlock(t, a)
		synctest.Wait()
		fx.each(func(m *redlocktest.Master) { m.Delay(firstLease + 50*time.Millisecond) })
		at(start, 200*time.Millisecond)
		ask(b)
		synctest.Wait()
		fx.each(func(m *redlocktest.Master) { m.Delay(0) })
		at(start, 155*time.Millisecond+firstLease) // before the round arrives
		c := fx.take(t, fx.another(t), "k")
		at(start, 160*time.Millisecond+firstLease)
		for i := range 3 {
			post.deliver(t, i)
			wantOne(t, b, until(c))
		}
		wantNotWon(t, "after messages that came too late", b)
	})
}

// Messages that come while the lease runs do not make it longer: when C can have the lock, B has
// it no more.
func TestAHandOffDoesNotCountFromItsReceipt(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		a := fx.take(t, fx.m, "k")
		m := fx.another(t)
		post := fx.hold(t, m)
		start := time.Now()
		b := askedQuiet(m)
		at(start, 1*time.Millisecond)
		unlock(t, a)
		at(start, 300*time.Millisecond)
		for i := range 2 {
			post.deliver(t, i)
		}
		g := wantWon(t, "after two messages", b)
		if got, want := clock.Until(g.Until), firstValid-300*time.Millisecond; got != want || !g.Short {
			t.Errorf("won for %v, short %v, want %v, true", got, g.Short, want)
		}
		at(start, 2*time.Millisecond+firstLease) // the masters have let go
		wantOne(t, b, until(fx.take(t, fx.another(t), "k")))
		m.release(g.Claim, 0)
	})
}

// The hold lasts as long as a majority of the votes: B is handed m1 for its first round and m2 for
// its second. When m1's time is over, C takes m1 and m3.
func TestTheMajorityEndsWithItsFirstVote(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		a := fx.take(t, fx.m, "k")
		m := fx.another(t)
		post := fx.hold(t, m)
		fx.fences(1<<50, 1<<50) // above what is proposed, so that the two hand-offs agree
		fx.Master(2).Kill()
		start := time.Now()
		b := askedQuiet(m)
		at(start, 10*time.Millisecond)
		claim := a.claim
		claim.At = 1
		fx.m.release(claim, 0)
		synctest.Wait()
		fx.Master(0).Kill() // so B's second round does not reach it
		at(start, 150*time.Millisecond)
		ask(b)
		at(start, 160*time.Millisecond)
		claim.At = 2
		fx.m.release(claim, 0)
		synctest.Wait()
		post.deliver(t, 0)
		wantNotWon(t, "after one message", b)
		post.deliver(t, 1)
		g := wantWon(t, "after two messages", b)
		fx.Master(0).RestartWithData()
		fx.Master(2).RestartWithData()
		fx.Master(2).Del("k") // A's
		at(start, 15*time.Millisecond+firstLease)
		c := fx.take(t, fx.another(t), "k")
		wantOne(t, b, until(c))
		fx.wantHolders(t, "k", c.Owner()+" "+g.ID+" "+c.Owner())
		m.release(g.Claim, 0)
	})
}

// B gives its votes back and goes on as a new owner. Messages for the old one come late: what they
// tell of was released, and C has it.
func TestAnOwnerIsNotUsedAgain(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		m, other := fx.another(t), fx.another(t)
		post, othersPost := fx.hold(t, m), fx.hold(t, other)
		a := Claim{Owner: script.NewOwner("k", fx.m.owners.make(nil)), Token: 1, At: 1}
		fx.seat(a.ID, time.Minute, 0)
		fx.seat("x", 300*time.Millisecond, 1)

		b := askedQuiet(m)   // m3 grants, the others have it in their queues
		fx.m.release(a, 0)   // m1 hands it to B, and the message is held up
		synctest.Wait()      //
		c := newQuiet(other) // C has waited for longer
		c.since = c.since.Add(-time.Hour)
		c.start()
		time.Sleep(20 * time.Millisecond)
		backOff(t, b) // m1 and m3 are given back, and handed to C
		synctest.Wait()
		othersPost.deliver(t, 0)
		othersPost.deliver(t, 2)
		g := wantWon(t, "C, after two messages", c)
		time.Sleep(300 * time.Millisecond) // m2's lease is over
		fx.Master(1).Del("redlock_wait:{k}")
		ask(b) // m2 grants
		synctest.Wait()
		post.deliver(t, 0)
		wantOne(t, b, g.Until)
		wantNotWon(t, "B, after a message for an owner that is given up", b)
		leave(b)
		other.release(g.Claim, 0)
	})
}

// A has m1 and m2, and m2 restarts empty. It must not hand the lock, which it has forgotten, to B, who
// is handed m3 as well.
func TestAGuardedMasterHandsNothingOff(t *testing.T) {
	inGuardedBubble(t, 3, 20*time.Second, func(t *testing.T, fx *fixture) {
		m := fx.m
		mine := script.NewOwner("k", m.owners.make(nil))
		fx.seat(mine.ID, lease, 2) // what is left of an earlier try of B's client
		a := fx.take(t, fx.another(t), "k")
		fx.wantHolders(t, "k", a.Owner()+" "+a.Owner()+" "+mine.ID)
		fx.Master(1).Restart()
		time.Sleep(2 * time.Second) // and is up again
		m.greet(t.Context())
		post := fx.hold(t, m)
		b := newQuiet(m)
		m.releaseTo(Claim{Owner: mine, Token: 5, At: 1<<1 | 1<<2}, b)
		post.deliver(t, 2)
		for _, h := range post.kept(1) {
			m.HandedOff(1, h)
		}
		wantOne(t, b, until(a))
		fx.wantHolders(t, "k", a.Owner()+" - "+current(b))
		if got := fx.queues("k")[1]; got != current(b) {
			t.Errorf("queue of m2 = %q, want %q: it may enter", got, current(b))
		}
		leave(b)
	})
}

// A has the vote of m1, which restarts empty then. B is handed m2 and m3 for a short time, and its
// renewals reach m2 late: A takes that as well. Had B set the lock again at m1, it would hold m1 and
// m3 meanwhile.
func TestAGuardedMasterHealsNothing(t *testing.T) {
	inGuardedBubble(t, 3, 20*time.Second, func(t *testing.T, fx *fixture) {
		m, other := fx.m, fx.another(t)
		m.greet(t.Context())
		post := fx.hold(t, m)
		x := Claim{Owner: script.NewOwner("k", other.owners.make(nil)), Token: 5, At: 1<<1 | 1<<2}
		fx.seat(x.ID, time.Minute, 1, 2)
		a := askedQuiet(other)
		fx.wantHolders(t, "k", current(a)+" "+x.ID+" "+x.ID)
		fx.Master(0).Restart()
		time.Sleep(time.Second)

		b := newQuiet(m)
		b.since = b.since.Add(-time.Hour)
		b.start()
		synctest.Wait()
		other.release(x, 0)
		post.deliver(t, 1)
		post.deliver(t, 2)
		g := wantWon(t, "B, after two messages", b)
		fx.Master(1).Delay(2 * firstLease)
		hold := m.newHold(patient("k"), g) // it is renewed soon, and again
		time.Sleep(firstLease - time.Millisecond)
		if got := fx.Master(0).Holder("k"); got != "" {
			t.Errorf("m1, which is guarded, has %s, want nobody", got)
		}
		fx.Master(1).Delay(0)
		time.Sleep(2 * time.Millisecond)
		ask(a)
		synctest.Wait()
		wantOne(t, a, until(hold))
		if s := stateOf(a); s.State != protocol.Won {
			t.Errorf("A, with the votes of m1 and m2: %v, want won", s.State)
		}
		leave(a)
	})
}

// A renews for less than the lease that it has, and still counts on that. B does not get the lock
// before it is over.
func TestARenewalDoesNotShorten(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		a := fx.take(t, fx.m, "k")
		if err := a.Extend(t.Context(), entryOf(a), time.Second); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if got, want := a.Remaining(), clock.Validity(lease, 2*time.Second); got != want {
			t.Errorf("Remaining = %v, want %v", got, want)
		}
		if _, err := fx.another(t).Lock(t.Context(), request("k")); !errors.Is(err, ErrTaken) {
			t.Errorf("Lock of another = %v, want ErrTaken", err)
		}
		unlock(t, a)
	})
}
