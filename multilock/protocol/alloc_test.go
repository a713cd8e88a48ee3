package protocol

import (
	"testing"

	"example.com/redlock/clock"
)

// No step of a contender allocates: those of some walks are taken once more. Neither does one of a hold.
func TestStepsDoNotAllocate(t *testing.T) {
	type step struct {
		now clock.Instant
		ev  Event
	}
	for seed := range uint64(100) {
		w := newWalk(seed, map[Arrow]bool{})
		var steps []step
		for range 200 {
			ev, _ := w.step()
			steps = append(steps, step{w.now, ev})
		}
		var out Effects
		if got := testing.AllocsPerRun(1, func() {
			c := Contender{Want: w.c.Want}
			for i := range steps {
				c.Step(&w.conf, steps[i].now, &steps[i].ev, &out)
			}
		}); got != 0 {
			t.Errorf("seed %d: %v allocations in %d steps, want none", seed, got, len(steps))
		}
	}

	conf := Config{Masters: 5, Times: Usual}
	var first [2]Entry[int]
	if got := testing.AllocsPerRun(100, func() {
		var out HoldEffects
		now, watched := clock.Instant{}, Wish{Watched: true, Lease: lease}
		h := Entries[int]{List: first[:0]}
		step := func(key int, ev HoldEvent) { h.Step(&conf, now, key, &ev, &out) }
		step(0, HoldEvent{Kind: HoldWon, Until: now.Add(full), At: 31, Wish: watched})
		step(0, HoldEvent{Kind: HoldRenew})
		r := Renewal{Sent: now, Lease: lease}
		for i := range 5 {
			if ev, ok := r.Step(&conf, i, FoundHold); ok {
				step(0, ev)
			}
		}
		step(1, HoldEvent{Kind: HoldEnter})
		step(1, HoldEvent{Kind: HoldEntered, Until: now.Add(full), Wish: watched})
		step(0, HoldEvent{Kind: HoldLeft})
		step(1, HoldEvent{Kind: HoldLeft})
	}); got != 0 {
		t.Errorf("%v allocations of a hold, want none", got)
	}
}
