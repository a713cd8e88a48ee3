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
