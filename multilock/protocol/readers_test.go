package protocol

import (
	"slices"
	"testing"
	"time"
)

// Readers, and a writer who meets them.

// raiseReader has the masters that are asked to answer the raise under way as they answer a reader: a
// counter that is that large already is a yes, and only one where the reader is not in refuses.
func (f fences) raiseReader(s *scene, not Set) {
	s.Helper()
	for at, to, i := s.out.Raise, s.out.RaiseTo, 0; i < len(f); i++ {
		switch {
		case !at.Has(i) || s.c.State != Settling:
		case not.Has(i):
			s.raised(i, No, 0)
		default:
			f[i] = max(f[i], to)
			s.raised(i, Yes, f[i])
		}
	}
}

// The token of a reader is the largest counter that it read, which a majority must have reached. One
// round is enough for that, whatever other readers do meanwhile.
func TestTokenOfAReader(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before fences
		want   int64
		raise  Set    // at these
		meet   fences // what the counters are by then
		after  fences
	}{
		{"all have one", fences{7, 7, 7}, 7, 0, nil, fences{7, 7, 7}},
		{"a majority that answers has one", fences{7, 7, 9}, 7, 0, nil, fences{7, 7, 9}},
		{"the others are raised to the largest", fences{7, 9, 3}, 9, 0b101, fences{7, 9, 3}, fences{9, 9, 3}},
		{"and to that of the first", fences{9, 7, 3}, 9, 0b110, fences{9, 7, 3}, fences{9, 9, 3}},
		{"one that is there already is enough", fences{7, 9, 9}, 9, 0b101, fences{9, 9, 9}, fences{9, 9, 9}},
		{"and so is one that is further", fences{7, 9, 9}, 9, 0b101, fences{12, 9, 9}, fences{12, 9, 9}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, 3, reads, func(s *scene) {
				s.start().answers(yes(tt.before[0]), yes(tt.before[1]))
				f := slices.Clone(tt.before)
				if tt.raise != 0 {
					s.wantRaise(tt.raise, tt.want)
					f = slices.Clone(tt.meet)
					f.raiseReader(s, 0)
				}
				s.wantWon(full, false, tt.want)
				if !slices.Equal(f, tt.after) {
					t.Errorf("counters are %d, want %d", f, tt.after)
				}
			})
		})
	}
}

// A reader is refused only where it is no longer in, so it does not raise a second time.
func TestRaiseOfAReaderGivesUp(t *testing.T) {
	play(t, 3, reads, func(s *scene) {
		s.start().answers(yes(7), yes(9)).wantRaise(0b101, 9)
		fences{7, 9, 0}.raiseReader(s, 0b101)
		s.wantGivenBack(All(3), 0, false).want(Waiting)
	})
	play(t, 3, Want{Lease: lease, Shared: true}, func(s *scene) {
		s.start().answers(yes(7), yes(9)).wantRaise(0b101, 9)
		fences{7, 9, 0}.raiseReader(s, 0b101)
		s.wantFailed(NoToken, All(3))
	})
}

// A reader behind a waiting writer is told no holder, so it goes on asking for the lock: that passes it
// on where the writer has gone.
func TestAReaderBehindAWriterGoesOnAsking(t *testing.T) {
	play(t, 3, reads, func(s *scene) {
		s.start()
		for range 3 {
			s.allAnswer(busy(Nobody, time.Hour).behind(1)).want(Waiting).wake().wantRound(All(3), AskOrQueue, s.out.Lease)
		}
	})
}

// A downgrade makes a hold shared at once, and ends nothing. What a renewal finds that was sent for the
// writer counts if it is a yes; but a master that shares the lock by now knows no writer.
func TestDowngrade(t *testing.T) {
	for _, won := range []HoldEvent{watched, {Short: true, Wish: watched.Wish}} {
		state := map[bool]HoldState{false: Valid, true: Short}[won.Short]
		playHold(t, won, func(s *holdScene) {
			until := s.h.Until.Sub(s.begin)
			s.at(ms).does(HoldRenew).does(HoldDowngrade).want(state, until)
			if !s.h.Shared {
				t.Fatal("the hold is not shared")
			}
			s.at(2*ms).step(HoldEvent{Kind: HoldLost, Writer: true}).want(state, until)
			if !s.h.Due || s.out.Release != 0 {
				t.Errorf("a renewal is due: %v, a release at %b, want another renewal", s.h.Due, s.out.Release)
			}
			s.at(3*ms).renewed(ms+full).want(Valid, ms+full)
			s.at(4*ms).does(HoldLost).wantEnd(Lost, 4*ms, 0b011)
		})
	}
	playHold(t, HoldEvent{}, func(s *holdScene) {
		s.at(ms).step(HoldEvent{Kind: HoldLost, Writer: true}).wantEnd(Lost, ms, 0b011)
	})
	playHold(t, HoldEvent{Shared: true}, func(s *holdScene) {
		s.at(ms).step(HoldEvent{Kind: HoldLost}).wantEnd(Lost, ms, 0b011)
	})
}
