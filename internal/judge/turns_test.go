package judge

import "testing"

func TestTurns(t *testing.T) {
	try(t, turns, []sentence{
		{"in turn", `
			10.0 c1 call 1 lock a
			10.2 c2 call 1 lock a
			11.0 c1 grant 1 a until=13
			11.1 c2 grant 1 a until=13`, "", false},
		{"overtaken", `
			> 10.0 c1 call 1 lock a
			> 10.2 c2 call 1 lock a
			> 11.0 c2 grant 1 a until=13
			> 11.1 c1 grant 1 a until=13`, "c2 was granted it after 800ms, but c1, which asked 200ms earlier, was granted it 100ms after that", false},
		{"overtaken, and gave up", `
			> 10.0 c1 call 1 lock a
			> 10.2 c2 call 1 rlock a
			> 11.0 c2 grant 1 a shared until=13
			> 11.1 c1 return 1 err=ended`, "was not granted it", false},
		{"at about the same time", `
			10.0 c1 call 1 lock a
			10.14 c2 call 1 lock a
			11.0 c2 grant 1 a until=13
			11.1 c1 grant 1 a until=13`, "", false},
		{"gave up before", `
			10.0 c1 call 1 lock a
			10.2 c2 call 1 lock a
			10.9 c1 return 1 err=ended
			11.0 c2 grant 1 a until=13`, "", false},
		{"gave up before its context ended", `
			10.0 c1 call 1 lock a deadline=12
			10.2 c2 call 1 lock a
			10.9 c1 return 1 err=closed
			11.0 c2 grant 1 a until=13`, "", false},
		{"its context ended before", `
			10.0 c1 call 1 lock a deadline=10.95
			10.2 c2 call 1 lock a
			11.0 c2 grant 1 a until=13
			11.04 c1 return 1 err=ended`, "", false},
		{"its context ended before, and it was granted it late", `
			10.0 c1 call 1 lock a deadline=10.95
			10.2 c2 call 1 lock a
			11.0 c2 grant 1 a until=13
			11.04 c1 grant 1 a until=13`, "", false},
		{"one that does not wait, and several names", `
			10.0 c1 call 1 lock a
			10.2 c2 call 1 trylock a
			10.2 c3 call 1 lockall a b
			11.0 c2 grant 1 a until=13
			11.0 c3 grant 1 a until=13
			11.1 c1 grant 1 a until=13`, "", false},
		{"a lock and a semaphore of one name", `
			10.0 c1 call 1 lock a
			10.5 c2 call 1 acquire a
			11.0 c2 grant 1 a slot=1 until=13
			11.5 c1 grant 1 a until=13`, "", false},
		{"readers that are let in together", `
			10.0 c1 call 1 rlock a
			10.2 c2 call 1 rlock a
			11.0 c2 grant 1 a shared until=13
			11.14 c1 grant 1 a shared until=13`, "", false},
		{"a reader after another for long", `
			> 10.0 c1 call 1 rlock a
			> 10.2 c2 call 1 rlock a
			> 11.0 c2 grant 1 a shared until=13
			> 11.2 c1 grant 1 a shared until=13`, "c1, which asked 200ms earlier", false},
		{"permits", `
			10.0 c1 call 1 acquire s
			10.24 c2 call 1 acquire s
			11.0 c2 grant 1 s slot=1 until=13
			11.5 c1 grant 1 s slot=2 until=13`, "", false},
		{"a permit that came late", `
			> 10.0 c1 call 1 acquire s
			> 10.26 c2 call 1 acquire s
			> 11.0 c2 grant 1 s slot=1 until=13
			> 11.5 c1 grant 1 s slot=2 until=13`, "c1, which asked 260ms earlier", false},
		{"a writer behind a reader of its own client", `
			10.0 c1 call 1 rlock a
			10.1 c1 call 2 lock a
			10.5 c2 call 1 rlock a
			11.0 c2 grant 1 a shared until=13
			11.0 c1 grant 1 a shared until=13
			11.2 c1 grant 2 a until=13`, "", false},
		{"a writer who stood behind one", `
			  10.0 c1 call 1 rlock a
			> 10.1 c1 call 2 lock a
			  10.2 c1 grant 1 a shared until=13
			> 10.5 c2 call 1 rlock a
			> 11.0 c2 grant 1 a shared until=13
			> 11.2 c1 grant 2 a until=13`, "c1, which asked 400ms earlier", false},
		{"a writer behind a writer of its own client", `
			  10.0 c1 call 1 lock a
			> 10.1 c1 call 2 lock a
			> 10.5 c2 call 1 lock a
			  10.9 c1 grant 1 a until=13
			> 11.0 c2 grant 1 a until=13
			> 11.2 c1 grant 2 a until=13`, "c1, which asked 400ms earlier", false},
		{"in a fault", `
			10.0 c1 call 1 lock a
			10.2 c2 call 1 lock a
			10.3 r  fault 1 cut on=m1
			10.4 r  mended 1
			11.0 c2 grant 1 a until=13
			11.1 c1 grant 1 a until=13`, "", false},
		{"shortly after one", `
			6.0 r  fault 1 cut on=m1
			6.1 r  mended 1
			10.0 c1 call 1 lock a
			10.2 c2 call 1 lock a
			11.0 c2 grant 1 a until=13
			11.1 c1 grant 1 a until=13`, "", false},
		{"long after one", `
			  5.0 r  fault 1 cut on=m1
			  5.9 r  mended 1
			> 10.0 c1 call 1 lock a
			> 10.2 c2 call 1 lock a
			> 11.0 c2 grant 1 a until=13
			> 11.1 c1 grant 1 a until=13`, "c1, which asked", false},
		{"stopped", `
			10.0 c1 call 1 lock a
			10.2 c2 call 1 lock a
			10.3 c1 stopped
			11.0 c2 grant 1 a until=13
			11.1 c1 continued
			11.1 c1 grant 1 a until=13`, "", false},
		{"one that stalled before", `
			  9.9 c1 stall from=9.8
			  9.9 m1 stall from=9.8
			> 10.0 c1 call 1 lock a
			> 10.2 c2 call 1 lock a
			> 11.0 c2 grant 1 a until=13
			> 11.1 c1 grant 1 a until=13`, "c1, which asked", false},
		{"a master that had no time", `
			10.0 c1 call 1 lock a
			10.2 c2 call 1 lock a
			10.9 m1 stall from=10.3
			11.0 c2 grant 1 a until=13
			11.1 c1 grant 1 a until=13`, "", false},
		{"overtaken by one who came not much later", `
			> 10.0 c1 call 1 lock a
			> 10.16 c2 call 1 lock a
			> 11.0 c2 grant 1 a until=13
			> 11.1 c1 grant 1 a until=13`, "c1, which asked 160ms earlier", false},
		{"overtaken, and waits on", `
			> 10.0 c1 call 1 lock a
			> 10.2 c2 call 1 lock a
			> 11.0 c2 grant 1 a until=13
			  11.5 r  over`, "c1, which asked 200ms earlier, was not granted it", false},
		{"a reader overtaken by a writer", `
			> 10.0 c1 call 1 rlock a
			> 10.2 c2 call 1 lock a
			> 11.0 c2 grant 1 a until=13
			> 11.1 c1 grant 1 a shared until=13`, "c1, which asked 200ms earlier", false},
		{"one who waits behind another of its client, overtaken by a fixed lease", `
			  10.0 c1 call 1 lockfor a
			> 10.1 c1 call 2 lock a
			> 10.5 c2 call 1 lockfor a
			  10.9 c1 grant 1 a until=13
			> 11.0 c2 grant 1 a until=13
			> 11.2 c1 grant 2 a until=13`, "c1, which asked 400ms earlier", false},
		{"a reader of another client gets in as well", `
			  9.9 c3 call 1 rlock a
			> 10.0 c1 call 1 rlock a
			> 10.5 c2 call 1 rlock a
			  11.0 c3 grant 1 a shared until=13
			> 11.0 c2 grant 1 a shared until=13
			> 11.2 c1 grant 1 a shared until=13`, "c1, which asked 500ms earlier", false},
		{"a reader behind a writer of its own client", `
			  10.0 c1 call 1 lock a
			> 10.1 c1 call 2 rlock a
			> 10.5 c2 call 1 rlock a
			  10.9 c1 grant 1 a until=13
			> 11.0 c2 grant 1 a shared until=13
			> 11.2 c1 grant 2 a shared until=13`, "c1, which asked 400ms earlier", false},
		{"a millisecond behind one who stood in the queue", `
			  9.0    c3 call 1 lock a
			  9.1    c3 grant 1 a until=12
			> 10.0   c1 call 1 lock a
			> 10.001 c2 call 1 lock a
			  10.001 c1 queues 1 since=7
			  10.002 c2 queues 1 since=8
			  10.002 c1 stands 1 since=7
			  10.5   c3 call 2 unlock hold=1
			> 10.6   c2 grant 1 a until=13
			> 10.7   c1 grant 1 a until=13`, "c1, which asked 1ms earlier, was granted it 100ms after that", false},
		{"a millisecond behind one who stood there too late", `
			9.0    c3 call 1 lock a
			9.1    c3 grant 1 a until=12
			10.0   c1 call 1 lock a
			10.001 c2 call 1 lock a
			10.001 c1 queues 1 since=7
			10.002 c2 queues 1 since=8
			10.5   c3 call 2 unlock hold=1
			10.501 c1 stands 1 since=7
			10.6   c2 grant 1 a until=13
			10.7   c1 grant 1 a until=13`, "", false},
		{"a millisecond behind one who stood there when a lease may have run out", `
			9.0    c3 call 1 lockfor a
			9.1    c3 grant 1 a until=10.0
			10.0   c1 call 1 lock a
			10.001 c2 call 1 lock a
			10.001 c1 queues 1 since=7
			10.002 c2 queues 1 since=8
			10.003 c1 stands 1 since=7
			10.5   c3 call 2 unlock hold=1
			10.6   c2 grant 1 a until=13
			10.7   c1 grant 1 a until=13`, "", false},
		{"with the earlier stamp, by another client's clock", `
			9.0    c3 call 1 lock a
			9.1    c3 grant 1 a until=12
			10.0   c1 call 1 lock a
			10.001 c2 call 1 lock a
			10.001 c1 queues 1 since=8
			10.002 c2 queues 1 since=7
			10.002 c1 stands 1 since=8
			10.5   c3 call 2 unlock hold=1
			10.6   c2 grant 1 a until=13
			10.7   c1 grant 1 a until=13`, "", false},
		{"a reader beside readers, behind a writer who stood in the queue", `
			  9.0    c3 call 1 rlock a
			  9.1    c3 grant 1 a shared until=12
			> 10.0   c1 call 1 lock a
			  10.001 c1 queues 1 since=7
			  10.002 c1 stands 1 since=7
			> 10.003 c2 call 1 rlock a
			  10.004 c2 queues 1 since=8
			> 10.005 c2 grant 1 a shared until=13
			  10.5   c3 call 2 unlock hold=1
			> 10.7   c1 grant 1 a until=13`, "c1, which asked 3ms earlier", false},
		{"who stood in the queue and was away for a moment", `
			> 10.0   c1 call 1 lock a
			  10.001 c1 queues 1 since=7
			  10.002 c1 stands 1 since=7
			> 10.1   c2 call 1 lock a
			  10.102 c2 queues 1 since=8
			> 10.15  c1 stall from=10.01
			> 10.2   c2 grant 1 a until=13
			> 10.7   c1 grant 1 a until=13`, "c1, which asked 100ms earlier", false},
		{"who stood in the queue and was away for too long", `
			10.0   c1 call 1 lock a
			10.001 c1 queues 1 since=7
			10.002 c1 stands 1 since=7
			10.1   c2 call 1 lock a
			10.102 c2 queues 1 since=8
			10.22  c1 stall from=10.01
			10.3   c2 grant 1 a until=13
			10.7   c1 grant 1 a until=13`, "", false},
		{"when the run has just begun", `
			3.0 c1 call 1 lock a
			3.2 c2 call 1 lock a
			3.8 c2 grant 1 a until=13
			3.9 c1 grant 1 a until=13`, "", false},
	})
}

