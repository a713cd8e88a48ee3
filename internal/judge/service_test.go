package judge

import (
	"strings"
	"testing"
	"time"
)

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
	if len(got) != 2 || got[0].At != seconds(t, "22") || got[1].At != seconds(t, "27") {
		t.Errorf("got\n%swant one at 22 s, and one at 27 s", show(got))
	}
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
