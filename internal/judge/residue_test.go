package judge

import "testing"

func TestResidue(t *testing.T) {
	const clean = `
			9.0 m1 audit
			9.0 m2 audit
			9.0 m3 audit`
	try(t, residue, []sentence{
		{"nothing", `
			1.0 c1 started
			1.0 c2 started
			2.0 c2 killed
			8.0 c1 audit heap=67108864
			8.1 c1 exited` + clean, "", false},
		{"goroutines", `
			  1.0 c1 started
			> 8.0 c1 audit goroutines=2
			  8.1 c1 exited` + clean, "c1: 2 goroutines", false},
		{"sockets", `
			  1.0 c1 started
			> 8.0 c1 audit sockets=1
			  8.1 c1 exited` + clean, "c1: 1 sockets", false},
		{"memory", `
			  1.0 c1 started
			> 8.0 c1 audit heap=68157440
			  8.1 c1 exited` + clean, "c1: 65 MiB", false},
		{"nobody looked at a client", `
			  1.0 c1 started
			  8.1 c1 exited
			  9.0 m1 audit
			  9.0 m2 audit
			> 9.0 m3 audit`, "c1: nobody looked", false},
		{"a lock", `
			  9.0 m1 audit
			> 9.0 m2 audit left=a,b
			  9.0 m3 audit`, "m2: these keys are left: a, b", false},
		{"a lock on a master that had no time", `
			9.0 m1 audit
			9.0 m2 audit left=a
			9.0 m3 audit
			6.0 m2 stall from=5.5`, "", false},
		{"a lock on a master that had no time long ago", `
			  4.9 m2 stall from=4.5
			  9.0 m1 audit
			> 9.0 m2 audit left=a
			  9.0 m3 audit`, "m2: these keys are left: a", false},
		{"a lock, when another master had no time", `
			  6.0 m1 stall from=5.5
			  9.0 m1 audit
			> 9.0 m2 audit left=a
			  9.0 m3 audit`, "m2: these keys are left: a", false},
		{"a queue, after faults for longer than a lease", `
			 1.0 r  fault 1 cut on=m2
			 3.0 r  mended 1
			 4.0 r  fault 2 cut on=m1,m2
			 5.5 r  mended 2
			12.0 m1 audit
			12.0 m2 audit left=redlock_wait:{a}
			12.0 m3 audit`, "", false},
		{"a queue, long after them", `
			   1.0 r  fault 1 cut on=m2
			   5.5 r  mended 1
			  16.0 m1 audit
			> 16.0 m2 audit left=redlock_wait:{a}
			  16.0 m3 audit`, "m2: these keys are left: redlock_wait:{a}", false},
		{"a queue, after faults with time in between", `
			   1.0 r  fault 1 cut on=m2
			   4.5 r  mended 1
			   6.6 r  fault 2 cut on=m2
			   7.0 r  mended 2
			  12.0 m1 audit
			> 12.0 m2 audit left=redlock_wait:{a}
			  12.0 m3 audit`, "m2: these keys are left: redlock_wait:{a}", false},
		{"a queue on another master", `
			   1.0 r  fault 1 cut on=m2
			   5.5 r  mended 1
			> 12.0 m1 audit left=redlock_wait:{a}
			  12.0 m2 audit
			  12.0 m3 audit`, "m1: these keys are left: redlock_wait:{a}", false},
		{"a lock beside a queue", `
			   1.0 r  fault 1 cut on=m2
			   5.5 r  mended 1
			  12.0 m1 audit
			> 12.0 m2 audit left=a,redlock_wait:{a}
			  12.0 m3 audit`, "m2: these keys are left: a, redlock_wait:{a}", false},
		{"nobody looked at a master", `
			  9.0 m1 audit
			> 9.0 m3 audit`, "m2: nobody looked", false},
	})
}

// TestResidueNotJudged: what is left on a master to which something has happened is counted.
func TestResidueNotJudged(t *testing.T) {
	h, _ := story(`
		8.0 r  fault 1 cut on=m1
		8.5 r  mended 1
		9.0 m1 audit left=a
		9.0 m2 audit
		9.0 m3 audit`).read(t)
	r, err := newRecord(h)
	if err != nil {
		t.Fatal(err)
	}
	if got := residue(r); got.Unjudged != 1 || got.Looked != 3 || len(got.Violations) > 0 {
		t.Errorf("%d not judged, looked at %d, want 1, 3; got\n%swant none", got.Unjudged, got.Looked, show(got.Violations))
	}
}
