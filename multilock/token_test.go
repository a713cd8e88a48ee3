package multilock

import (
	"testing"
	"time"

	"example.com/redlock/node"
)

// The token is never smaller than any counter that was read, counted or not.
func TestTokenIsTheLargestCounterRead(t *testing.T) {
	for _, tt := range []struct {
		name   string
		passes []node.Pass // Owner is the bid's
		want   int64
	}{
		{"the largest is first", []node.Pass{{Number: 1, Token: 900}, {Number: 1, Token: 100}, {Number: 1, Token: 100}}, 900},
		{"the largest is last", []node.Pass{{Number: 1, Token: 1}, {Number: 1, Token: 2}, {Number: 1, Token: 300}}, 300},
		{"a pass that does not count", []node.Pass{{Number: 77, Token: 901}, {Number: 1, Token: 5}, {Number: 1, Token: 6}, {Number: 1, Token: 7}}, 901},
		{"a pass whose vote is shorter", []node.Pass{{Number: 3, Token: 5}, {Number: 3, Token: 6}, {Number: 3, Token: 7}}, 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 5, func(t *testing.T, b bench) {
				bid := asked5(t, b)
				for i, p := range tt.passes {
					b.m.Passed(i, bid.pass(p.Number, p.Token))
				}
				if g := wantWon(t, "after the passes", bid); g.Token != tt.want {
					t.Errorf("passes %v: got token %d, want %d", tt.passes, g.Token, tt.want)
				}
			})
		})
	}
	t.Run("a second pass of a master", func(t *testing.T) {
		inBubble(t, 5, func(t *testing.T, b bench) {
			bid := asked5(t, b)
			b.m.Passed(0, bid.pass(3, 5))
			b.m.Passed(0, bid.pass(1, 800)) // no longer vote, but a counter
			b.m.Passed(1, bid.pass(3, 5))
			b.m.Passed(2, bid.pass(3, 5))
			if g := wantWon(t, "after the passes", bid); g.Token != 800 {
				t.Errorf("got token %d, want 800", g.Token)
			}
		})
	})
	t.Run("a grant of an older ask", func(t *testing.T) {
		inBubble(t, 3, func(t *testing.T, b bench) {
			b.seat("x:r1", time.Minute, 0, 1)
			b.Master(2).Set("redlock_fence:{k}", "4000000000000000")
			bid := askedBid(b.m)
			b.m.Passed(0, bid.pass(1, 3))
			if g := wantWon(t, "a grant and a pass", bid); g.Token != 4000000000000001 {
				t.Errorf("got token %d, want 4000000000000001", g.Token)
			}
		})
	})
}
