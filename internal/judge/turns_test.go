package judge

import "testing"

func TestTurns(t *testing.T) {
	try(t, turns, []sentence{
		{"in turn", `
			c1: 10.0 lock a, 11.0 grant until=13
			c2: 10.2 lock a, 11.1 grant until=13`, ""},
		{"overtaken", `
			c1: >10.0 lock a, >11.1 grant until=13
			c2: >10.2 lock a,
				>11.0 grant until=13`, "c2 was granted it after 800ms, but c1, which asked 200ms earlier, was granted it 100ms after that"},
		{"overtaken, and gave up", `
			c1: >10.0 lock a, >11.1 return err=ended
			c2: >10.2 rlock a, >11.0 grant shared until=13`, "was not granted it"},
		{"at about the same time", `
			c1: 10.0 lock a, 11.1 grant until=13
			c2: 10.14 lock a, 11.0 grant until=13`, ""},
		{"gave up before", `
			c1: 10.0 lock a, 10.9 return err=ended
			c2: 10.2 lock a, 11.0 grant until=13`, ""},
		{"gave up before its context ended", `
			c1: 10.0 lock a deadline=12, 10.9 return err=closed
			c2: 10.2 lock a, 11.0 grant until=13`, ""},
		{"its context ended before", `
			c1: 10.0 lock a deadline=10.95, 11.04 return err=ended
			c2: 10.2 lock a, 11.0 grant until=13`, ""},
		{"its context ended before, and it was granted it late", `
			c1: 10.0 lock a deadline=10.95, 11.04 grant until=13
			c2: 10.2 lock a, 11.0 grant until=13`, ""},
		{"one that does not wait, and several names", `
			c1: 10.0 lock a, 11.1 grant until=13
			c2: 10.2 trylock a, 11.0 grant until=13
			c3: 10.2 lockall a b, 11.0 grant until=13`, ""},
		{"a lock and a semaphore of one name", `
			c1: 10.0 lock a, 11.5 grant until=13
			c2: 10.5 acquire a, 11.0 grant slot=1 until=13`, ""},
		{"readers that are let in together", `
			c1: 10.0 rlock a, 11.14 grant shared until=13
			c2: 10.2 rlock a, 11.0 grant shared until=13`, ""},
		{"a reader after another for long", `
			c1: >10.0 rlock a, >11.2 grant shared until=13
			c2: >10.2 rlock a, >11.0 grant shared until=13`, "c1, which asked 200ms earlier"},
		{"a reader whose process did not run when it was let in", `
			c1: 10.0 rlock a, 10.001 queues since=7, 10.002 stands since=7, 11.19 stall from=11.0, 11.3 grant shared until=13
			c2: 10.2 rlock a, 10.201 queues since=8, 11.0 grant shared until=13`, ""},
		{"a reader for longer than its process did not run", `
			c1: >10.0 rlock a, 10.001 queues since=7, 10.002 stands since=7, >11.19 stall from=11.0, >11.4 grant shared until=13
			c2: >10.2 rlock a, 10.201 queues since=8, >11.0 grant shared until=13`, "c1, which asked 200ms earlier"},
		{"a reader that had to agree on its token", `
			c1: 10.0 rlock a, 11.24 grant shared token=6 until=13
			c2: 10.2 rlock a, 11.0 grant shared token=5 until=13`, ""},
		{"a reader that had to agree on its token, for long", `
			c1: >10.0 rlock a, >11.26 grant shared token=6 until=13
			c2: >10.2 rlock a, >11.0 grant shared token=5 until=13`, "c1, which asked 200ms earlier"},
		{"permits", `
			c1: 10.0 acquire s, 14.5 grant slot=2 until=16
			c2: 11.9 acquire s, 12.0 grant slot=1 until=16`, ""},
		{"a permit that came late", `
			c1: >10.0 acquire s, >14.5 grant slot=2 until=16
			c2: >12.1 acquire s, >12.2 grant slot=1 until=16`, "c1, which asked 2.1s earlier"},
		{"a writer behind a reader of its own client", `
			c2: 10.5 rlock a, 11.0 grant shared until=13
			c1: 10.0 rlock a, 10.1 lock a, 11.0 grant call=1 shared until=13, 11.2 grant until=13`, ""},
		{"a writer who stood behind one", `
			c1: 10.0 rlock a, >10.1 lock a, 10.2 grant call=1 shared until=13, >11.2 grant until=13
			c2: >10.5 rlock a, >11.0 grant shared until=13`, "c1, which asked 400ms earlier"},
		{"a writer behind a writer of its own client", `
			c1: 10.0 lock a, >10.1 lock a, 10.9 grant call=1 until=13, >11.2 grant until=13
			c2: >10.5 lock a, >11.0 grant until=13`, "c1, which asked 400ms earlier"},
		{"in a fault", `
			c1: 10.0 lock a, 11.1 grant until=13
			c2: 10.2 lock a, 11.0 grant until=13
			r: 10.3 fault cut on=m1, 10.4 mended`, unjudged},
		{"shortly after one", `
			r: 6.0 fault cut on=m1, 6.1 mended
			c1: 10.0 lock a, 11.1 grant until=13
			c2: 10.2 lock a, 11.0 grant until=13`, unjudged},
		{"long after one", `
			r: 5.0 fault cut on=m1, 5.9 mended
			c1: >10.0 lock a, >11.1 grant until=13
			c2: >10.2 lock a, >11.0 grant until=13`, "c1, which asked"},
		{"stopped", `
			c1: 10.0 lock a, 10.3 stopped, 11.1 continued, 11.1 grant until=13
			c2: 10.2 lock a, 11.0 grant until=13`, unjudged},
		{"one that stalled before", `
			c1: 9.9 stall from=9.8, >10.0 lock a, >11.1 grant until=13
			m1: 9.9 stall from=9.8
			c2: >10.2 lock a, >11.0 grant until=13`, "c1, which asked"},
		{"a master that had no time", `
			c1: 10.0 lock a, 11.1 grant until=13
			c2: 10.2 lock a, 11.0 grant until=13
			m1: 10.9 stall from=10.3`, unjudged},
		{"overtaken by one who came not much later", `
			c1: >10.0 lock a, >11.1 grant until=13
			c2: >10.16 lock a, >11.0 grant until=13`, "c1, which asked 160ms earlier"},
		{"overtaken, and waits on", `
			c1: >10.0 lock a
			c2: >10.2 lock a, >11.0 grant until=13
			r: 11.5 over`, "c1, which asked 200ms earlier, was not granted it"},
		{"a reader overtaken by a writer", `
			c1: >10.0 rlock a, >11.1 grant shared until=13
			c2: >10.2 lock a, >11.0 grant until=13`, "c1, which asked 200ms earlier"},
		{"one who waits behind another of its client, overtaken by a fixed lease", `
			c1: 10.0 lockfor a, >10.1 lock a, 10.9 grant call=1 until=13, >11.2 grant until=13
			c2: >10.5 lockfor a, >11.0 grant until=13`, "c1, which asked 400ms earlier"},
		{"a reader of another client gets in as well", `
			c3: 9.9 rlock a, 11.0 grant shared until=13
			c1: >10.0 rlock a, >11.2 grant shared until=13
			c2: >10.5 rlock a, >11.0 grant shared until=13`, "c1, which asked 500ms earlier"},
		{"a reader behind a writer of its own client", `
			c1: 10.0 lock a, >10.1 rlock a, 10.9 grant call=1 until=13, >11.2 grant shared until=13
			c2: >10.5 rlock a, >11.0 grant shared until=13`, "c1, which asked 400ms earlier"},
		{"a millisecond behind one who stood in the queue", `
			c3: 9.0 lock a, 9.1 grant until=12, 10.5 unlock
			c2: >10.001 lock a, 10.002 queues since=8, >10.6 grant until=13
			c1: >10.0 lock a, 10.001 queues since=7, 10.002 stands since=7,
				>10.7 grant until=13`, "c1, which asked 1ms earlier, was granted it 100ms after that"},
		{"a millisecond behind one who stood there too late", `
			c3: 9.0 lock a, 9.1 grant until=12, 10.5 unlock
			c2: 10.001 lock a, 10.002 queues since=8, 10.6 grant until=13
			c1: 10.0 lock a, 10.001 queues since=7, 10.501 stands since=7, 10.7 grant until=13`, ""},
		{"a millisecond behind one who stood there when a lease may have run out", `
			c3: 9.0 lockfor a, 9.1 grant until=10.0, 10.5 unlock
			c2: 10.001 lock a, 10.002 queues since=8, 10.6 grant until=13
			c1: 10.0 lock a, 10.001 queues since=7, 10.003 stands since=7, 10.7 grant until=13`, ""},
		{"with the earlier stamp, by another client's clock", `
			c3: 9.0 lock a, 9.1 grant until=12, 10.5 unlock
			c2: 10.001 lock a, 10.002 queues since=7, 10.6 grant until=13
			c1: 10.0 lock a, 10.001 queues since=8, 10.002 stands since=8, 10.7 grant until=13`, ""},
		{"a reader beside readers, behind a writer who stood in the queue", `
			c3: 9.0 rlock a, 9.1 grant shared until=12, 10.5 unlock
			c1: >10.0 lock a, 10.001 queues since=7, 10.002 stands since=7, >10.7 grant until=13
			c2: >10.003 rlock a, 10.004 queues since=8, >10.005 grant shared until=13`, "c1, which asked 3ms earlier"},
		{"who stood in the queue and was away for a moment", `
			c1: >10.0 lock a, 10.001 queues since=7, 10.002 stands since=7, >10.15 stall from=10.01, >10.7 grant until=13
			c2: >10.1 lock a, 10.102 queues since=8, >10.2 grant until=13`, "c1, which asked 100ms earlier"},
		{"who stood in the queue and was away for too long", `
			c1: 10.0 lock a, 10.001 queues since=7, 10.002 stands since=7, 10.22 stall from=10.01, 10.7 grant until=13
			c2: 10.1 lock a, 10.102 queues since=8, 10.3 grant until=13`, unjudged},
		{"when the run has just begun", `
			c1: 3.0 lock a, 3.9 grant until=13
			c2: 3.2 lock a, 3.8 grant until=13`, unjudged},
	})
}
