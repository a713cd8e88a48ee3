package multilock

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
)

// asked5 is a bid on five masters that has asked at 0, 70 and 130 ms, at which another
// owner has the lock. It is 150 ms now.
func asked5(t *testing.T, b bench) *Bid {
	t.Helper()
	b.seat("x:r1", time.Minute, 0, 1, 2, 3, 4)
	bid := askedBid(b.m)
	time.Sleep(70 * time.Millisecond)
	bid.Ask()
	time.Sleep(60 * time.Millisecond)
	bid.Ask()
	time.Sleep(20 * time.Millisecond)
	return bid
}

// askedAt is when asked5 sent each ask.
var askedAt = map[uint64]time.Duration{1: 0, 2: 70 * time.Millisecond, 3: 130 * time.Millisecond}

func (b *Bid) pass(number uint64, token int64) script.HandOff {
	return script.HandOff{Owner: b.owner.ID, Round: number, Token: token, Key: "k"}
}

// A pass is a vote from when the ask was sent that it names, and the hold lasts as long as
// the q-th longest vote: to the nanosecond, and however late the messages come.
func TestUntilOfPasses(t *testing.T) {
	for _, tt := range []struct {
		name    string
		numbers []uint64 // that the messages name, from m1 on
		want    uint64   // whose ask the hold lasts for
	}{
		{"the first ask", []uint64{1, 1, 1}, 1},
		{"the last ask", []uint64{3, 3, 3}, 3},
		{"the oldest of the majority", []uint64{3, 1, 2}, 1},
		{"whatever the order", []uint64{1, 2, 3}, 1},
		{"two that are new do not help", []uint64{3, 3, 1}, 1},
		{"the second ask", []uint64{2, 3, 3}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 5, func(t *testing.T, b bench) {
				bid := asked5(t, b)
				for i, n := range tt.numbers {
					wantNotWon(t, "before the q-th message", bid)
					b.m.HandedOff(i, bid.pass(n, 1))
					time.Sleep(7 * time.Millisecond)
				}
				g := wantWon(t, "after the q-th message", bid)
				now := 150*time.Millisecond + 21*time.Millisecond
				want := askedAt[tt.want] + firstH - clock.Drift(firstH) - now
				if got := clock.Until(g.Until); got != want || !g.Short {
					t.Errorf("passes for asks %v: got %v left, short %v, want %v, true", tt.numbers, got, g.Short, want)
				}
			})
		})
	}
}

// A grant is a vote from when its own command was sent, for the whole lease. The lock is
// to be renewed soon if its time ends with a pass.
func TestUntilOfGrantsAndPasses(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.seat("x:r1", time.Minute, 0, 1)
		bid := askedBid(b.m) // m3 grants
		time.Sleep(50 * time.Millisecond)
		b.m.HandedOff(0, bid.pass(1, 1))
		g := wantVotes(t, "a grant and a pass", bid)
		if got, want := clock.Until(g.Until), firstValid-50*time.Millisecond; got != want || !g.Short {
			t.Errorf("a grant and a pass: got %v left, short %v, want %v, true", got, g.Short, want)
		}
	})
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.seat("x:r1", time.Minute, 0, 1)
		bid := askedBid(b.m) // m3 grants
		time.Sleep(50 * time.Millisecond)
		b.Master(2).Delay(time.Millisecond) // so its second grant comes too late to count
		b.Master(1).Del("k")
		bid.Ask() // m2 grants
		g := wantVotes(t, "two grants", bid)
		if got, want := clock.Until(g.Until), clock.Validity(bidLease, 50*time.Millisecond); got != want || g.Short {
			t.Errorf("two grants: got %v left, short %v, want %v, false", got, g.Short, want)
		}
	})
}

// Which vote comes last does not matter, and an older message of a master takes nothing
// from a newer one.
func TestUntilWhateverComesLast(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.seat("x:r1", time.Minute, 0, 1, 2)
		bid := askedBid(b.m)
		b.m.HandedOff(0, bid.pass(1, 1))
		time.Sleep(50 * time.Millisecond)
		b.Master(2).Del("k")
		bid.Ask() // m3 grants
		g := wantVotes(t, "a pass, then a grant", bid)
		if got, want := clock.Until(g.Until), firstValid-50*time.Millisecond; got != want || !g.Short {
			t.Errorf("a pass, then a grant: got %v left, short %v, want %v, true", got, g.Short, want)
		}
	})
	inBubble(t, 5, func(t *testing.T, b bench) {
		bid := asked5(t, b)
		for i := range 3 {
			b.m.HandedOff(i, bid.pass(3, 1))
			b.m.HandedOff(i, bid.pass(1, 1))
		}
		g := wantWon(t, "after three masters' passes", bid)
		if got, want := clock.Until(g.Until), firstValid-20*time.Millisecond; got != want {
			t.Errorf("new messages, then old ones: got %v left, want %v", got, want)
		}
	})
}

