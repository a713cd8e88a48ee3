package multilock

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlocktest"
)

// givenUp are the states in which a bid can be given up. Each returns the bid, of a lock
// that claim has.
var givenUp = []struct {
	name string
	bid  func(t *testing.T, b bench, m *Masters, claim Claim) *Bid
}{
	{"before it asked", func(t *testing.T, b bench, m *Masters, claim Claim) *Bid {
		return newBid(m)
	}},
	{"its ask is not sent yet", func(t *testing.T, b bench, m *Masters, claim Claim) *Bid {
		bid := newBid(m)
		bid.Ask()
		return bid
	}},
	{"its ask is under way", func(t *testing.T, b bench, m *Masters, claim Claim) *Bid {
		bid := newBid(m)
		bid.Ask()
		synctest.Wait()
		time.Sleep(time.Millisecond)
		return bid
	}},
	{"in the queue", func(t *testing.T, b bench, m *Masters, claim Claim) *Bid {
		bid := askedBid(m)
		time.Sleep(10 * time.Millisecond)
		return bid
	}},
	{"it has waited, and asked again", func(t *testing.T, b bench, m *Masters, claim Claim) *Bid {
		bid := askedBid(m)
		waitFor(t, bid, 777*time.Millisecond)
		return bid
	}},
	{"with a minority of grants", func(t *testing.T, b bench, m *Masters, claim Claim) *Bid {
		b.Master(2).Del("k")
		bid := askedBid(m)
		time.Sleep(10 * time.Millisecond)
		return bid
	}},
	{"after a roll-back", func(t *testing.T, b bench, m *Masters, claim Claim) *Bid {
		b.Master(2).Del("k")
		b.Master(1).Del("k")
		b.seat("x:r1", 3*time.Second, 1)
		bid := askedBid(m)
		waitFor(t, bid, 40*time.Millisecond)
		return bid
	}},
	{"the lock is free and being passed", func(t *testing.T, b bench, m *Masters, claim Claim) *Bid {
		bid := askedBid(m)
		waitFor(t, bid, 300*time.Millisecond)
		b.m.Release(claim, 0)
		return bid
	}},
	{"a message has come", func(t *testing.T, b bench, m *Masters, claim Claim) *Bid {
		bid := askedBid(m)
		waitFor(t, bid, 300*time.Millisecond)
		claim.At = 1
		b.m.Release(claim, 0)
		time.Sleep(10 * time.Millisecond)
		return bid
	}},
	{"it is won, and nobody has looked", func(t *testing.T, b bench, m *Masters, claim Claim) *Bid {
		bid := askedBid(m)
		waitFor(t, bid, 300*time.Millisecond)
		b.m.Release(claim, 0)
		time.Sleep(10 * time.Millisecond)
		return bid
	}},
	{"entered by a release", func(t *testing.T, b bench, m *Masters, claim Claim) *Bid {
		bid := newBid(m)
		claim.At = 3
		m.ReleaseTo(Claim{Owner: m.NewOwner("k"), Token: 1, At: 3}, bid)
		return bid
	}},
	{"entered by a release a while ago", func(t *testing.T, b bench, m *Masters, claim Claim) *Bid {
		bid := newBid(m)
		m.ReleaseTo(Claim{Owner: m.NewOwner("k"), Token: 1, At: 5}, bid)
		waitFor(t, bid, 20*time.Millisecond)
		return bid
	}},
}

func waitFor(t *testing.T, b *Bid, d time.Duration) {
	done := make(chan struct{})
	time.AfterFunc(d, func() { close(done) })
	b.Wait(t.Context(), nil, done)
}

// A bid that is given up leaves nothing on any master, whatever the masters are up to.
func TestGiveUpLeavesNothing(t *testing.T) {
	for _, fault := range []struct {
		name       string
		hurt, heal func(m *redlocktest.Master)
	}{
		{"all is well", func(*redlocktest.Master) {}, func(*redlocktest.Master) {}},
		{"slow", func(m *redlocktest.Master) { m.Delay(7 * time.Millisecond) }, func(m *redlocktest.Master) { m.Delay(0) }},
		{"frozen", (*redlocktest.Master).Freeze, (*redlocktest.Master).Thaw},
		{"cut off", (*redlocktest.Master).Cut, (*redlocktest.Master).Mend},
		{"killed", (*redlocktest.Master).Kill, (*redlocktest.Master).RestartWithData},
	} {
		for _, state := range givenUp {
			for _, moment := range []string{"before", "at once", "since"} {
				t.Run(fmt.Sprint(fault.name, "/", state.name, "/", moment), func(t *testing.T) {
					inBubble(t, 3, func(t *testing.T, b bench) {
						claim := b.held(t)
						m := b.another(t, 0)
						hurt := func() {
							fault.hurt(b.Master(0))
							fault.hurt(b.Master(2))
						}
						if moment == "before" {
							hurt()
						}
						bid := state.bid(t, b, m, claim)
						if moment == "at once" {
							hurt()
						}
						bid.GiveUp(nil)
						if moment == "since" {
							hurt()
						}
						time.Sleep(300 * time.Millisecond)
						fault.heal(b.Master(0))
						fault.heal(b.Master(2))
						time.Sleep(1500 * time.Millisecond)
						for i, master := range b.Masters() {
							if h := master.Holder("k"); strings.HasPrefix(h, m.id) {
								t.Errorf("%s is still held by %s", master.Name(), h)
							}
							if q := b.queues()[i]; q != "" {
								t.Errorf("%s still has in its queue %q", master.Name(), q)
							}
						}
						m.mu.Lock()
						defer m.mu.Unlock()
						if len(m.owners) > 0 {
							t.Errorf("%d bids are remembered, want none", len(m.owners))
						}
					})
				})
			}
		}
	}
}

// The next of the client takes its place, in the same script calls.
func TestGiveUpToTheNext(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.held(t)
		m := b.another(t, 0)
		b.hold(t, m)
		bid := askedBid(m)
		calls := b.Master(1).Calls("EVALSHA")
		next := newBid(m)
		bid.GiveUp(next)
		synctest.Wait()
		for i, q := range b.queues() {
			if q != next.owner.ID {
				t.Errorf("queue of m%d = %q, want %q", i+1, q, next.owner.ID)
			}
		}
		if got := b.Master(1).Calls("EVALSHA") - calls; got != 1 {
			t.Errorf("%d script calls, want 1", got)
		}
		next.GiveUp(nil)
		synctest.Wait()
		if got := strings.Join(b.queues(), ""); got != "" {
			t.Errorf("queues = %q, want none", got)
		}
	})
}

// A bid may be given up by its caller while another goroutine names it in a release: its
// ask never comes after what takes it back.
func TestGiveUpWhileNamedInARelease(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.Master(0).Kill() // its answer comes before the ask is sent to the others
		m := b.another(t, 0)
		time.Sleep(200 * time.Millisecond)
		for range 500 {
			next := newBid(m)
			named := make(chan struct{})
			go func() {
				m.ReleaseTo(Claim{Owner: m.NewOwner("k"), Token: 1, At: 0}, next)
				close(named)
			}()
			for next.reached() == 0 {
			}
			next.GiveUp(nil)
			<-named
			synctest.Wait()
			if got := b.holders("k"); got != "- - -" {
				t.Fatalf("holders = %s, want none: the ask came after the release", got)
			}
		}
	})
}

// reached returns the number of asks so far.
func (b *Bid) reached() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.number
}
