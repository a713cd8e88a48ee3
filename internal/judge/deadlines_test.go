package judge

import "testing"

func TestDeadlines(t *testing.T) {
	try(t, deadlines, []sentence{
		{"in time", `
			1.0 c1 call 1 lock a deadline=2
			2.1 c1 return 1 err=ended
			2.2 c1 call 2 lock a
			8.0 c1 return 2`, "", false},
		{"late", `
			> 1.0 c1 call 1 lock a deadline=2
			> 2.11 c1 return 1 err=ended`, "lock went on for 110ms after its deadline", false},
		{"granted late", `
			> 1.0 c1 call 1 lock a deadline=2
			  2.11 c1 grant 1 a until=4
			> 2.11 c1 return 1`, "lock went on for 110ms after its deadline", false},
		{"stalled meanwhile", `
			1.0 c1 started
			1.0 c1 call 1 lock a deadline=2
			2.1 c1 stall from=2.05
			2.14 c1 return 1 err=ended`, "", false},
		{"stalled before", `
			  1.0 c1 started
			> 1.0 c1 call 1 lock a deadline=2
			> 2.0 c1 stall from=1.5
			> 2.14 c1 return 1 err=ended`, "lock went on for 140ms", false},
		{"never", `
			  1.0 c1 started
			> 1.0 c1 call 1 lock a
			  5.0 c1 exited`, "lock never returned", false},
		{"killed", `
			1.0 c1 started
			1.0 c1 call 1 lock a
			1.0 c1 call 2 lock a deadline=4.95
			5.0 c1 killed`, "", false},
		{"killed long after", `
			  1.0 c1 started
			> 1.0 c1 call 1 lock a deadline=4
			  5.0 c1 call 2 lock b
			> 5.0 c1 killed`, "lock went on for 1s", false},
		{"killed long after it told anything", `
			1.0 c1 started
			1.0 c1 call 1 lock a deadline=4
			5.0 c1 killed`, "", false},
		{"an unlock without a deadline", `
			  1.0 c1 call 1 lock a
			  1.1 c1 grant 1 a until=9
			  1.1 c1 return 1
			> 2.0 c1 call 2 unlock hold=1
			> 2.6 c1 return 2`, "unlock went on for 600ms after it began", false},
		{"an unlock in time", `
			1.0 c1 call 1 lock a
			1.1 c1 grant 1 a until=9
			1.1 c1 return 1
			2.0 c1 call 2 unlock hold=1
			2.5 c1 return 2`, "", false},
		{"a try without a deadline", `
			> 1.0 c1 call 1 trylock a
			> 3.5 c1 return 1 err=taken`, "trylock went on for 2.5s after it began", false},
		{"a try in time", `
			1.0 c1 call 1 trylock a
			3.4 c1 return 1 err=taken`, "", false},
		{"a client that does not close", `
			> 1.0 c1 call 1 closeclient
			> 1.6 c1 return 1`, "closeclient went on for 600ms", false},
		{"still under way when the history ends", `
			  1.0 c1 started
			> 1.0 c1 call 1 lock a
			  5.0 r  over`, "lock never returned", false},
		{"what is left of a hold, in time and late", `
			  1.0 c1 call 1 lock a
			  1.1 c1 grant 1 a until=9
			  1.1 c1 return 1
			  2.0 c1 call 2 extend hold=1
			  2.4 c1 return 2
			  3.0 c1 call 3 downgrade hold=1
			  3.4 c1 return 3
			> 4.0 c1 call 4 leave hold=1
			> 4.6 c1 return 4`, "leave went on for 600ms", false},
		{"an extension", `
			  1.0 c1 call 1 lock a
			  1.1 c1 grant 1 a until=9
			  1.1 c1 return 1
			> 2.0 c1 call 2 extend hold=1
			> 2.6 c1 return 2`, "extend went on for 600ms", false},
		{"an extension whose deadline is far", `
			  1.0 c1 call 1 lock a
			  1.1 c1 grant 1 a until=9
			  1.1 c1 return 1
			> 2.0 c1 call 2 extend hold=1 deadline=5
			> 2.6 c1 return 2`, "extend went on for 600ms after it began", false},
		{"an extension whose deadline is hardly nearer", `
			  1.0 c1 call 1 lock a
			  1.1 c1 grant 1 a until=9
			  1.1 c1 return 1
			> 2.0 c1 call 2 extend hold=1 deadline=2.45
			> 2.53 c1 return 2`, "extend went on for 530ms after it began", false},
		{"an extension whose deadline is near", `
			  1.0 c1 call 1 lock a
			  1.1 c1 grant 1 a until=9
			  1.1 c1 return 1
			> 2.0 c1 call 2 extend hold=1 deadline=2.1
			> 2.3 c1 return 2 err=ended`, "extend went on for 200ms after its deadline", false},
		{"a try whose deadline is far", `
			> 1.0 c1 call 1 trylock a deadline=5
			> 3.5 c1 return 1 err=taken`, "trylock went on for 2.5s after it began", false},
		{"a downgrade", `
			  1.0 c1 call 1 lock a
			  1.1 c1 grant 1 a until=9
			  1.1 c1 return 1
			> 2.0 c1 call 2 downgrade hold=1
			> 2.6 c1 return 2`, "downgrade went on for 600ms", false},
		{"what asks no master", `
			1.0 c1 call 1 write a token=5
			8.0 c1 return 1`, "", false},
	})
}

// TestDeadlinesWithoutATimeout: how long a call without a deadline may take is known only by that.
func TestDeadlinesWithoutATimeout(t *testing.T) {
	h, _ := story(`
		1.0 c1 call 1 trylock a
		1.0 c1 call 2 closeclient
		9.0 c1 return 1
		9.0 c1 return 2`).read(t)
	h.Run.NodeTimeout = 0
	r, err := newRecord(h)
	if err != nil {
		t.Fatal(err)
	}
	if got := deadlines(r); len(got.Violations) > 0 || got.Looked != 2 {
		t.Errorf("looked at %d, want 2; got\n%swant none", got.Looked, show(got.Violations))
	}
}
