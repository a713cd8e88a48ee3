package protocol

import (
	"math/bits"
	"testing"
	"time"
)

// fences are the fencing counters of the masters.
type fences []int64

// grant is the answer of master i that grants the lock: its counter has grown, and is what was
// proposed at least.
func (f fences) grant(i int, proposal int64) reply {
	f[i] = max(f[i]+1, proposal)
	return yes(f[i])
}

// raise has the masters that are asked to answer the raise under way, except those in not, whose
// lock is gone. A master that has the number, or a larger one, refuses.
func (f fences) raise(s *scene, not Set) {
	s.Helper()
	at, to := s.out.Raise, s.out.RaiseTo
	raises := s.c.Raises
	for i := range f {
		outcome, token := No, f[i]
		if not.Has(i) {
			token = 0
		} else if at.Has(i) && f[i] < to {
			f[i], outcome, token = to, Yes, to
		}
		if at.Has(i) && s.c.Raises == raises {
			s.raised(i, outcome, token)
		}
	}
}

// A is granted m1 and m2, with 11 and 12. B is granted m1 and m3 then, with 12 and 11. The largest
// number among the grants would be 12 for both.
func TestTokensAreUnique(t *testing.T) {
	f := fences{10, 11, 10}
	s := &scene{T: t, conf: Config{Masters: 3, Times: Usual}, c: Contender{Want: waits}}
	s.start().answers(f.grant(0, 7), f.grant(1, 7)).wantRaise(0b101, 12)
	s.raised(0, Yes, 12).wantWon(full, false, 12) // m3 is down
	f[0] = 12

	s = &scene{T: t, conf: s.conf, c: Contender{Want: waits}}
	s.start().answer(0, f.grant(0, 7)).answer(2, f.grant(2, 7)).wantRaise(0b110, 13)
	s.raised(1, Unknown, 0).want(Settling).raised(2, Yes, 13).wantWon(full, false, 13)
}

// Whatever happens between a grant and a raise.
func TestRaise(t *testing.T) {
	for _, tt := range []struct {
		name    string
		between fences // counters then, 0: as they were
		gone    Set    // masters that do not have the lock any more
		want    int64  // 0: none
		raises  uint8
	}{
		{"nothing", fences{0, 0, 0}, 0, 31, 1},
		// A number that is there already may be somebody else's token.
		{"the counters are equal", fences{31, 0, 31}, 0, 32, 2},
		{"one counter is equal", fences{31, 0, 0}, 0, 31, 1},
		{"the counters are above", fences{40, 0, 50}, 0, 51, 2},
		{"one lock is gone", fences{0, 0, 0}, 0b001, 31, 1},
		{"two locks are gone", fences{0, 0, 0}, 0b101, 0, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, 3, tries, func(s *scene) {
				f := fences{20, 30, 6}
				grants := []reply{f.grant(0, 7), f.grant(1, 7), f.grant(2, 7)}
				s.start().answers(grants[:2]...).wantRaise(0b101, 31)
				for i, c := range tt.between {
					f[i] = max(f[i], c)
				}
				for range tt.raises {
					f.raise(s, tt.gone)
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

// Validity runs on while the masters agree: what has ended by then was not won.
func TestRaiseThatIsLate(t *testing.T) {
	play(t, 3, waits, func(s *scene) {
		s.start().answers(yes(30), yes(40)).at(full-1).raised(0, Yes, 40).wantWon(full, false, 40)
	})
	play(t, 3, waits, func(s *scene) {
		s.start().answers(yes(30), yes(40)).at(full).raised(0, Yes, 40).want(Waiting).wantGivenBack(All(3), 0, true)
	})
	play(t, 3, tries, func(s *scene) {
		s.start().answers(yes(30), yes(40)).at(full).raised(0, Yes, 40).wantFailed(Late, All(3))
	})
}

// Masters that hand a lock off with counters that differ agree on the largest of them. They agree at
// once if none is above what the waiter proposed.
func TestTokenOfHandOffs(t *testing.T) {
	for _, tt := range []struct {
		name   string
		tokens []int64 // in the messages, from m1 on
		want   int64   // won at once, or
		raise  Set     // raised at these
	}{
		{"all alike", []int64{50, 50}, 50, 0},
		{"one above", []int64{50, 101}, 101, 0b101},
		{"the first above", []int64{101, 50}, 101, 0b110},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, 3, waits, func(s *scene) {
				s.start().allAnswer(busy(x, time.Minute)).at(50 * ms)
				for i, token := range tt.tokens {
					s.handOff(i, 1, token)
				}
				if tt.raise != 0 {
					s.wantRaise(tt.raise, tt.want).raised(bits.TrailingZeros32(uint32(tt.raise)), Yes, tt.want)
				}
				s.wantWon(shortValid, true, tt.want)
			})
		})
	}
}

// Where a release and the next round cross, some masters grant what others hand off. They agree at
// once all the same, and a master's last number counts.
func TestTokenOfARoundThatCrossesARelease(t *testing.T) {
	play(t, 3, waits, func(s *scene) {
		s.start().answers(yes(50), busy(x, time.Minute), busy(x, time.Minute)).want(Minority)
		s.handOff(1, 1, 50).wantWon(shortValid, true, 50)
	})
	play(t, 3, waits, func(s *scene) {
		s.start().allAnswer(busy(x, time.Minute)).handOff(0, 1, 50).round(2*ms).answer(0, yes(60)).handOff(1, 1, 60)
		s.wantWon(shortValid, true, 60)
	})
	play(t, 3, waits, func(s *scene) { // an older message comes last
		s.start().allAnswer(busy(x, time.Minute)).round(2*ms).answer(0, yes(60)).handOff(0, 1, 50).handOff(1, 1, 60)
		s.wantWon(shortValid, true, 60)
	})
}

// A master whose vote has ended may have restarted since, so its counter settles nothing, but the
// token is not below it.
func TestTokenOfAVoteThatHasEnded(t *testing.T) {
	for _, tt := range []struct {
		name   string
		others []int64 // that m2 and m3 hand off with
		raise  Set
	}{
		{"with one other", []int64{50, 40}, 0b101},
		{"beside two that agree", []int64{50, 50}, 0},
		{"above two that agree", []int64{40, 40}, 0b111},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, 3, waits, func(s *scene) {
				s.start().allAnswer(busy(x, time.Minute)).handOff(0, 1, 50).round(shortLease)
				s.handOff(1, 2, tt.others[0]).handOff(2, 2, tt.others[1])
				if tt.raise != 0 {
					s.wantRaise(tt.raise, 50)
				} else {
					s.want(Won)
				}
			})
		})
	}
}
