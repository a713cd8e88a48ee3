package main

import (
	"testing"
	"time"
)

// Each case is a series of steps: what each is given, and what it must return.
func TestEscalation(t *testing.T) {
	const s = time.Second
	type ask struct {
		at, left time.Duration
		ended    bool
		want     action
	}
	for _, c := range []struct {
		name  string
		grace time.Duration
		asks  []ask
	}{
		{"healthy", 5 * s, []ask{{0, 30 * s, false, leave}, {9 * s, 21 * s, false, leave}, {10 * s, 30 * s, false, leave}}},
		{"not renewed", 5 * s, []ask{
			{0, 30 * s, false, leave},
			{25 * s, 5 * s, false, term},
			{29 * s, 1 * s, false, leave},
			{30 * s, 0, true, kill},
			{31 * s, -1 * s, true, kill},
		}},
		{"ends early after TERM", 5 * s, []ask{{25 * s, 5 * s, false, term}, {26 * s, 4 * s, true, kill}}},
		{"renewed after TERM", 5 * s, []ask{{25 * s, 5 * s, false, term}, {26 * s, 30 * s, false, leave}, {30 * s, 26 * s, false, kill}}},
		{"ends without warning", 5 * s, []ask{{1 * s, 29 * s, true, term}, {2 * s, 28 * s, true, leave}, {6 * s, 24 * s, true, kill}}},
		{"machine slept", 5 * s, []ask{{1 * s, -60 * s, false, term}, {5 * s, -64 * s, true, leave}, {6 * s, -65 * s, true, kill}}},
		{"no grace", 0, []ask{{29 * s, 1 * s, false, leave}, {30 * s, 0, true, term}, {30 * s, 0, true, kill}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := escalation{grace: c.grace}
			start := time.Now()
			for _, a := range c.asks {
				got, again := l.step(start.Add(a.at), a.left, a.ended)
				if got != a.want {
					t.Errorf("at %v with %v left, ended %t: %d, want %d", a.at, a.left, a.ended, got, a.want)
				}
				if again < 0 || again > lookAgain {
					t.Errorf("at %v with %v left, ended %t: look again in %v, want 0 to %v", a.at, a.left, a.ended, again, lookAgain)
				}
			}
		})
	}
}
