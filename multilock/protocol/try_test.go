package protocol

import (
	"testing"
	"time"
)

// Tries that do not wait.

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
		{"taken", 3, []reply{busy(x, 1), busy(x, 1)}, Gone},
		{"taken or gone", 3, []reply{busy(x, 1), yes(0), busy(Nobody, 0)}, Gone},
		{"one silent, and gone", 3, []reply{busy(Nobody, 0), silent, busy(Nobody, 0)}, Gone},
		{"one silent, and not", 3, []reply{busy(Nobody, 0), silent, yes(0)}, Refused},
		{"silent", 3, []reply{silent, silent}, Refused},
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
	play(t, 3, reenter, func(s *scene) { s.start().answer(0, yes(0)).giveUp().wantFailed(GivenUp, 0) })
	play(t, 3, reenter, func(s *scene) { s.start().at(full).answers(yes(0), yes(0)).wantFailed(Late, 0) })
	play(t, 3, reenter, func(s *scene) { s.start().answers(yes(0), yes(0)).at(full).take().wantFailed(Late, 0) })
}
