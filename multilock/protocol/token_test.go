package protocol

import "testing"

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
		{"one counter is equal", [3]int64{31, 31, 7}, 0, 31, 1},
		{"the counters are above", [3]int64{40, 31, 50}, 0, 51, 2},
		{"one lock is gone", [3]int64{21, 31, 7}, 0b001, 31, 1},
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
	for _, wait := range []bool{true, false} {
		play(t, 3, Want{Lease: lease, Shared: true, Wait: wait}, func(s *scene) {
			s.start().answers(yes(7), yes(9)).wantRaise(0b101, 9).raised(0, No, 0).raised(2, No, 0)
			if wait {
				s.wantGivenBack(All(3), 0, false).want(Waiting)
			} else {
				s.wantFailed(NoToken, All(3))
			}
		})
	}
}
