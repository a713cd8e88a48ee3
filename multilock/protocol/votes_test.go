package protocol

import (
	"fmt"
	"testing"
	"time"

	"example.com/redlock/quorum"
)

// The lock is won with the q-th vote, and not one earlier.
func TestNotWonByAMinority(t *testing.T) {
	for n := 1; n <= Max; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			play(t, n, waits, func(s *scene) {
				s.start()
				for i := range quorum.Majority(n) - 1 {
					s.answer(n-1-i, yes(7)).want(Asking)
				}
				s.answer(0, yes(7)).wantWon(full, false, 7)
			})
		})
	}
}

// A grant is valid from when its round was sent, however late the answer comes.
func TestValidityCountsFromBeforeTheCommandsWereSent(t *testing.T) {
	play(t, 3, waits, func(s *scene) {
		s.at(time.Second).start().at(4*time.Second).answer(0, yes(7)).answer(1, yes(7))
		s.wantWon(time.Second+full, false, 7)
	})
	play(t, 3, waits, func(s *scene) { // to an earlier round, after the next was sent
		s.start().answer(0, busy(x, time.Minute)).answer(1, busy(x, time.Minute)).round(50 * ms)
		s.at(60*ms).answer(2, yes(7).to(1)).at(70*ms).answer(0, yes(7))
		s.wantWon(full, false, 7)
	})
	play(t, 3, waits, func(s *scene) { // the lease is over by then
		s.start().at(full).answer(0, yes(7)).answer(1, yes(7)).want(Waiting)
	})
	play(t, 3, waits, func(s *scene) { // in the last moment
		s.start().at(full-1).answer(0, yes(7)).answer(1, yes(7)).wantWon(full, false, 7)
	})
}

// A hold lasts until the q-th longest vote ends.
func TestUntilIsTheQthLongestVote(t *testing.T) {
	play(t, 5, waits, func(s *scene) {
		s.trip = 4 * ms
		s.start().answers(yes(7), busy(x, time.Hour), busy(x, time.Hour), busy(x, time.Hour)).want(Minority)
		s.round(2*ms).answer(1, yes(7)).round(3*ms).answer(4, yes(7).to(1))
		s.wantWon(full, false, 7)
	})
	play(t, 5, waits, func(s *scene) {
		s.trip = 4 * ms
		s.start().answers(yes(7), busy(x, time.Hour), busy(x, time.Hour), busy(x, time.Hour)).want(Minority)
		s.round(2*ms).answer(1, yes(7)).answer(0, yes(7)).round(3 * ms)
		s.answer(2, yes(7)).wantWon(2*ms+full, false, 7) // the vote of m1 is as new as that of m2
	})
}

// A busy answer may be older than a vote, so it takes none away. Neither does an older grant make
// one shorter.
func TestAnAnswerTakesNoVoteAway(t *testing.T) {
	play(t, 3, waits, func(s *scene) {
		s.start().answers(busy(x, time.Hour), busy(x, time.Hour)).round(50 * ms)
		s.answer(2, yes(7)).answer(2, busy(x, time.Hour).to(1)).want(Minority)
		s.answer(1, yes(7)).wantWon(50*ms+full, false, 7)
	})
	play(t, 3, waits, func(s *scene) {
		s.start().answers(busy(x, time.Hour), busy(x, time.Hour)).round(50 * ms)
		s.answer(2, yes(7)).answer(2, yes(7).to(1)).want(Minority)
		s.answer(1, yes(7)).wantWon(50*ms+full, false, 7)
	})
}

// Votes that have ended do not count with those that came later.
func TestVotesMustBeValidAtTheSameTime(t *testing.T) {
	play(t, 5, waits, func(s *scene) {
		asked(s)
		s.at(shortValid-1).handOff(0, 1, 7).handOff(1, 2, 7).want(Minority)
		s.at(shortValid).handOff(2, 3, 7).want(Minority) // the first has just ended
		s.handOff(3, 3, 7).wantWon(secondAt+shortValid, true, 7)
	})
	play(t, 3, Want{Lease: 100 * ms, Wait: true}, func(s *scene) { // of grants
		s.start().answer(0, yes(7)).at(97*ms).answer(1, yes(7)).want(Waiting)
		s.wantWakeBy(97*ms + s.conf.Settle) // the lock is ours, or free
		s.wake().answer(2, yes(7)).want(Minority)
		s.answer(1, yes(7)).wantWon(s.now+97*ms, false, 7)
	})
}

// Eight rounds are remembered. What answers an older one, or one that was never sent, is no vote.
func TestForgottenRounds(t *testing.T) {
	play(t, 3, waits, func(s *scene) {
		s.start().answers(busy(x, time.Hour), busy(x, time.Hour))
		for range 8 {
			s.round(s.now + 10*ms)
		}
		s.answer(2, yes(7).to(1)).want(Waiting)
		s.answer(2, yes(7).to(99)).want(Waiting)
		s.handOff(2, 1, 7).want(Waiting)
		s.answer(2, yes(7).to(2)).want(Minority)
		s.answer(1, yes(7).to(2)).wantWon(10*ms+full, false, 7)
	})
}

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
	play(t, 3, waits, func(s *scene) { // it is over
		s.start().allAnswer(yes(7)).take().want(Taken).step(doubt(0)).want(Taken)
	})
}
