package protocol

import (
	"fmt"
	"testing"
	"time"
)

// When asked sent its rounds.
const (
	secondAt = 70 * ms
	thirdAt  = 130 * ms
)

var askedAt = map[uint32]time.Duration{1: 0, 2: secondAt, 3: thirdAt}

// asked is a contender for a lock that another owner has, which sent three rounds. It is 150 ms now.
func asked(s *scene) {
	s.Helper()
	held := busy(x, time.Minute)
	s.start().allAnswer(held).round(secondAt).allAnswer(held).round(thirdAt).allAnswer(held).at(150 * ms)
}

// A hand-off is a vote from when the round was sent that it names, and the hold lasts as long as the
// q-th longest vote: to the nanosecond, and however late the messages come.
func TestUntilOfHandOffs(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rounds []uint32 // that the messages name, from m1 on
		want   uint32   // whose round the hold lasts for
	}{
		{"the first round", []uint32{1, 1, 1}, 1},
		{"the last round", []uint32{3, 3, 3}, 3},
		{"the oldest of the majority", []uint32{3, 1, 2}, 1},
		{"whatever the order", []uint32{1, 2, 3}, 1},
		{"two that are new do not help", []uint32{3, 3, 1}, 1},
		{"the second round", []uint32{2, 3, 3}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, 5, waits, func(s *scene) {
				asked(s)
				for i, n := range tt.rounds {
					s.at(s.now+7*ms).handOff(i, n, 7)
					if i < 2 {
						s.want(Minority)
					}
				}
				s.wantWon(askedAt[tt.want]+shortValid, true, 7)
			})
		})
	}
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
					s.want(Minority).wantWakeBy(s.now+s.conf.Settle).wake().wantRound(All(3), AskOrQueue, s.out.Lease)
					s.answer(0, yes(7)).answer(1, yes(7)).want(Won)
				})
			})
		}
	}
}

// The counterexamples that the design was found with, each in the order of events that makes two
// holders where its rule is broken. A has the lock, B and C want it; the scene is B's.

// B gives its votes back and goes on as a new owner. Messages for the old one come late: what they
// tell of was released, and C has it.
func TestAnOwnerIsNotUsedAgain(t *testing.T) {
	play(t, 3, waits, func(s *scene) {
		s.start().answers(busy(x, time.Minute), busy(y, 300*ms), yes(7)).want(Minority)
		s.wake().wantGivenBack(All(3), 0, true).want(Waiting)
		s.round(301*ms).answers(busy(z, lease), yes(9), busy(z, lease)).want(Minority) // y's lease is over
		old := Event{Kind: HandedOff, Try: 1, Round: 1, Token: 7}
		for old.Master = range 3 {
			s.step(old).want(Minority)
		}
		s.answer(0, yes(7).of(1).to(1)).answer(2, yes(7).of(1).to(1)).handOff(0, 1, 7).want(Minority)
		for _, i := range []int{0, 2} {
			if s.c.Masters[i].Voted {
				t.Errorf("m%d voted for the owner before, and it counts", i+1)
			}
		}
	})
}
