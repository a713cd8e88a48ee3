package protocol

import (
	"testing"
	"time"
)

// A contender that is given up takes back all that it may have at a master, and leaves the others
// alone.
func TestGiveUpLeavesNothing(t *testing.T) {
	held := busy(x, time.Minute)
	for _, tt := range []struct {
		name string
		want Want
		to   func(s *scene)
		at   Set
	}{
		{"before it asked", waits, func(*scene) {}, 0},
		{"some are down", waits, func(s *scene) { s.start().answers(unsent, unsent) }, 0b100},
		{"with a minority", waits, func(s *scene) { s.start().answers(held, unsent, yes(7)) }, 0b101},
		{"a hand-off has come", waits, func(s *scene) { s.start().answers(unsent, unsent, unsent).handOff(1, 1, 7) }, 0b010},
		{"entered by a release", waits, func(s *scene) { s.enter(0b011) }, 0b111},
		{"the release found no hold", waits, func(s *scene) { s.enter(0b001).answer(1, unsent).answer(2, unsent).entered(0, No) }, 0b001},
		{"won, and one has not answered", waits, func(s *scene) { s.start().answers(yes(7), yes(7)).want(Won) }, 0b111},
		{"a try that pauses", tries, func(s *scene) { s.start().answers(held, yes(7), busy(y, 1)).want(Paused) }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, 3, tt.want, func(s *scene) {
				tt.to(s)
				s.giveUp().wantFailed(GivenUp, tt.at)
				for _, kind := range []Kind{Start, Enter, Answer, Entered, HandedOff, Raised, Hint, Due, Take, GiveUp} {
					s.step(Event{Kind: kind, Try: s.c.Try, Round: s.c.Round, Outcome: Yes, At: 1}).wantFailed(GivenUp, 0)
				}
			})
		})
	}
}

// A release enters its successor in the queue of the masters that it reaches, and only there that
// has anything to give back. The answers tell nothing of a majority: they are those of the release.
func TestSuccessorClaimsWhereTheReleaseArrived(t *testing.T) {
	play(t, 3, waits, func(s *scene) {
		s.enter(0b111).want(Queued).wantRound(0, AskOrQueue, shortLease).wantWake(200 * ms)
		s.entered(0, Yes).entered(1, No).want(Queued)
		if got := s.entered(2, Unsent).c.Claimed(); got != 0b011 {
			t.Errorf("Claimed = %b, want 11", got)
		}
		s.handOff(0, 1, 7).want(Minority).handOff(1, 1, 7).wantWon(shortValid, true, 7)
	})
	play(t, 5, waits, func(s *scene) { // where the hold was not, it is asked as usual
		s.enter(0b00011).want(Queued).wantRound(0b11100, AskOrQueue, shortLease)
		s.answer(2, busy(x, time.Minute)).answer(3, busy(x, time.Minute)).answer(4, busy(x, time.Minute)).want(Queued)
		s.wake().want(Queued).wantRound(All(5), AskOrQueue, shortLease)
		if s.out.Stock {
			t.Error("stock is taken of a round that went to some masters only")
		}
		s.answers(busy(x, time.Minute), busy(x, time.Minute)).want(Waiting) // the others are held still
	})
	play(t, 5, waits, func(s *scene) { // those votes count like any others
		s.enter(0b00011).answer(2, yes(7)).answer(3, yes(7)).want(Queued).handOff(0, 1, 7).wantWon(shortValid, true, 7)
	})
}

// A frozen master that was asked more often than can be counted is told all the same.
func TestGiveUpTellsAMasterThatNeverAnswered(t *testing.T) {
	for _, rounds := range []int{1, 127, 128, 129, 255, 256, 300} {
		play(t, 3, waits, func(s *scene) {
			s.start().answer(0, busy(x, time.Minute)).answer(1, busy(x, time.Minute))
			for range rounds - 1 {
				s.round(s.now+2*ms).answer(0, busy(x, time.Minute)).answer(1, busy(x, time.Minute))
			}
			for range min(rounds, 128) - 1 {
				s.answer(2, unsent)
			}
			s.giveUp().wantFailed(GivenUp, 0b111)
		})
	}
}
