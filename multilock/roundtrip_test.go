package multilock

import (
	"context"
	"sync"
	"testing"
	"time"
)

// far puts the masters trip away, there and back, and makes a client that has measured it.
func (b bench) far(t *testing.T, trip time.Duration) *Masters {
	t.Helper()
	for _, m := range b.Masters() {
		m.Delay(trip / 2)
	}
	m := b.client(t, 0, timeout+2*trip)
	time.Sleep(10 * time.Second) // a TIME each second: the deviation of the first guess has gone
	return m
}

// A majority answers no sooner than its slowest master, and nobody waits for the rest.
func TestRoundTripOfAMajority(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b bench) {
		for i, ms := range []time.Duration{40, 10, 60, 30, 20} {
			b.Master(i).Delay(ms * time.Millisecond / 2)
		}
		m := b.another(t, 0)
		time.Sleep(20 * time.Second) // a TIME each second: the deviation of the first guess has gone
		check := func(when string, want time.Duration) {
			t.Helper()
			if got := m.RoundTrip(); got < want || got > want+want/10 {
				t.Errorf("%s: RoundTrip = %v, want %v and little more", when, got, want)
			}
		}
		check("five masters", 30*time.Millisecond)
		b.Master(1).Kill()
		time.Sleep(time.Second)
		check("without the fastest", 40*time.Millisecond)
		b.Master(3).Kill()
		b.Master(2).Kill()
		time.Sleep(time.Second)
		check("without a majority", 40*time.Millisecond)
		b.Master(0).Kill()
		b.Master(4).Kill()
		time.Sleep(time.Second)
		check("without masters", 0)
	})
}

// The further away the masters are, the longer a bid keeps a minority of votes: a majority
// takes that long to answer.
func TestPatienceFollowsTheRoundTrip(t *testing.T) {
	for _, trip := range []time.Duration{0, 70 * time.Millisecond, 600 * time.Millisecond} {
		t.Run(trip.String(), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, b bench) {
				m := b.far(t, trip)
				bid := newBid(m)
				defer bid.GiveUp(nil)
				bound := m.RoundTrip()
				if bound < trip || bound > trip+trip/4 {
					t.Fatalf("RoundTrip = %v, want %v and little more", bound, trip)
				}
				for range 400 {
					if p := bid.patience(); p < bound+stuck || p > 2*bound+3*stuck {
						t.Fatalf("patience %v, want %v to %v", p, bound+stuck, 2*bound+3*stuck)
					}
				}
			})
		})
	}
}

// Three callers on three masters get one vote each, since each has its own master's ear first.
// They give it back however far away the masters are, and all are served.
func TestFarCallersDoNotBlockEachOther(t *testing.T) {
	for _, ms := range []time.Duration{20, 100, 198, 240, 300, 450, 600} {
		trip := ms * time.Millisecond
		t.Run(trip.String(), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, b bench) {
				bids := make([]*Bid, 3)
				for i := range bids {
					bids[i] = newBid(b.far(t, trip))
				}
				for i, bid := range bids {
					bid.askSome(1 << i)
				}
				time.Sleep(time.Nanosecond)
				// A back-off or two, and a hand-over to each.
				most := 3*(lastAsk+stuck) + 12*trip
				ctx, cancel := context.WithTimeout(t.Context(), most)
				defer cancel()
				var callers sync.WaitGroup
				for i, bid := range bids {
					bid.Ask()
					callers.Go(func() {
						if g, won := bid.Wait(ctx, nil, nil); won {
							bid.m.Release(g.Claim, 0)
							return
						}
						t.Errorf("caller %d was not served in %v", i, most)
						bid.GiveUp(nil)
					})
				}
				callers.Wait()
			})
		})
	}
}

// askSome asks some masters only.
func (b *Bid) askSome(at Set) {
	b.sending.Lock()
	defer b.sending.Unlock()
	b.mu.Lock()
	a := b.newAsk(at)
	b.mu.Unlock()
	a.send(at)
}

// The next ask does not put off giving a minority back.
func TestAskDoesNotPutOffGivingBack(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.seat("y:r1", time.Hour, 1)
		b.seat("z:r1", time.Hour, 2)
		bid := askedBid(b.m)
		defer bid.GiveUp(nil)
		at := bid.stuckAt
		if at.IsZero() {
			t.Fatal("a minority of votes is kept for ever")
		}
		bid.Ask()
		if !bid.stuckAt.Equal(at) {
			t.Errorf("the next ask moves it from %v to %v", at, bid.stuckAt)
		}
	})
}

// Where the next ask is sent before the last one was answered, its answers count all the same:
// they tell that a minority is to be given back.
func TestAnswersToAnEarlierAskCount(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.seat("y:r1", time.Hour, 1)
		b.seat("z:r1", time.Hour, 2)
		for _, m := range b.Masters() {
			m.Delay(20 * time.Millisecond)
		}
		bid := newBid(b.m)
		defer bid.GiveUp(nil)
		bid.Ask()
		for range 3 {
			time.Sleep(15 * time.Millisecond)
			bid.Ask()
		}
		if bid.stuckAt.IsZero() {
			t.Error("a minority of votes is kept as long as asks overtake their answers")
		}
	})
}

// An answer to an ask that another one has followed brings no third one: the second is on its way
// to learn more.
func TestLateAnswersBringNoAsk(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.seat("y:r1", 30*time.Millisecond, 0, 1, 2)
		for _, m := range b.Masters() {
			m.Delay(20 * time.Millisecond)
		}
		bid := newBid(b.m)
		defer bid.GiveUp(nil)
		bid.Ask()
		time.Sleep(35 * time.Millisecond)
		bid.Ask()
		time.Sleep(6 * time.Millisecond) // the first is answered: free in 10 ms
		if d := time.Until(bid.askAt); d < 50*time.Millisecond {
			t.Errorf("the next ask is due in %v, want it after the answers to the last", d)
		}
	})
}