// An ask that finds what was passed before makes it a grant, for the whole lease.
func TestAnAskConfirmsAPass(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		claim := b.held(t)
		m := b.another(t, 0)
		post := b.hold(t, m)
		bid := askedBid(m)
		time.Sleep(50 * time.Millisecond)
		b.m.Release(claim, 0)
		post.deliver(t, 0)
		b.Master(1).Delay(time.Millisecond)
		b.Master(2).Delay(time.Millisecond) // m1 answers first
		bid.Ask()
		time.Sleep(2 * time.Millisecond)
		g := wantWon(t, "after a pass and an ask", bid)
		if got, want := clock.Until(g.Until), clock.Validity(bidLease, 2*time.Millisecond); got != want || g.Short {
			t.Errorf("got %v left, short %v, want %v, false", got, g.Short, want)
		}
		time.Sleep(firstH) // longer than the lock was passed for
		b.wantHolders(t, "k", fmt.Sprint(bid.owner.ID, " ", bid.owner.ID, " ", bid.owner.ID))
	})
}

// Messages that must change nothing: the bid is not won by them, and is not lost either.
func TestHarmlessPasses(t *testing.T) {
	for _, tt := range []struct {
		name string
		pass func(m *Masters, bid *Bid)
	}{
		{"a duplicate", func(m *Masters, bid *Bid) {
			for range 5 {
				m.HandedOff(0, bid.pass(1, 1))
				m.HandedOff(0, bid.pass(3, 1))
			}
		}},
		{"asks that were never sent", func(m *Masters, bid *Bid) {
			for i := range 5 {
				m.HandedOff(i, bid.pass(uint64(4+i), 1))
			}
		}},
		{"ask 0", func(m *Masters, bid *Bid) {
			for i := range 5 {
				m.HandedOff(i, bid.pass(0, 1))
			}
		}},
		{"another owner", func(m *Masters, bid *Bid) {
			for i := range 5 {
				m.HandedOff(i, script.HandOff{Owner: m.NewOwner("k").ID, Round: 1, Token: 1, Key: "k"})
			}
		}},
		{"another bid", func(m *Masters, bid *Bid) {
			other := newBid(m)
			for i := range 5 {
				m.HandedOff(i, other.pass(1, 1))
			}
			other.GiveUp(nil)
		}},
		{"a minority", func(m *Masters, bid *Bid) {
			m.HandedOff(0, bid.pass(1, 1))
			m.HandedOff(4, bid.pass(3, 1))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 5, func(t *testing.T, b bench) {
				bid := asked5(t, b)
				tt.pass(b.m, bid)
				wantNotWon(t, "after what must not count", bid)
				for i := range 3 {
					b.m.HandedOff(i+1, bid.pass(3, 1))
				}
				g := wantWon(t, "after three passes", bid)
				if got, most := clock.Until(g.Until), firstValid-20*time.Millisecond; got > most {
					t.Errorf("got %v left, want at most %v", got, most)
				}
			})
		})
	}
}

// Votes that ran out do not count with those that came later.
func TestVotesMustBeValidAtTheSameTime(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b bench) {
		bid := asked5(t, b)
		b.m.HandedOff(0, bid.pass(1, 1))
		b.m.HandedOff(1, bid.pass(2, 1))
		time.Sleep(firstValid - 150*time.Millisecond) // the first has just ended
		b.m.HandedOff(2, bid.pass(3, 1))
		wantNotWon(t, "two votes, and one that has ended", bid)
		b.m.HandedOff(3, bid.pass(3, 1))
		g := wantWon(t, "three votes", bid)
		if got, want := clock.Until(g.Until), 70*time.Millisecond; got != want {
			t.Errorf("got %v left, want %v: the second ask's", got, want)
		}
	})
}

// A pass that is too old to count, or names an ask that is not known any more, is followed
// by an ask at once: the lock may be there.
func TestAPassThatCannotCountIsConfirmed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		number uint64
		at     time.Duration
	}{
		{"its time is over", 1, firstValid},
		{"in the last moment of the lease", 1, firstH - 1},
		{"it names no ask", 99, 20 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, b bench) {
				claim := b.held(t)
				m := b.another(t, 0)
				b.hold(t, m) // the masters' messages never come
				bid := askedBid(m)
				w := wait(t, bid)
				time.Sleep(tt.at)
				b.m.Release(claim, 0)
				synctest.Wait()
				start := time.Now()
				m.HandedOff(0, bid.pass(tt.number, 1))
				synctest.Wait()
				if w.now().won {
					t.Fatal("won by the pass, want not before it is confirmed")
				}
				time.Sleep(settle)
				got := w.now()
				if took := got.at.Sub(start); !got.won || took > settle {
					t.Errorf("won %v after %v, want true after %v", got.won, took, settle)
				}
				if left, want := clock.Until(got.grant.Until), clock.Validity(bidLease, settle); left < want {
					t.Errorf("got %v left, want at least %v", left, want)
				}
			})
		})
	}
}
