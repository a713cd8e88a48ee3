package protocol

import (
	"testing"
	"time"
)

// Tries that do not wait.

// A try asks once, for the lock and no place in the queue, and is refused as soon as it is clear that
// somebody has the lock, or may have it.
func TestTryIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers []reply // the last of them decides
		release Set
	}{
		{"taken", []reply{busy(x, 1), busy(x, 1)}, 0b100},
		{"taken, with a grant", []reply{yes(7), busy(x, 1), busy(x, 1)}, 0b001},
		{"taken, and one silent", []reply{silent, busy(x, 1), busy(x, 1)}, 0b001},
		{"too few answer", []reply{silent, errored}, 0b111},
		{"all are down", []reply{unsent, unsent}, 0b100},
		{"too few that would grant", []reply{yes(7), unsent, unsent}, 0b001},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, 3, tries, func(s *scene) {
				s.start().want(Asking).wantRound(All(3), AskOnce, shortLease)
				for i, a := range tt.answers {
					s.want(Asking).wantNoWake().answer(i, a)
				}
				s.wantFailed(Refused, tt.release)
			})
		})
	}
}

// A try that nobody won waits for all answers that may tell whether somebody did, then gives its
// votes back and asks again after a random time: longer each time, and a few times at most.
func TestSplit(t *testing.T) {
	for _, trip := range []time.Duration{0, 70 * ms} {
		for i, lot := range lots {
			play(t, 3, tries, func(s *scene) {
				s.trip, s.lot = trip, lot
				s.start()
				for n := range uint32(5) {
					s.answers(busy(x, time.Hour), yes(7)).want(Asking).wantNoWake()
					s.answer(2, busy(y, time.Hour)).want(Paused).wantGivenBack(0b010, 0, false)
					longest := 8*ms<<n + trip
					s.wantWake(s.now + ms + []time.Duration{0, longest / 2, longest - 1}[i])
					before := s.c
					s.due().hint(0).take().answer(1, yes(7).of(n+1))
					if s.c != before {
						t.Fatal("a contender that pauses did something")
					}
					s.wake().want(Asking).wantRound(All(3), AskOnce, s.out.Lease)
				}
				s.answers(busy(x, time.Hour), busy(y, time.Hour)).want(Asking).answer(2, busy(z, time.Hour)).wantFailed(Refused, 0)
				if s.c.Round != 6 {
					t.Errorf("asked %d times, want 6", s.c.Round)
				}
			})
		}
	}
}

// With a master silent, a lock that nobody got cannot be told for sure from one that is taken: it is
// tried again as well.
func TestSplitWithOneSilent(t *testing.T) {
	play(t, 3, tries, func(s *scene) {
		s.start().answers(busy(x, time.Hour), silent).want(Asking).answer(2, busy(y, time.Hour)).want(Paused)
	})
	play(t, 3, tries, func(s *scene) {
		s.start().answers(yes(7), silent).want(Asking).answer(2, busy(y, time.Hour)).want(Paused).wantGivenBack(0b011, 0, false)
	})
}

// Each try is judged by its own answers.
func TestEachTryIsJudgedByItself(t *testing.T) {
	play(t, 3, tries, func(s *scene) {
		s.start().answers(busy(x, time.Hour), yes(7), busy(y, time.Hour)).want(Paused).wake()
		s.answer(0, busy(y, time.Hour)).want(Asking).answer(1, yes(8)).want(Asking)
		s.answer(2, yes(8)).want(Won)
	})
}

// A majority that granted the lock when the lease was used up already is no majority.
func TestTryIsLate(t *testing.T) {
	play(t, 3, Want{Lease: 100 * ms}, func(s *scene) {
		s.start().at(96*ms).answer(0, yes(7)).at(97*ms).answer(1, yes(7)).wantFailed(Late, All(3))
	})
	play(t, 3, Want{Lease: 100 * ms}, func(s *scene) {
		s.start().at(97*ms-1).answers(yes(7), yes(7)).want(Won)
	})
}
