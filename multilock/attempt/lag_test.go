package attempt

import (
	"testing"
	"time"
)

// The client's clock is behind by what a majority of the masters has gained on it, and by no more, whichever
// of them shows it first. What is over is none of it.
func TestLag(t *testing.T) {
	type gain struct {
		master int
		d      time.Duration // 0: it is steady
		missed time.Duration // that it adds
	}
	for _, tt := range []struct {
		name  string
		n     int
		gains []gain
	}{
		{"a minority", 3, []gain{{0, 5, 0}, {0, 5, 0}}},
		{"two of them", 3, []gain{{2, 5, 0}, {0, 3, 3}, {0, 1, 1}}},
		{"one in steps", 3, []gain{{0, 3, 0}, {0, 2, 0}, {1, 5, 5}}},
		{"five", 5, []gain{{0, 5, 0}, {1, 6, 0}, {2, 7, 5}, {3, 2, 1}}},
		{"twice", 3, []gain{{0, 5, 0}, {1, 5, 5}, {0, 7, 0}, {1, 7, 7}}},
		{"not at one time", 3, []gain{{0, 5, 0}, {0, 0, 0}, {1, 5, 0}, {1, 0, 0}, {2, 5, 0}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conf, l, all := Config{Masters: tt.n}, Lag{}, time.Duration(0)
			for i, g := range tt.gains {
				var got time.Duration
				if g.d == 0 {
					l.Steady(g.master)
				} else {
					got = l.Gained(&conf, g.master, g.d)
				}
				all += got
				if got != g.missed || l.Missed != all {
					t.Fatalf("gain %d: %v missed, %v in all, want %v, %v", i, got, l.Missed, g.missed, all)
				}
			}
		})
	}
}
