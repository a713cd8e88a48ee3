package clock

import (
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
)

func TestSubTakesTheClockThatSaysMore(t *testing.T) {
	start := pair{mono: 10, wall: 100}
	for name, tt := range map[string]struct {
		now  pair
		want time.Duration
	}{
		"both agree":       {pair{mono: 15, wall: 105}, 5},
		"suspended":        {pair{mono: 15, wall: 165}, 65},
		"wall set back":    {pair{mono: 15, wall: 40}, 5},
		"wall set forward": {pair{mono: 15, wall: 200}, 100},
	} {
		t.Run(name, func(t *testing.T) {
			check.Equal(t, tt.now.Sub(start), tt.want, "%v.Sub(%v)", tt.now, start)
			if got, want := tt.now.Left(start.Add(30)), 30-tt.want; got != want {
				t.Errorf("%v.Left of 30 after %v = %v, want %v", tt.now, start, got, want)
			}
		})
	}
}

func TestNowFollowsABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := Now()
		time.Sleep(90 * time.Second)
		if got := Since(start); got != 90*time.Second {
			t.Errorf("Since after 90s = %v", got)
		}
		if got := Until(start.Add(100 * time.Second)); got != 10*time.Second {
			t.Errorf("Until a deadline 10s away = %v", got)
		}
	})
}

func TestDriftAndValidity(t *testing.T) {
	for _, tt := range []struct{ lease, elapsed, drift, validity time.Duration }{
		{30 * time.Second, 0, 302 * time.Millisecond, 29698 * time.Millisecond},
		{30 * time.Second, 100 * time.Millisecond, 302 * time.Millisecond, 29598 * time.Millisecond},
		{time.Second, 988 * time.Millisecond, 12 * time.Millisecond, 0},
		{time.Second, 2 * time.Second, 12 * time.Millisecond, -1012 * time.Millisecond},
		{2 * time.Millisecond, 0, 2020 * time.Microsecond, -20 * time.Microsecond},
	} {
		check.Equal(t, Drift(tt.lease), tt.drift, "Drift(%v)", tt.lease)
		check.Equal(t, Validity(tt.lease, tt.elapsed), tt.validity, "Validity(%v, %v)", tt.lease, tt.elapsed)
	}
}
