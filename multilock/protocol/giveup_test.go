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
}

// A master that never answered is told all the same, however often it was asked.
func TestGiveUpTellsAMasterThatNeverAnswered(t *testing.T) {
	for _, rounds := range []int{1, 300} {
		play(t, 3, waits, func(s *scene) {
			s.start().answer(0, busy(x, time.Minute)).answer(1, busy(x, time.Minute))
			for range rounds - 1 {
				s.round(s.now+2*ms).answer(0, busy(x, time.Minute)).answer(1, busy(x, time.Minute))
			}
			for range rounds - 1 {
				s.answer(2, unsent)
			}
			s.giveUp().wantFailed(GivenUp, 0b111)
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

// It fails for what the masters say: gone, where a majority no longer has the hold, and otherwise
// refused. The release is left to the hold in each case.
func TestEnterAgainFails(t *testing.T) {
	for _, tt := range []struct {
		name    string
		n       int
		answers []reply // the last of them decides
		want    Verdict
	}{
		{"gone", 3, []reply{busy(Nobody, 0), busy(Nobody, 0)}, Gone},
		{"one silent, and gone", 3, []reply{busy(Nobody, 0), silent, busy(Nobody, 0)}, Gone},
		{"one silent, and not", 3, []reply{busy(Nobody, 0), silent, yes(0)}, Refused},
		{"nobody has a majority", 5, []reply{yes(0), yes(0), busy(x, 1), busy(y, 1), silent}, Refused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, tt.n, reenter, func(s *scene) {
				s.start()
				for i, a := range tt.answers {
					s.want(Asking).answer(i, a)
				}
				s.wantFailed(tt.want, 0)
			})
		})
	}
}
