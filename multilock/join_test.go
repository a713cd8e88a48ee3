package multilock

import (
	"errors"
	"testing"
	"time"

	"example.com/redlock/multilock/protocol"
	"example.com/redlock/redlocktest"
)

// Two holds that are joined have the larger token, and are lost together. One whose other half has ended
// is not joined with the next.
func TestJoin(t *testing.T) {
	const far = 7_000_000_000_000_000
	gone := errors.New("gone")
	lose := func(h *Hold) { h.step(protocol.HoldEvent{Kind: protocol.HoldLost}, gone) }
	for _, tt := range []struct {
		what    string
		do      func(a, b *Hold)
		want    error // why the first has ended; nil if it goes on
		joins   bool  // they can be joined again
		another bool  // the first is joined with another then
	}{
		{"again", func(a, b *Hold) {}, nil, true, false},
		{"the first is lost", func(a, b *Hold) { lose(a) }, gone, false, false},
		{"the second is lost", func(a, b *Hold) { lose(b) }, gone, false, false},
		{"validity ends", func(a, b *Hold) { time.Sleep(lease) }, ErrLost, false, false},
		{"the second is unlocked", func(a, b *Hold) { unlock(t, b) }, nil, false, false},
		{"another second", func(a, b *Hold) { unlock(t, b) }, nil, false, true},
	} {
		t.Run(tt.what, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				second := newFixture(t, 3, 0)
				second.each(func(m *redlocktest.Master) { m.Set("redlock_fence:{k}", "7000000000000000") })
				a, b := fx.take(t, fx.m, "k"), second.take(t, second.m, "k")
				if err := Join(t.Context(), a, b); err != nil || a.Token() != b.Token() || a.Token() <= far {
					t.Errorf("Join = %v with tokens %d and %d, want one token above %d", err, a.Token(), b.Token(), far)
				}
				tt.do(a, b)
				if tt.want == nil {
					entryOf(a).wantAlive(t)
				} else {
					entryOf(a).wantEnded(t, tt.want)
					entryOf(b).wantEnded(t, tt.want)
				}
				if tt.another {
					b = second.take(t, second.m, "k")
				}
				err := Join(t.Context(), a, b)
				if tt.joins {
					if err != nil {
						t.Errorf("Join = %v", err)
					}
					entryOf(a).wantAlive(t)
					return
				}
				if !errors.Is(err, ErrLost) || a.Count() != 0 || b.Count() != 0 {
					t.Errorf("Join = %v with counts %d and %d, want ErrLost and neither held", err, a.Count(), b.Count())
				}
			})
		})
	}
}
