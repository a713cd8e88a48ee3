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
			> 5.0 c1 killed`, "lock went on for 1s", false},
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
	})
}
