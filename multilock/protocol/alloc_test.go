package protocol

import (
	"testing"
	"time"

	"example.com/redlock/clock"
)

// No step allocates: neither the usual ones nor those of a contender that waits, backs off and
// raises counters.
func TestStepsDoNotAllocate(t *testing.T) {
	conf := Config{Masters: 5, Times: Usual}
	var out Effects
	var now clock.Instant
	var c Contender
	step := func(ev Event) {
		ev.Try = c.Try
		if ev.Kind == Answer {
			ev.Round = c.Round
		}
		if ev.Kind == Raised {
			ev.Round = uint32(c.Raises)
		}
		c.Step(&conf, now, &ev, &out)
	}
	wake := func() {
		at, _ := c.Wake()
		now = now.Add(max(0, now.Left(at)))
		step(Event{Kind: Due})
	}
	for name, tt := range map[string]struct {
		run  func()
		want State
	}{
		"a free lock": {func() {
			c = Contender{Want: waits}
			step(Event{Kind: Start})
			for i := range 3 {
				step(Event{Kind: Answer, Master: i, Outcome: Yes, Token: 7})
			}
			step(Event{Kind: Take})
		}, Taken},
		"a hand-off": {func() {
			c = Contender{Want: waits}
			step(Event{Kind: Start})
			for i := range 5 {
				step(Event{Kind: Answer, Master: i, Outcome: No, Holder: x, Left: time.Minute})
			}
			wake()
			for i := range 3 {
				step(Event{Kind: HandedOff, Master: i, Round: c.Round, Token: 7})
			}
			step(Event{Kind: Take})
		}, Taken},
		"a minority, and counters that differ": {func() {
			c = Contender{Want: waits}
			step(Event{Kind: Start})
			for i := range 5 {
				step(Event{Kind: Answer, Master: i, Outcome: No + Outcome(i%2), Holder: Holder(i), Left: time.Minute})
			}
			wake()
			wake()
			for i := range 3 {
				step(Event{Kind: Answer, Master: i, Outcome: Yes, Token: int64(7 + i)})
			}
			for i := range 3 {
				step(Event{Kind: Raised, Master: i, Outcome: Yes, Token: 9})
			}
		}, Won},
		"a reader that raises counters": {func() {
			c = Contender{Want: reads}
			step(Event{Kind: Start})
			for i := range 3 {
				step(Event{Kind: Answer, Master: i, Outcome: Yes, Token: int64(7 + i)})
			}
			for i := range 2 {
				step(Event{Kind: Raised, Master: i, Outcome: Yes, Token: 9})
			}
		}, Won},
		"a permit, after votes for several slots": {func() {
			c = Contender{Want: permits}
			step(Event{Kind: Start})
			for i := range 5 {
				step(Event{Kind: Answer, Master: i, Outcome: Yes, Slot: i / 2, Token: 7})
			}
			wake()
			wake()
			for i := range 3 {
				step(Event{Kind: Answer, Master: i, Outcome: Yes, Slot: 1, Token: 7})
			}
		}, Won},
		"a try that is split": {func() {
			c = Contender{Want: tries}
			step(Event{Kind: Start})
			for i := range 5 {
				step(Event{Kind: Answer, Master: i, Outcome: No, Holder: Holder(i)})
			}
		}, Paused},
	} {
		t.Run(name, func(t *testing.T) {
			if got := testing.AllocsPerRun(100, tt.run); got != 0 || c.State != tt.want {
				t.Errorf("%v allocations on the way to %v, want none to %v", got, c.State, tt.want)
			}
		})
	}
	t.Run("a hold", func(t *testing.T) {
		var h Entries[int]
		var first [2]Entry[int]
		var out HoldEffects
		got := testing.AllocsPerRun(100, func() {
			now, watched := clock.Instant{}, Wish{Watched: true, Lease: lease}
			h = Entries[int]{List: first[:0]}
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
		})
		if got != 0 || h.State != Released {
			t.Errorf("%v allocations on the way to %v, want none to %v", got, h.State, Released)
		}
	})
}
