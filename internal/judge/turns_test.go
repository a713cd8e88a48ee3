package judge

import (
	"strings"
	"testing"
	"time"

	"example.com/redlock/internal/check"
)

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
			c1: >10.0 rlock a, >10.001 queues since=7, >10.002 stands since=7, >11.19 stall from=11.0, >11.4 grant shared until=13
			c2: >10.2 rlock a, >10.201 queues since=8, >11.0 grant shared until=13`, "c1, which asked 200ms earlier"},
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
			c2: >10.001 lock a, >10.003 queues since=8, >10.6 grant until=13
			c1: >10.0 lock a, >10.001 queues since=7, >10.002 stands since=7,
				>10.7 grant until=13`, "c1, which asked 1ms earlier, was granted it 100ms after that"},
		{"a millisecond behind one who left the queue", `
			c3: 9.0 lock a, 9.1 grant until=12, 10.5 unlock
			c2: 10.001 lock a, 10.003 queues since=8, 10.6 grant until=13
			c1: 10.0 lock a, 10.001 queues since=7, 10.002 stands since=7, 10.4 queues, 10.7 grant until=13`, ""},
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
			c1: >10.0 lock a, >10.001 queues since=7, >10.002 stands since=7, >10.7 grant until=13
			c2: >10.003 rlock a, >10.004 queues since=8, >10.005 grant shared until=13`, "c1, which asked 3ms earlier"},
		{"who stood in the queue and was away for a moment", `
			c1: >10.0 lock a, >10.001 queues since=7, >10.002 stands since=7, >10.15 stall from=10.01, >10.7 grant until=13
			c2: >10.1 lock a, >10.102 queues since=8, >10.2 grant until=13`, "c1, which asked 100ms earlier"},
		{"who stood in the queue and was away for too long", `
			c1: 10.0 lock a, 10.001 queues since=7, 10.002 stands since=7, 10.22 stall from=10.01, 10.7 grant until=13
			c2: 10.1 lock a, 10.102 queues since=8, 10.3 grant until=13`, unjudged},
		{
			"a new place for each try", `
			r: 9.0 fault cut on=m1, 9.9 mended
			c1: >10.0 lock a, >10.001 queues since=7, 10.002 stands since=7, 10.1 queues, >10.2 queues since=8, 10.7 grant until=13`,
			"a: the place of c1 in the queue moved by 1µs while it waited",
		},
		{"the same place for each try", `
			c1: 10.0 lock a, 10.001 queues since=7, 10.002 stands since=7, 10.1 queues, 10.2 queues since=7, 10.7 grant until=13`, ""},
		{"when the run has just begun", `
			c1: 3.0 lock a, 3.9 grant until=13
			c2: 3.2 lock a, 3.8 grant until=13`, unjudged},
	})
}

// Lease and guard are 2 s each: 6 s after a fault, waits must be served.
func TestService(t *testing.T) {
	try(t, service, []sentence{
		{"served in turn", `
			c1: 20.0 lock a, 20.1 grant until=30, 24.0 unlock, 24.1 return
			c2: 20.2 lock a, 25.0 grant until=30, 29.0 unlock, 29.1 return
			c3: 20.3 lock a, 30.0 grant until=40`, ""},
		{"served in time after a fault", `
			r: 10.0 fault cut on=m1, 14.0 mended
			c1: 11.0 lock a, 19.9 grant until=30`, ""},
		{"a fault comes before it is due", `
			r: 10.0 fault cut on=m1, 14.0 mended, 19.9 fault cut on=m1
			c1: 11.0 lock a, 30.0 grant until=40`, ""},
		{"behind one that was killed", `
			c1: 18.0 started, 20.0 lock a, 20.1 grant until=22, 20.2 killed
			c2: 20.3 lock a, 26.0 grant until=30`, ""},
		{"the process of the one who waits stalled", `
			c1: 20.0 started, 20.0 lock a, 22.5 stall from=20, 22.6 grant until=30`, ""},
		{"a name that lies free", `
			c1: >20.0 lock a, >22.1 grant until=30`, "service at 22s: a: for 2.1s from 20s on nobody had it"},
		{"a name that lies free for several who give up", `
			c1: >20.0 lock a, 21.5 return err=ended
			c2: 21.4 lock a, 22.9 return err=ended
			c3: 23.0 lock a, >23.0 grant until=30`, "for 2.9s from 20s on nobody had it"},
		{"one that several names may have", `
			c1: 20.0 lockall a b, 23.0 grant until=30, 24.0 unlock, 24.1 return
			c2: 20.0 lock a, 24.2 grant until=30`, ""},
		{"another that came later, and may have had it when faults ended", `
			r: 10.0 fault cut on=m1, 14.0 mended
			c1: 11.0 lock a, 25.0 grant until=30
			c2: 13.0 lockall a b, 18.5 grant until=30, 24.0 unlock, 24.1 return`, ""},
		{"another for several names that came after faults", `
			c1: >20.0 lock a, >25.0 grant until=30
			c2: 20.3 lockall a b, 20.5 grant until=30, 24.0 unlock,
				24.1 return`, "c1 was granted it 5s after all before it were gone"},
		{"too late after a fault", `
			r: >10.0 fault cut on=m1, >14.0 mended
			c1: >11.0 lock a, >20.1 grant until=30`, "for 2.1s from 18s on nobody had it"},
		{"after a master stalled", `
			c1: 13.0 lock a, 19.9 grant until=30
			m1: 14.0 stall from=13.8`, ""},
		{"a master that stalled for a moment only", `
			c1: 20.0 lock a, 22.1 grant until=30
			m1: 20.2 stall from=20.1`, ""},
		{"for longer than a master stalled", `
			c1: >20.0 lock a, >22.2 grant until=30
			m1: 20.2 stall from=20.1`, "for 2.2s from 20s on nobody had it"},
		{"for as long as another client did not run", `
			c1: 20.0 lock a, 22.4 grant until=30
			c2: 20.0 lock b, 20.1 grant until=30, 21.4 stall from=21.0`, ""},
		{"others are served instead", `
			c1: >20.0 acquire s, >28.0 grant slot=2 until=30
			c3: 20.2 acquire s, 21.0 grant slot=2 until=30, 25.0 unlock, 25.2 return
			c2: 20.1 acquire s, 20.2 grant slot=1 until=30, 21.1 unlock, 21.2 return, 22.1 acquire s,
				22.1 grant slot=1 until=30, 26.0 unlock, 26.1 return
			c4: 26.1 tryacquire s, 26.1 grant slot=1 until=40`, "c1 was granted it 2.8s after all before it were gone"},
		{"somebody who does not wait is served instead", `
			c1: >20.0 lock a, >22.5 return err=ended
			c2: 20.5 trylock a, 20.5 grant until=30, 20.5 return,
				24.0 unlock`, "service at 22s: a: c1 gave up 2.5s after all before it were gone"},
		{"served just in time", `c1: 20.0 lock a, 22.0 grant until=30`, ""},
		{"not needed any more", `
			c1: 20.0 started, 20.0 lock a, 21.0 killed
			r: 30.0 over`, ""},
		{"behind one that was killed while it unlocked", `
			c1: 18.0 started, 20.0 lock a, 20.1 grant until=22, 20.2 unlock, 20.3 killed
			c2: >20.3 lock a, >26.5 grant until=30`, "for 2.16s from 24.34s on nobody had it"},
		{"behind one that lost it", `
			c1: 20.0 lock a, 20.1 grant until=22, 21.0 lost
			c2: >20.3 lock a, >23.5 grant until=30`, "for 2.5s from 21s on nobody had it"},
		{"behind one that has exited with it", `
			c1: 18.0 started, 20.0 lock a, 20.1 grant until=24, 21.0 exited
			c2: >20.3 lock a, >26.1 grant until=30`, "for 2.1s from 24s on nobody had it"},
		{"behind one that outlives it", `
			c1: 18.0 started, 20.0 lock a, 20.1 grant until=21, 24.0 exited
			c2: >20.3 lock a, >26.1 grant until=30`, "for 2.1s from 24s on nobody had it"},
		{"a stall before it asked", `c1: 19.0 started, 19.5 stall from=19.2, 20.0 lock a, 21.9 grant until=30`, ""},
		{"a stall after it has given up", `c1: 19.0 started, 20.0 lock a, 20.5 return err=ended, 31.0 stall from=30`, ""},
		{"a stall when it was too late", `
			c1: 19.0 started, >20.0 lock a, >22.6 stall from=22.5, >22.7 grant until=30`, "for 2.5s from 20s on nobody had it"},
		{"a name that lies free after others had it", `
			c2: 15.0 lock a, 15.1 grant until=18, 16.0 unlock, 16.1 return
			c1: >20.0 lock a, >22.5 grant until=30`, "for 2.5s from 20s on nobody had it"},
		{"after a client was stopped", `
			c2: 10.0 started, 10.0 stopped, 14.0 continued
			c1: 13.0 lock a, 19.9 grant until=30`, ""},
		{"long after a client was stopped, and killed", `
			c2: 10.0 started, 10.0 stopped, 11.0 killed
			c1: >20.0 lock a, >22.1 grant until=30`, "for 2.1s from 20s on nobody had it"},
		{"others are served instead after a fault, for a moment", `
			r: 10.0 fault cut on=m1, 14.0 mended
			c1: 11.0 acquire s, 19.9 grant slot=2 until=30
			c2: 17.0 tryacquire s, 17.0 grant slot=1 until=30`, ""},
		{"others are served instead after a fault", `
			r: >10.0 fault cut on=m1, >14.0 mended
			c1: >11.0 acquire s, >20.5 grant slot=2 until=30
			c2: 17.0 tryacquire s, 17.0 grant slot=1 until=17.5, 17.5 unlock, 17.6 return, 18.1 tryacquire s,
				18.1 grant slot=1 until=30`, "c1 was granted it 2.5s after all before it were gone"},
		{"others are served instead after a fault, while somebody waits who came later", `
			r: >10.0 fault cut on=m1, >14.0 mended
			c1: >11.0 acquire s, >20.5 grant slot=2 until=30
			c9: 15.0 acquire s, 22.0 return err=ended
			c2: 17.0 tryacquire s, 17.0 grant slot=1 until=17.5, 17.5 unlock, 17.6 return, 18.1 tryacquire s,
				18.1 grant slot=1 until=30`, "c1 was granted it 2.5s after all before it were gone"},
		{"behind several names that were asked for hardly later", `
			c1: 20.0 lock a, 24.5 grant until=30
			c2: 20.2 lockall a b, 20.4 grant until=30, 20.4 return, 22.9 unlock, 23.0 return`, ""},
		{"behind those that came in during a fault", `
			r: 10.0 fault cut on=m1, 14.0 mended
			c1: 11.0 acquire s, 22.5 grant slot=1 until=30
			c2: 15.0 tryacquire s, 15.0 grant slot=1 until=30, 21.0 unlock, 21.1 return
			c3: 15.1 tryacquire s, 15.1 grant slot=2 until=30, 19.0 unlock, 19.1 return
			c4: 19.2 tryacquire s, 19.2 grant slot=2 until=30`, ""},
		{"behind one who gave up", `
			c2: 20.0 lock a, 21.9 return err=ended
			c1: 20.1 lock a, 23.8 return err=ended
			c3: 20.5 trylock a, 20.5 grant until=30`, ""},
		{"behind several who have it", `
			c2: 20.0 acquire s, 20.2 grant slot=1 until=30, 24.0 unlock, 24.1 return
			c3: 20.0 acquire s, 20.2 grant slot=2 until=30, 22.0 unlock, 22.1 return
			c1: 20.1 acquire s, 25.5 grant slot=1 until=30
			c4: 22.5 tryacquire s, 22.5 grant slot=2 until=30`, ""},
		{"behind one who has another name for longer", `
			c2: 20.0 lockall a b, 20.2 grant until=30, 20.2 grant b hold=9 until=30, 20.3 return, 20.9 unlock hold=1,
				21.0 return
			c1: >20.1 lock a, >24.0 return err=ended
			c3: 21.0 trylock a, 21.0 grant until=30`, "c1 gave up 3s after all before it were gone"},
		{"still waiting", `
			c1: >20.0 lock a
			c2: 20.5 trylock a, 20.5 grant until=30
			r: 24.0 over`, "c1 had not been granted it yet 4s after all before it were gone"},
	})
}

// TestServiceTwice: who is starved is told, though the name has lain free at another time, and is not told
// twice.
func TestServiceTwice(t *testing.T) {
	r := story(`
			c1: 20.0 lock a, 23.0 grant until=40, 24.0 unlock, 24.1 return
			c2: 25.0 lock a, 28.0 return err=ended
			c3: 25.5 trylock a, 25.5 grant until=40`).record(t)
	got := service(r).Violations
	check.That(t, len(got) == 2 && got[0].At == seconds(t, "22") && got[1].At == seconds(t, "27"), "got\n%swant one at 22 s, and one at 27 s", show(got))
}

// Where masters are far away, a name may lie free for four round trips.
func TestServiceFar(t *testing.T) {
	r := story(`
			c1: 20.0 lock a, 22.1 grant until=30
			c2: 23.0 lock b, 25.3 grant until=30`).record(t)
	r.Run.NodeTimeout = 1100 * time.Millisecond
	if got := service(r).Violations; len(got) != 1 || !strings.Contains(got[0].Text, "b: for 2.3s") {
		t.Errorf("got\n%swant one of b", show(got))
	}
}
