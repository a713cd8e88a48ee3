package protocol

import (
	"fmt"
	"testing"
	"time"
)

// A master whose clock ran ahead may have ended what it voted for: its vote counts no more. What was won ends
// with the votes that are left, or at once.
func TestDoubtedVotes(t *testing.T) {
	doubt := func(i int) Event { return Event{Kind: Doubt, Master: i} }
	play(t, 3, tries, func(s *scene) {
		s.start().answer(0, yes(7)).step(doubt(0)).answer(1, yes(7)).want(Asking).answer(2, yes(7)).wantWon(full, false, 7)
		s.step(doubt(0)).wantWon(full, false, 7) // it had no say
		s.at(ms).step(doubt(2)).take().wantFailed(Late, 0b111)
	})
	play(t, 3, waits, func(s *scene) { // while the token is agreed on
		s.start().answers(yes(7), yes(9)).wantRaise(0b101, 9).step(doubt(1)).raised(0, Yes, 9).want(Waiting).wantGivenBack(0b111, 0, true)
	})
}

// Hand-offs that leave less time than two renewals take do not win: the next round makes grants of
// them. Of a lease that is short itself a quarter is enough.
func TestHandOffsThatLeaveTooLittleTime(t *testing.T) {
	for _, tt := range []struct {
		lease, trip time.Duration
		left        time.Duration // that is enough
	}{
		{lease, 0, 40 * ms},
		{lease, 15 * ms, 70 * ms},
		{120 * ms, 0, 30 * ms},
	} {
		for _, short := range []time.Duration{0, 1} {
			t.Run(fmt.Sprint(tt.lease, tt.trip, short), func(t *testing.T) {
				play(t, 3, Want{Lease: tt.lease, Wait: true}, func(s *scene) {
					s.trip = tt.trip
					s.start()
					sent := s.c.Rounds[maxRounds-1]
					until := deadline(sent.Sent, sent.Lease).Sub(s.begin)
					s.allAnswer(busy(x, time.Minute))
					for at, _ := s.c.Wake(); at.Sub(s.begin) < until-tt.left; at, _ = s.c.Wake() {
						s.wake()
					}
					s.at(until-tt.left+short).handOff(0, 1, 7).handOff(1, 1, 7)
					if short == 0 {
						s.wantWon(until, true, 7)
						return
					}
					s.want(Minority).wantWake(s.now+s.conf.Settle).wake().wantRound(All(3), AskOrQueue, s.out.Lease)
					s.answer(0, yes(7)).answer(1, yes(7)).want(Won)
				})
			})
		}
	}
}

// Whatever happens between a grant and a raise. A master that has the number, or a larger one, refuses: it may
// be somebody else's token.
func TestRaise(t *testing.T) {
	for _, tt := range []struct {
		name     string
		counters [3]int64 // by then
		gone     Set      // masters that do not have the lock any more
		want     int64    // 0: none
		raises   uint8
	}{
		{"nothing", [3]int64{21, 31, 7}, 0, 31, 1},
		{"the counters are equal", [3]int64{31, 31, 31}, 0, 32, 2},
		{"the counters are above", [3]int64{40, 31, 50}, 0, 51, 2},
		{"two locks are gone", [3]int64{21, 31, 7}, 0b101, 0, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, 3, tries, func(s *scene) {
				counters := tt.counters
				s.start().answers(yes(21), yes(31)).wantRaise(0b101, 31)
				for range tt.raises {
					at, to, raises := s.out.Raise, s.out.RaiseTo, s.c.Raises
					for i, counter := range counters {
						switch {
						case !at.Has(i) || s.c.Raises != raises:
						case tt.gone.Has(i):
							s.raised(i, No, 0)
						case counter < to:
							counters[i] = to
							s.raised(i, Yes, to)
						default:
							s.raised(i, No, counter)
						}
					}
				}
				if tt.want > 0 {
					s.wantWon(full, false, tt.want)
				} else {
					s.wantFailed(NoToken, All(3))
				}
				if s.c.Raises != tt.raises {
					t.Errorf("%d raises, want %d", s.c.Raises, tt.raises)
				}
			})
		})
	}
}

// A reader is refused only where it is no longer in, so it does not raise a second time.
func TestRaiseOfAReaderGivesUp(t *testing.T) {
	play(t, 3, Want{Lease: lease, Shared: true, Wait: true}, func(s *scene) {
		s.start().answers(yes(7), yes(9)).wantRaise(0b101, 9).raised(0, No, 0).raised(2, No, 0)
		s.wantGivenBack(All(3), 0, false).want(Waiting)
	})
}
