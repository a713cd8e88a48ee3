package judge

import "testing"

func TestExclusion(t *testing.T) {
	try(t, func(r *record) Check { check, _ := exclusion(r); return check }, []sentence{
		{"two writers", `
			c1: >1.0 lock a, >1.1 grant until=3, 1.1 alive, >1.4 alive, 1.6 alive
			c2: 1.2 lock a, >1.3 grant until=3, >1.5 alive
			r: 1.7 fault cut on=m1`, "c1 and c2 had a"},
		{"one after the other", `
			c1: 1.0 lock a, 1.1 grant until=3, 1.3 alive
			c2: 1.3 lock a, 1.3 grant until=3, 1.4 alive`, ""},
		{"two names", `
			c1: 1.0 lock a, 1.1 grant until=3, 1.3 alive
			c2: 1.0 lock b, 1.1 grant until=3, 1.3 alive`, ""},
		{"the second is told too late", `
			c1: 1.0 lock a, 1.2 grant until=3, 1.4 alive
			c2: 1.1 lock a, 1.3 grant until=1`, ""},
		{"readers", `
			c1: 1.0 rlock a, 1.1 grant until=3 shared, 1.3 alive
			c2: 1.0 rlock a, 1.1 grant until=3 shared, 1.3 alive`, ""},
		{"a reader beside a writer", `
			c1: >1.0 rlock a, >1.1 grant until=3 shared, >1.3 alive
			c2: 1.0 lock a, >1.2 grant until=3, >1.4 alive`, "c1 and c2 had a"},
		{"a downgrade lets readers in", `
			c1: 1.0 lock a, 1.1 grant until=3, 1.3 downgrade, 1.5 alive
			c2: 1.2 rlock a, 1.4 grant until=3 shared, 1.5 alive`, ""},
		{"a reader before the downgrade", `
			c1: >1.0 lock a, >1.1 grant until=3, 1.4 downgrade, >1.5 alive
			c2: 1.2 rlock a, >1.3 grant until=3 shared, >1.5 alive`, "for at least 100ms"},
		{"a writer beside one that is a reader by now", `
			c1: >1.0 lock a, >1.1 grant until=3, 1.3 downgrade, >1.5 alive
			c2: 1.2 lock a, >1.4 grant until=3, >1.5 alive`, "for at least 100ms"},
		{"slots", `
			c1: 1.0 acquire s, 1.1 grant slot=1 until=3, 1.3 alive
			c2: 1.0 acquire s, 1.1 grant slot=2 until=3, 1.3 alive`, ""},
		{"more slots than permits", `
			c1: 1.0 acquire s permits=2, 1.1 grant slot=1 until=3
			c2: 1.0 acquire s permits=2, 1.1 grant slot=2 until=3
			c3: >1.0 tryacquire s permits=2, >1.2 grant slot=3 until=3`, "c3 has s, slot 3, and asked for one of 2"},
		{"one slot", `
			c1: >1.0 acquire s, >1.1 grant slot=1 until=3, >1.3 alive
			c2: 1.0 acquire s, >1.2 grant slot=1 until=3, >1.3 alive`, "s, slot 1"},
		{"with what was done to masters and the two then", `
			c0: 0.7 started, 1.2 stopped
			c1: 0.7 started, >1.0 lock a, >1.1 grant until=3, >1.2 stopped, >1.4 alive, >1.6 continued
			r: 0.5 fault cut on=m1, 0.6 mended, >0.7 fault pause on=m1, >1.1 mended
			c2: 1.2 lock a, >1.3 grant until=3, >1.5 alive`, "had a"},
		{"a master forgot", `
			c1: >1.0 lock a, >1.1 grant until=3, >1.4 alive
			r: >1.2 fault flushall on=m1 forgets, >1.2 mended
			c2: 1.2 lock a, >1.3 grant until=3, >1.5 alive`, "unpromised: had a"},
		{"a master forgot before both asked", `
			r: 0.9 fault flushall on=m1 forgets, 0.9 mended
			c1: >1.0 lock a, >1.1 grant until=3, >1.4 alive
			c2: 1.2 lock a, >1.3 grant until=3, >1.5 alive`, "had a"},
		{"a master forgot long ago", `
			c1: >1.0 lock a, >1.1 grant until=3, >6.4 alive until=9
			r: >1.2 fault flushall on=m1 forgets, >1.2 mended
			c2: 6.2 lock a, >6.3 grant until=9, >6.5 alive`, "had a"},
		{"a master forgot when both had it already", `
			c1: >1.0 lock a, >1.1 grant until=3, >1.4 alive
			c2: 1.2 lock a, >1.3 grant until=3, >1.5 alive
			r: >1.35 fault flushall on=m1 forgets, >1.35 mended`, "had a"},
		{"the vote of the second was forgotten", `
			c1: >1.2 lock a, >1.3 grant until=3, >1.5 alive
			c2: 1.0 lock a, >1.4 grant until=3, >1.5 alive
			r: 1.1 fault eviction on=m1 forgets, 1.15 mended`, "unpromised: had a"},
		{"a master forgot before the second asked", `
			c1: >1.0 lock a, >1.1 grant until=3, >1.4 alive
			r: >1.15 fault flushall on=m1 forgets, >1.15 mended
			c2: 1.2 lock a, >1.3 grant until=3, >1.5 alive`, "unpromised: had a"},
		{"a master forgot as long ago as a vote lasts", `
			c1: >1.0 lock a, >1.1 grant until=3, >6.4 alive until=9
			r: >1.265 fault flushall on=m1 forgets, >1.265 mended
			c2: 6.2 lock a, >6.3 grant until=9, >6.5 alive`, "unpromised: had a"},
		{"a master forgot just before that", `
			c1: >1.0 lock a, >1.1 grant until=3, >6.4 alive until=9
			r: >1.255 fault flushall on=m1 forgets, >1.255 mended
			c2: 6.2 lock a, >6.3 grant until=9, >6.5 alive`, "had a"},
		{"what was done until the last of the looks that show it", `
			c1: >1.0 lock a, >1.1 grant until=3, >1.6 alive
			c2: 1.2 lock a, >1.3 grant until=3, >1.4 alive
			r: >1.5 fault cut on=m1`, "had a at the same time for at least 100ms"},
		{"the first was valid for less", `
			c1: >1.0 lock a, >1.1 grant until=3, >1.4 alive
			c2: 1.2 lock a, >1.3 grant until=3, >1.6 alive`, "for at least 100ms"},
	})
}

// TestExcused: only what nobody promised to exclude counts as such.
func TestExcused(t *testing.T) {
	r := story(`
			c1: 1.0 lock a, 1.1 grant until=3, 1.4 alive
			c2: 1.2 lock a, 1.3 grant until=3, 1.5 alive`).record(t)
	if _, excused := exclusion(r); len(excused) != 0 {
		t.Errorf("%d pairs are excused, want none", len(excused))
	}
}
