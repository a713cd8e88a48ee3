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
			20.0 c1 call 1 lock a
			20.1 c1 grant 1 a until=30
			20.2 c2 call 1 lock a
			20.3 c3 call 1 lock a
			24.0 c1 call 2 unlock hold=1
			24.1 c1 return 2
			25.0 c2 grant 1 a until=30
			29.0 c2 call 2 unlock hold=1
			29.1 c2 return 2
			30.0 c3 grant 1 a until=40`, "", false},
		{"served in time after a fault", `
			10.0 r  fault 1 cut on=m1
			11.0 c1 call 1 lock a
			14.0 r  mended 1
			19.9 c1 grant 1 a until=30`, "", false},
		{"a fault comes before it is due", `
			10.0 r  fault 1 cut on=m1
			11.0 c1 call 1 lock a
			14.0 r  mended 1
			19.9 r  fault 2 cut on=m1
			30.0 c1 grant 1 a until=40`, "", false},
		{"behind one that was killed", `
			18.0 c1 started
			20.0 c1 call 1 lock a
			20.1 c1 grant 1 a until=22
			20.2 c1 killed
			20.3 c2 call 1 lock a
			26.0 c2 grant 1 a until=30`, "", false},
		{"the process of the one who waits stalled", `
			20.0 c1 started
			20.0 c1 call 1 lock a
			22.5 c1 stall from=20
			22.6 c1 grant 1 a until=30`, "", false},
		{"a name that lies free", `
			> 20.0 c1 call 1 lock a
			> 22.1 c1 grant 1 a until=30`, "for 2.1s from 20s on nobody had it", false},
		{"a name that lies free for several who give up", `
			> 20.0 c1 call 1 lock a
			  21.4 c2 call 1 lock a
			  21.5 c1 return 1 err=ended
			  22.9 c2 return 1 err=ended
			  23.0 c3 call 1 lock a
			> 23.0 c3 grant 1 a until=30`, "for 2.9s from 20s on nobody had it", false},
		{"one that several names may have", `
			20.0 c1 call 1 lockall a b
			20.0 c2 call 1 lock a
			23.0 c1 grant 1 a until=30
			24.0 c1 call 2 unlock hold=1
			24.1 c1 return 2
			24.2 c2 grant 1 a until=30`, "", false},
		{"another that came later, and may have had it when faults ended", `
			10.0 r  fault 1 cut on=m1
			11.0 c1 call 1 lock a
			13.0 c2 call 1 lockall a b
			14.0 r  mended 1
			18.5 c2 grant 1 a until=30
			24.0 c2 call 2 unlock hold=1
			24.1 c2 return 2
			25.0 c1 grant 1 a until=30`, "", false},
		{"another for several names that came after faults", `
			> 20.0 c1 call 1 lock a
			  20.3 c2 call 1 lockall a b
			  20.5 c2 grant 1 a until=30
			  24.0 c2 call 2 unlock hold=1
			  24.1 c2 return 2
			> 25.0 c1 grant 1 a until=30`, "c1 was granted it 5s after all before it were gone", false},
		{"too late after a fault", `
			> 10.0 r  fault 1 cut on=m1
			> 11.0 c1 call 1 lock a
			> 14.0 r  mended 1
			> 20.1 c1 grant 1 a until=30`, "for 2.1s from 18s on nobody had it", false},
		{"after a master stalled", `
			13.0 c1 call 1 lock a
			14.0 m1 stall from=13.8
			19.9 c1 grant 1 a until=30`, "", false},
		{"a master that stalled for a moment only", `
			> 20.0 c1 call 1 lock a
			  20.2 m1 stall from=20.1
			> 22.1 c1 grant 1 a until=30`, "for 2.1s from 20s on nobody had it", false},
		{"others are served instead", `
			> 20.0 c1 call 1 acquire s
			  20.1 c2 call 1 acquire s
			  20.2 c3 call 1 acquire s
			  20.2 c2 grant 1 s slot=1 until=30
			  21.0 c3 grant 1 s slot=2 until=30
			  21.1 c2 call 2 unlock hold=1
			  21.2 c2 return 2
			  22.0 c2 call 3 acquire s
			  22.0 c2 grant 3 s slot=1 until=30
			  25.0 c3 call 3 unlock hold=1
			  25.2 c3 return 3
			  26.0 c2 call 4 unlock hold=3
			  26.1 c2 return 4
			  26.1 c4 call 1 tryacquire s
			  26.1 c4 grant 1 s slot=1 until=40
			> 28.0 c1 grant 1 s slot=2 until=30`, "c1 was granted it 2.8s after all before it were gone", false},
		{"somebody who does not wait is served instead", `
			> 20.0 c1 call 1 lock a
			  20.5 c2 call 1 trylock a
			  20.5 c2 grant 1 a until=30
			  20.5 c2 return 1
			> 22.5 c1 return 1 err=ended
			  24.0 c2 call 2 unlock hold=1`, "c1 gave up 2.5s after all before it were gone", false},
		{"served just in time", `
			20.0 c1 call 1 lock a
			22.0 c1 grant 1 a until=30`, "", false},
		{"not needed any more", `
			20.0 c1 started
			20.0 c1 call 1 lock a
			21.0 c1 killed
			30.0 r  over`, "", false},
		{"behind one that was killed while it unlocked", `
			  18.0 c1 started
			  20.0 c1 call 1 lock a
			  20.1 c1 grant 1 a until=22
			  20.2 c1 call 2 unlock hold=1
			  20.3 c1 killed
			> 20.3 c2 call 1 lock a
			> 26.5 c2 grant 1 a until=30`, "for 2.16s from 24.34s on nobody had it", false},
		{"behind one that lost it", `
			  20.0 c1 call 1 lock a
			  20.1 c1 grant 1 a until=22
			> 20.3 c2 call 1 lock a
			  21.0 c1 lost 1
			> 23.5 c2 grant 1 a until=30`, "for 2.5s from 21s on nobody had it", false},
		{"behind one that has exited with it", `
			  18.0 c1 started
			  20.0 c1 call 1 lock a
			  20.1 c1 grant 1 a until=24
			> 20.3 c2 call 1 lock a
			  21.0 c1 exited
			> 26.1 c2 grant 1 a until=30`, "for 2.1s from 24s on nobody had it", false},
		{"behind one that outlives it", `
			  18.0 c1 started
			  20.0 c1 call 1 lock a
			  20.1 c1 grant 1 a until=21
			> 20.3 c2 call 1 lock a
			  24.0 c1 exited
			> 26.1 c2 grant 1 a until=30`, "for 2.1s from 24s on nobody had it", false},
		{"a stall before it asked", `
			19.0 c1 started
			19.5 c1 stall from=19.2
			20.0 c1 call 1 lock a
			21.9 c1 grant 1 a until=30`, "", false},
		{"a stall after it has given up", `
			19.0 c1 started
			20.0 c1 call 1 lock a
			20.5 c1 return 1 err=ended
			31.0 c1 stall from=30`, "", false},
		{"a stall when it was too late", `
			  19.0 c1 started
			> 20.0 c1 call 1 lock a
			> 22.6 c1 stall from=22.5
			> 22.7 c1 grant 1 a until=30`, "for 2.5s from 20s on nobody had it", false},
		{"a name that lies free after others had it", `
			  15.0 c2 call 1 lock a
			  15.1 c2 grant 1 a until=18
			  16.0 c2 call 2 unlock hold=1
			  16.1 c2 return 2
			> 20.0 c1 call 1 lock a
			> 22.5 c1 grant 1 a until=30`, "for 2.5s from 20s on nobody had it", false},
		{"after a client was stopped", `
			10.0 c2 started
			10.0 c2 stopped
			13.0 c1 call 1 lock a
			14.0 c2 continued
			19.9 c1 grant 1 a until=30`, "", false},
		{"long after a client was stopped, and killed", `
			  10.0 c2 started
			  10.0 c2 stopped
			  11.0 c2 killed
			> 20.0 c1 call 1 lock a
			> 22.1 c1 grant 1 a until=30`, "for 2.1s from 20s on nobody had it", false},
		{"others are served instead after a fault, for a moment", `
			10.0 r  fault 1 cut on=m1
			11.0 c1 call 1 acquire s
			14.0 r  mended 1
			17.0 c2 call 1 tryacquire s
			17.0 c2 grant 1 s slot=1 until=30
			19.9 c1 grant 1 s slot=2 until=30`, "", false},
		{"others are served instead after a fault", `
			> 10.0 r  fault 1 cut on=m1
			> 11.0 c1 call 1 acquire s
			> 14.0 r  mended 1
			  17.0 c2 call 1 tryacquire s
			  17.0 c2 grant 1 s slot=1 until=17.5
			  17.5 c2 call 2 unlock hold=1
			  17.6 c2 return 2
			  18.1 c2 call 3 tryacquire s
			  18.1 c2 grant 3 s slot=1 until=30
			> 20.5 c1 grant 1 s slot=2 until=30`, "c1 was granted it 2.5s after all before it were gone", false},
		{"others are served instead after a fault, while somebody waits who came later", `
			> 10.0 r  fault 1 cut on=m1
			> 11.0 c1 call 1 acquire s
			> 14.0 r  mended 1
			  15.0 c9 call 1 acquire s
			  17.0 c2 call 1 tryacquire s
			  17.0 c2 grant 1 s slot=1 until=17.5
			  17.5 c2 call 2 unlock hold=1
			  17.6 c2 return 2
			  18.1 c2 call 3 tryacquire s
			  18.1 c2 grant 3 s slot=1 until=30
			> 20.5 c1 grant 1 s slot=2 until=30
			  22.0 c9 return 1 err=ended`, "c1 was granted it 2.5s after all before it were gone", false},
		{"behind several names that were asked for hardly later", `
			20.0 c1 call 1 lock a
			20.2 c2 call 1 lockall a b
			20.4 c2 grant 1 a until=30
			20.4 c2 return 1
			22.9 c2 call 2 unlock hold=1
			23.0 c2 return 2
			24.5 c1 grant 1 a until=30`, "", false},
		{"behind those that came in during a fault", `
			10.0 r  fault 1 cut on=m1
			11.0 c1 call 1 acquire s
			14.0 r  mended 1
			15.0 c2 call 1 tryacquire s
			15.0 c2 grant 1 s slot=1 until=30
			15.1 c3 call 1 tryacquire s
			15.1 c3 grant 1 s slot=2 until=30
			19.0 c3 call 2 unlock hold=1
			19.1 c3 return 2
			19.2 c4 call 1 tryacquire s
			19.2 c4 grant 1 s slot=2 until=30
			21.0 c2 call 2 unlock hold=1
			21.1 c2 return 2
			22.5 c1 grant 1 s slot=1 until=30`, "", false},
		{"behind one who gave up", `
			20.0 c2 call 1 lock a
			20.1 c1 call 1 lock a
			20.5 c3 call 1 trylock a
			20.5 c3 grant 1 a until=30
			21.9 c2 return 1 err=ended
			23.8 c1 return 1 err=ended`, "", false},
		{"behind several who have it", `
			20.0 c2 call 1 acquire s
			20.0 c3 call 1 acquire s
			20.1 c1 call 1 acquire s
			20.2 c2 grant 1 s slot=1 until=30
			20.2 c3 grant 1 s slot=2 until=30
			22.0 c3 call 2 unlock hold=1
			22.1 c3 return 2
			22.5 c4 call 1 tryacquire s
			22.5 c4 grant 1 s slot=2 until=30
			24.0 c2 call 2 unlock hold=1
			24.1 c2 return 2
			25.5 c1 grant 1 s slot=1 until=30`, "", false},
		{"behind one who has another name for longer", `
			  20.0 c2 call 1 lockall a b
			> 20.1 c1 call 1 lock a
			  20.2 c2 grant 1 a until=30
			  20.2 c2 grant 1 b hold=9 until=30
			  20.3 c2 return 1
			  20.9 c2 call 2 unlock hold=1
			  21.0 c2 return 2
			  21.0 c3 call 1 trylock a
			  21.0 c3 grant 1 a until=30
			> 24.0 c1 return 1 err=ended`, "c1 gave up 3s after all before it were gone", false},
		{"still waiting", `
			> 20.0 c1 call 1 lock a
			  20.5 c2 call 1 trylock a
			  20.5 c2 grant 1 a until=30
			  24.0 r  over`, "c1 had not been granted it yet 4s after all before it were gone", false},
	})
}

// TestServiceTwice: who is starved is told, though the name has lain free at another time, and is not told
// twice.
func TestServiceTwice(t *testing.T) {
	h, _ := story(`
		20.0 c1 call 1 lock a
		23.0 c1 grant 1 a until=40
		24.0 c1 call 2 unlock hold=1
		24.1 c1 return 2
		25.0 c2 call 1 lock a
		25.5 c3 call 1 trylock a
		25.5 c3 grant 1 a until=40
		28.0 c2 return 1 err=ended`).read(t)
	r, err := newRecord(h)
	if err != nil {
		t.Fatal(err)
	}
	got := service(r).Violations
	if len(got) != 2 || got[0].At != seconds(t, "22") || got[1].At != seconds(t, "27") {
		t.Errorf("got\n%swant one at 22 s, and one at 27 s", show(got))
	}
}

// Where masters are far away, a name may lie free for four round trips.
func TestServiceFar(t *testing.T) {
	h, _ := story(`
		20.0 c1 call 1 lock a
		22.1 c1 grant 1 a until=30
		23.0 c2 call 1 lock b
		25.3 c2 grant 1 b until=30`).read(t)
	h.Run.NodeTimeout = 1100 * time.Millisecond
	r, err := newRecord(h)
	if err != nil {
		t.Fatal(err)
	}
	if got := service(r).Violations; len(got) != 1 || !strings.Contains(got[0].Text, "b: for 2.3s") {
		t.Errorf("got\n%swant one of b", show(got))
	}
}