// TestTurnsNotJudged: what looks wrong in a fault is counted.
func TestTurnsNotJudged(t *testing.T) {
	h, _ := story(`
		10.0 c1 call 1 lock a
		10.2 c2 call 1 lock a
		10.3 r  fault 1 cut on=m1
		11.0 c2 grant 1 a until=13
		11.1 c1 grant 1 a until=13`).read(t)
	r, err := newRecord(h)
	if err != nil {
		t.Fatal(err)
	}
	if check := turns(r); check.Unjudged != 1 || check.Looked != 0 {
		t.Errorf("%d not judged, looked at %d; want 1, 0", check.Unjudged, check.Looked)
	}
}

// TestTurnsAreTooFew: a run of a minute that tells the stamps of its waiters has fifty pairs at least.
func TestTurnsAreTooFew(t *testing.T) {
	h, _ := story(`
		10.0 c1 call 1 lock a
		10.0 c1 queues 1 since=7
		60.0 r  over`).read(t)
	r, err := newRecord(h)
	if err != nil {
		t.Fatal(err)
	}
	if check := turns(r); check.Least != 50 || check.Verdict() != Failed || check.Details() != "looked at 0, want 50" {
		t.Errorf("%s, %s; want it to fail, with 50 pairs", check.Verdict(), check.Details())
	}
}
