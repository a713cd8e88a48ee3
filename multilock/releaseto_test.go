package multilock

import (
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/redlock/node/script"
)

// The next of the client enters the queue with the release where the hold was, and with an
// ask of its own where it was not: everywhere, in one round trip.
func TestReleaseToEntersEverywhere(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b bench) {
		m := b.another(t, 0)
		b.hold(t, m)
		g := take(t, m)
		claim := g.Claim
		claim.At = 1<<1 | 1<<3
		b.seat("x:r1", bidLease, 0, 2, 4)
		for _, i := range []int{0, 2, 4} {
			b.Master(i).Del("k")
			b.seat("x:r1", bidLease, i)
		}
		calls := make([]int64, 5)
		for i, m := range b.Masters() {
			calls[i] = m.Calls("EVALSHA")
		}
		next := newBid(m)
		m.ReleaseTo(claim, next)
		x := "x:r1"
		b.wantHolders(t, "k", strings.Join([]string{x, next.owner.ID, x, next.owner.ID, x}, " "))
		if got, want := b.queues(), []string{next.owner.ID, "", next.owner.ID, "", next.owner.ID}; !slices.Equal(got, want) {
			t.Errorf("queues = %q, want %q", got, want)
		}
		for i, m := range b.Masters() {
			if got := m.Calls("EVALSHA") - calls[i]; got != 1 {
				t.Errorf("%s: %d script calls, want 1", m.Name(), got)
			}
		}
		next.GiveUp(nil)
		time.Sleep(time.Second)
		b.wantHolders(t, "k", "x:r1 - x:r1 - x:r1")
	})
}

// A bid that was given up before the release names it enters no queue.
func TestReleaseToABidThatIsOver(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		m := b.another(t, 0)
		b.hold(t, m)
		g := take(t, m)
		next := newBid(m)
		next.GiveUp(nil)
		m.ReleaseTo(g.Claim, next)
		b.wantNothing(t, "after ReleaseTo")
	})
}

// A stray pass, to an owner that has gone, is taken back at that master and no other.
func TestStrayPassIsReleased(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		stray := b.m.NewOwner("k").ID
		b.seat(stray, bidLease, 0, 1, 2)
		b.m.HandedOff(1, script.HandOff{Owner: stray, Round: 3, Token: 9, Key: "k"})
		b.wantHolders(t, "k", stray+" - "+stray)
	})
}
