package judge

import "testing"

func TestExclusion(t *testing.T) {
	try(t, func(r *record) Check { check, _ := exclusion(r); return check }, []sentence{
		{"two writers", `
			> 1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a until=3
			  1.1 c1 alive 1 until=3
			  1.2 c2 call 1 lock a
			> 1.3 c2 grant 1 a until=3
			> 1.4 c1 alive 1 until=3
			> 1.5 c2 alive 1 until=3
			  1.6 c1 alive 1 until=3
			  1.7 r  fault 1 cut on=m1`, "c1 and c2 had a", false},
		{"one after the other", `
			1.0 c1 call 1 lock a
			1.1 c1 grant 1 a until=3
			1.3 c1 alive 1 until=3
			1.3 c2 call 1 lock a
			1.3 c2 grant 1 a until=3
			1.4 c2 alive 1 until=3`, "", false},
		{"two names", `
			1.0 c1 call 1 lock a
			1.0 c2 call 1 lock b
			1.1 c1 grant 1 a until=3
			1.1 c2 grant 1 b until=3
			1.3 c1 alive 1 until=3
			1.3 c2 alive 1 until=3`, "", false},
		{"the second is told too late", `
			1.0 c1 call 1 lock a
			1.1 c2 call 1 lock a
			1.2 c1 grant 1 a until=3
			1.3 c2 grant 1 a until=1
			1.4 c1 alive 1 until=3`, "", false},
		{"readers", `
			1.0 c1 call 1 rlock a
			1.0 c2 call 1 rlock a
			1.1 c1 grant 1 a until=3 shared
			1.1 c2 grant 1 a until=3 shared
			1.3 c1 alive 1 until=3
			1.3 c2 alive 1 until=3`, "", false},
		{"a reader beside a writer", `
			> 1.0 c1 call 1 rlock a
			  1.0 c2 call 1 lock a
			> 1.1 c1 grant 1 a until=3 shared
			> 1.2 c2 grant 1 a until=3
			> 1.3 c1 alive 1 until=3
			> 1.4 c2 alive 1 until=3`, "c1 and c2 had a", false},
		{"a downgrade lets readers in", `
			1.0 c1 call 1 lock a
			1.1 c1 grant 1 a until=3
			1.2 c2 call 1 rlock a
			1.3 c1 call 2 downgrade hold=1
			1.4 c2 grant 1 a until=3 shared
			1.5 c1 alive 1 until=3
			1.5 c2 alive 1 until=3`, "", false},
		{"a reader before the downgrade", `
			> 1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a until=3
			  1.2 c2 call 1 rlock a
			> 1.3 c2 grant 1 a until=3 shared
			  1.4 c1 call 2 downgrade hold=1
			> 1.5 c1 alive 1 until=3
			> 1.5 c2 alive 1 until=3`, "for at least 100ms", false},
		{"a writer beside one that is a reader by now", `
			> 1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a until=3
			  1.2 c2 call 1 lock a
			  1.3 c1 call 2 downgrade hold=1
			> 1.4 c2 grant 1 a until=3
			> 1.5 c1 alive 1 until=3
			> 1.5 c2 alive 1 until=3`, "for at least 100ms", false},
		{"slots", `
			1.0 c1 call 1 acquire s
			1.0 c2 call 1 acquire s
			1.1 c1 grant 1 s slot=1 until=3
			1.1 c2 grant 1 s slot=2 until=3
			1.3 c1 alive 1 until=3
			1.3 c2 alive 1 until=3`, "", false},
		{"more slots than permits", `
			  1.0 c1 call 1 acquire s permits=2
			  1.0 c2 call 1 acquire s permits=2
			> 1.0 c3 call 1 tryacquire s permits=2
			  1.1 c1 grant 1 s slot=1 until=3
			  1.1 c2 grant 1 s slot=2 until=3
			> 1.2 c3 grant 1 s slot=3 until=3`, "c3 has s, slot 3, and asked for one of 2", false},
		{"one slot", `
			> 1.0 c1 call 1 acquire s
			  1.0 c2 call 1 acquire s
			> 1.1 c1 grant 1 s slot=1 until=3
			> 1.2 c2 grant 1 s slot=1 until=3
			> 1.3 c1 alive 1 until=3
			> 1.3 c2 alive 1 until=3`, "s, slot 1", false},
		{"with what was done to masters and the two then", `
			  0.5 r  fault 1 cut on=m1
			  0.6 r  mended 1
			  0.7 c0 started
			  0.7 c1 started
			> 0.7 r  fault 2 pause on=m1
			> 1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a until=3
			> 1.1 r  mended 2
			> 1.2 c1 stopped
			  1.2 c0 stopped
			  1.2 c2 call 1 lock a
			> 1.3 c2 grant 1 a until=3
			> 1.4 c1 alive 1 until=3
			> 1.5 c2 alive 1 until=3
			> 1.6 c1 continued`, "had a", false},
		{"a master forgot", `
			> 1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a until=3
			> 1.2 r  fault 1 flushall on=m1 forgets
			> 1.2 r  mended 1
			  1.2 c2 call 1 lock a
			> 1.3 c2 grant 1 a until=3
			> 1.4 c1 alive 1 until=3
			> 1.5 c2 alive 1 until=3`, "had a", true},
		{"a master forgot before both asked", `
			  0.9 r  fault 1 flushall on=m1 forgets
			  0.9 r  mended 1
			> 1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a until=3
			  1.2 c2 call 1 lock a
			> 1.3 c2 grant 1 a until=3
			> 1.4 c1 alive 1 until=3
			> 1.5 c2 alive 1 until=3`, "had a", false},
		{"a master forgot long ago", `
			> 1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a until=3
			> 1.2 r  fault 1 flushall on=m1 forgets
			> 1.2 r  mended 1
			  6.2 c2 call 1 lock a
			> 6.3 c2 grant 1 a until=9
			> 6.4 c1 alive 1 until=9
			> 6.5 c2 alive 1 until=9`, "had a", false},
		{"a master forgot when both had it already", `
			> 1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a until=3
			  1.2 c2 call 1 lock a
			> 1.3 c2 grant 1 a until=3
			> 1.35 r fault 1 flushall on=m1 forgets
			> 1.35 r mended 1
			> 1.4 c1 alive 1 until=3
			> 1.5 c2 alive 1 until=3`, "had a", false},
		{"the vote of the second was forgotten", `
			  1.0 c2 call 1 lock a
			  1.1 r  fault 1 eviction on=m1 forgets
			  1.15 r  mended 1
			> 1.2 c1 call 1 lock a
			> 1.3 c1 grant 1 a until=3
			> 1.4 c2 grant 1 a until=3
			> 1.5 c1 alive 1 until=3
			> 1.5 c2 alive 1 until=3`, "had a", true},
		{"a master forgot before the second asked", `
			> 1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a until=3
			> 1.15 r  fault 1 flushall on=m1 forgets
			> 1.15 r  mended 1
			  1.2 c2 call 1 lock a
			> 1.3 c2 grant 1 a until=3
			> 1.4 c1 alive 1 until=3
			> 1.5 c2 alive 1 until=3`, "had a", true},
		{"a master forgot as long ago as a vote lasts", `
			> 1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a until=3
			> 1.265 r fault 1 flushall on=m1 forgets
			> 1.265 r mended 1
			  6.2 c2 call 1 lock a
			> 6.3 c2 grant 1 a until=9
			> 6.4 c1 alive 1 until=9
			> 6.5 c2 alive 1 until=9`, "had a", true},
		{"a master forgot just before that", `
			> 1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a until=3
			> 1.255 r fault 1 flushall on=m1 forgets
			> 1.255 r mended 1
			  6.2 c2 call 1 lock a
			> 6.3 c2 grant 1 a until=9
			> 6.4 c1 alive 1 until=9
			> 6.5 c2 alive 1 until=9`, "had a", false},
		{"what was done until the last of the looks that show it", `
			> 1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a until=3
			  1.2 c2 call 1 lock a
			> 1.3 c2 grant 1 a until=3
			> 1.4 c2 alive 1 until=3
			> 1.5 r  fault 1 cut on=m1
			> 1.6 c1 alive 1 until=3`, "had a at the same time for at least 100ms", false},
		{"the first was valid for less", `
			> 1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a until=3
			  1.2 c2 call 1 lock a
			> 1.3 c2 grant 1 a until=3
			> 1.4 c1 alive 1 until=3
			> 1.6 c2 alive 1 until=3`, "for at least 100ms", false},
	})
}

// TestExcused: only what nobody promised to exclude counts as such.
func TestExcused(t *testing.T) {
	h, _ := story(`
		1.0 c1 call 1 lock a
		1.1 c1 grant 1 a until=3
		1.2 c2 call 1 lock a
		1.3 c2 grant 1 a until=3
		1.4 c1 alive 1 until=3
		1.5 c2 alive 1 until=3`).read(t)
	r, err := newRecord(h)
	if err != nil {
		t.Fatal(err)
	}
	if _, excused := exclusion(r); len(excused) != 0 {
		t.Errorf("%d pairs are excused, want none", len(excused))
	}
}
