package judge

import "testing"

func TestDeadlines(t *testing.T) {
	try(t, deadlines, []sentence{
		{"in time", `c1: 1.0 lock a deadline=2, 2.1 return err=ended, 2.2 lock a, 8.0 return`, ""},
		{"late", `
			c1: >1.0 lock a deadline=2,
				>2.11 return err=ended`, "deadlines at 2.1s: c1: lock went on for 110ms after its deadline"},
		{"granted late", `
			c1: >1.0 lock a deadline=2, 2.11 grant until=4, >2.11 return`, "lock went on for 110ms after its deadline"},
		{"stalled meanwhile", `c1: 1.0 started, 1.0 lock a deadline=2, 2.1 stall from=2.05, 2.14 return err=ended`, ""},
		{"stalled before", `
			c1: 1.0 started, >1.0 lock a deadline=2, >2.0 stall from=1.5, >2.14 return err=ended`, "lock went on for 140ms"},
		{"never", `c1: 1.0 started, >1.0 lock a, 5.0 exited`, "deadlines at 5s: c1: lock never returned"},
		{"killed", `c1: 1.0 started, 1.0 lock a, 1.0 lock a deadline=4.95, 5.0 killed`, ""},
		{"killed long after", `c1: 1.0 started, >1.0 lock a deadline=4, 5.0 lock b, >5.0 killed`, "lock went on for 1s"},
		{"killed long after it told anything", `c1: 1.0 started, 1.0 lock a deadline=4, 5.0 killed`, ""},
		{"an unlock without a deadline", `
			c1: 1.0 lock a, 1.1 grant until=9, 1.1 return, >2.0 unlock,
				>2.6 return`, "unlock went on for 600ms after it began"},
		{"an unlock by a process that lacked time", `
			c1: 1.0 lock a, 1.1 grant until=9, 1.1 return, 2.0 unlock, 2.32 stall from=2.3, 2.9 return`, ""},
		{"an unlock by a process that lacked less time", `
			c1: 1.0 lock a, 1.1 grant until=9, 1.1 return, >2.0 unlock, >2.32 stall from=2.3,
				>3.0 return`, "unlock went on for 1s after it began"},
		{"an unlock in time", `c1: 1.0 lock a, 1.1 grant until=9, 1.1 return, 2.0 unlock, 2.5 return`, ""},
		{"a try without a deadline", `
			c1: >1.0 trylock a, >3.5 return err=taken`, "trylock went on for 2.5s after it began"},
		{"a try in time", `c1: 1.0 trylock a, 3.4 return err=taken`, ""},
		{"a client that does not close", `c1: >1.0 closeclient, >1.6 return`, "closeclient went on for 600ms"},
		{"still under way when the history ends", `
			c1: 1.0 started, >1.0 lock a
			r: 5.0 over`, "lock never returned"},
		{"what is left of a hold, in time and late", `
			c1: 1.0 lock a, 1.1 grant until=9, 1.1 return, 2.0 extend, 2.4 return, 3.0 downgrade, 3.4 return, >4.0 leave,
				>4.6 return`, "leave went on for 600ms"},
		{"an extension", `
			c1: 1.0 lock a, 1.1 grant until=9, 1.1 return, >2.0 extend, >2.6 return`, "extend went on for 600ms"},
		{"an extension whose deadline is far", `
			c1: 1.0 lock a, 1.1 grant until=9, 1.1 return, >2.0 extend deadline=5,
				>2.6 return`, "extend went on for 600ms after it began"},
		{"an extension whose deadline is hardly nearer", `
			c1: 1.0 lock a, 1.1 grant until=9, 1.1 return, >2.0 extend deadline=2.45,
				>2.53 return`, "extend went on for 530ms after it began"},
		{"an extension whose deadline is near", `
			c1: 1.0 lock a, 1.1 grant until=9, 1.1 return, >2.0 extend deadline=2.1,
				>2.3 return err=ended`, "extend went on for 200ms after its deadline"},
		{"a try whose deadline is far", `
			c1: >1.0 trylock a deadline=5, >3.5 return err=taken`, "trylock went on for 2.5s after it began"},
		{"a downgrade", `
			c1: 1.0 lock a, 1.1 grant until=9, 1.1 return, >2.0 downgrade, >2.6 return`, "downgrade went on for 600ms"},
		{"what asks no master", `c1: 1.0 write a token=5, 8.0 return`, ""},
	})
}

// TestDeadlinesWithoutATimeout: how long a call without a deadline may take is known only by that.
func TestDeadlinesWithoutATimeout(t *testing.T) {
	r := story(`
			c1: 1.0 trylock a, 1.0 closeclient, 9.0 return call=1, 9.0 return`).record(t)
	r.Run.NodeTimeout = 0
	if got := deadlines(r); len(got.Violations) > 0 || got.Looked != 2 {
		t.Errorf("looked at %d, want 2; got\n%swant none", got.Looked, show(got.Violations))
	}
}
