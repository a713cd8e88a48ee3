package judge

import "testing"

func TestResidue(t *testing.T) {
	const clean = `
			m1: 9.0 audit
			m2: 9.0 audit
			m3: 9.0 audit`
	try(t, residue, []sentence{
		{"nothing", `
			c1: 1.0 started, 8.0 audit heap=67108864, 8.1 exited
			c2: 1.0 started, 2.0 killed` + clean, ""},
		{"goroutines", `c1: 1.0 started, >8.0 audit goroutines=2, 8.1 exited` + clean, "c1: 2 goroutines"},
		{"sockets", `c1: 1.0 started, >8.0 audit sockets=1, 8.1 exited` + clean, "c1: 1 sockets"},
		{"memory", `c1: 1.0 started, >8.0 audit heap=68157440, 8.1 exited` + clean, "c1: 65 MiB"},
		{"nobody looked at a client", `
			c1: 1.0 started, 8.1 exited
			m1: 9.0 audit
			m2: 9.0 audit
			m3: >9.0 audit`, "c1: nobody looked"},
		{"a lock", `
			m1: 9.0 audit
			m2: >9.0 audit left=a+b
			m3: 9.0 audit`, "m2: these keys are left: a, b"},
		{"a lock on a master that had no time", `
			m1: 9.0 audit
			m2: 9.0 audit left=a, 6.0 stall from=5.5
			m3: 9.0 audit`, unjudged},
		{"a lock of a client that lacked time to close", `
			c1: 7.9 started, 8.0 closeclient, 8.3 stall from=8.1, 8.4 return, 8.4 audit, 8.5 exited
			m1: 9.0 audit
			m2: 9.0 audit left=a
			m3: 9.0 audit`, unjudged},
		{"a lock of a client that lacked less time", `
			c1: 7.9 started, 8.0 closeclient, 8.2 stall from=8.1, 8.4 return, 8.4 audit, 8.5 exited
			m1: 9.0 audit
			m2: >9.0 audit left=a
			m3: 9.0 audit`, "m2: these keys are left: a"},
		{"a lock on a master to which something has happened", `
			r: 8.0 fault cut on=m1, 8.5 mended
			m1: 9.0 audit left=a
			m2: 9.0 audit
			m3: 9.0 audit`, unjudged},
		{"a lock on a master that had no time long ago", `
			m1: 9.0 audit
			m2: 4.9 stall from=4.5, >9.0 audit left=a
			m3: 9.0 audit`, "m2: these keys are left: a"},
		{"a lock, when another master had no time", `
			m1: 6.0 stall from=5.5, 9.0 audit
			m2: >9.0 audit left=a
			m3: 9.0 audit`, "m2: these keys are left: a"},
		{"a queue, after faults for longer than a lease", `
			r: 1.0 fault cut on=m2, 3.0 mended, 4.0 fault cut on=m1+m2, 5.5 mended
			m1: 12.0 audit
			m2: 12.0 audit left=redlock_wait:{a}
			m3: 12.0 audit`, unjudged},
		{"a queue, long after them", `
			r: 1.0 fault cut on=m2, 5.5 mended
			m1: 16.0 audit
			m2: >16.0 audit left=redlock_wait:{a}
			m3: 16.0 audit`, "m2: these keys are left: redlock_wait:{a}"},
		{"a queue, after faults with time in between", `
			r: 1.0 fault cut on=m2, 4.5 mended, 6.6 fault cut on=m2, 7.0 mended
			m1: 12.0 audit
			m2: >12.0 audit left=redlock_wait:{a}
			m3: 12.0 audit`, "m2: these keys are left: redlock_wait:{a}"},
		{"a queue on another master", `
			r: 1.0 fault cut on=m2, 5.5 mended
			m1: >12.0 audit left=redlock_wait:{a}
			m2: 12.0 audit
			m3: 12.0 audit`, "m1: these keys are left: redlock_wait:{a}"},
		{"a lock beside a queue", `
			r: 1.0 fault cut on=m2, 5.5 mended
			m1: 12.0 audit
			m2: >12.0 audit left=a+redlock_wait:{a}
			m3: 12.0 audit`, "m2: these keys are left: a, redlock_wait:{a}"},
		{"nobody looked at a master", `
			m1: 9.0 audit
			m3: >9.0 audit`, "m2: nobody looked"},
	})
}
