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
		{"what may wait, without a deadline", `c1: 1.0 lock a, 1.1 grant until=9, 1.1 return, 2.0 enter a, 8.0 return`, ""},
	})
}

func TestErrors(t *testing.T) {
	try(t, answers, []sentence{
		{"documented", `c1: 1.0 lock a deadline=2, 2.0 return err=ended, 2.1 trylock a, 2.2 return err=noquorum`, ""},
		{"not documented", `c1: >1.0 lock a deadline=2, >2.0 return err=other`, "lock returned"},
		{"a loss that Unlock tells", `
			c1: 1.0 lock a, 1.1 grant until=3, 1.1 return, 2.0 lost, 2.1 unlock, 2.2 return err=lost`, ""},
		{"a loss that Unlock does not tell", `
			c1: 1.0 lock a, 1.1 grant until=3, 1.1 return, >2.0 lost, >2.1 unlock, >2.2 return`, "though the hold was lost"},
		{"a loss after Unlock", `c1: 1.0 lock a, 1.1 grant until=3, 1.1 return, 2.1 unlock, 2.15 lost, 2.2 return`, ""},
		{"not held", `
			c1: 1.0 lock a, >1.1 grant until=3, 1.1 return, >2.1 unlock, >2.2 return err=notheld`, "was not unlocked before"},
		{"not held, the second time", `
			c1: 1.0 lock a, 1.1 grant until=3, 1.1 return, 2.1 unlock, 2.2 return, 2.3 unlock, 2.4 return err=notheld`, ""},
		{"lost, and valid later", `
			c1: 1.0 lock a, 1.1 grant until=3, 1.1 return, >2.1 extend, >2.2 return err=lost,
				>2.3 alive`, "but it was valid later"},
		{"taken by nobody", `
			c1: 10.0 lock a, 10.1 grant until=13, 10.1 return, 11.0 unlock, 11.1 return
			c2: >17.2 trylock a, >17.3 return err=taken`, "says that a is taken"},
		{"taken by one who had it a while ago", `
			c1: 10.0 lock a, 10.1 grant until=13, 10.1 return, 11.0 unlock, 11.1 return
			c2: 17.0 trylock a, 17.3 return err=taken`, ""},
		{"taken by one who asks", `
			c1: 17.0 lock a
			c2: 17.2 trylock a, 17.3 return err=taken`, ""},
		{"taken by one who was killed", `
			c1: 10.0 started, 10.0 lock a, 10.1 killed
			c2: 17.2 trylock a, 17.3 return err=taken`, ""},
		{"taken in a fault", `
			r: 16.9 fault cut on=m1, 16.9 mended
			c2: 17.2 trylock a, 17.3 return err=taken`, ""},
		{"a loss that comes with no hold", `c1: 1.0 lock a deadline=2, 2.0 return err=lost`, ""},
		{"another error, though nobody had it", `c1: 17.0 trylock a, 17.1 return err=noquorum`, ""},
		{"a wait that ends so", `c1: 17.0 lock a, 17.1 return err=taken`, ""},
		{"taken before anybody had it", `
			c2: >17.2 trylock a, >17.3 return err=taken
			c1: 17.4 lock a, 17.5 grant until=20`, "says that a is taken"},
		{"a permit that others have", `
			c1: 17.0 acquire s, 17.1 grant slot=1 until=30
			c2: 24.2 tryacquire s, 24.3 return err=taken`, ""},
		{"taken by one who enters again", `
			c1: 1.0 lock a, 1.1 grant until=3, 1.1 return, 3.0 lost, 3.0 enter a
			c2: 24.2 trylock a, 24.3 return err=taken`, ""},
		{"taken long after one was killed who asked", `
			c1: 10.0 started, 10.0 lock a, 10.1 killed
			c2: >20.2 trylock a, >20.3 return err=taken`, "says that a is taken"},
		{"taken long after one has exited who asked", `
			c1: 10.0 started, 10.0 lock a, 10.1 exited
			c2: >17.2 trylock a, >17.3 return err=taken`, "says that a is taken"},
	})
}

func TestExclusion(t *testing.T) {
	try(t, func(r *record) Check { check, _ := exclusion(r); return check }, []sentence{
		{"two writers", `
			c1: >1.0 lock a, >1.1 grant until=3, 1.1 alive, >1.4 alive, 1.6 alive
			c2: 1.2 lock a, >1.3 grant until=3, >1.5 alive
			r: 1.7 fault cut on=m1`, "c1 and c2 had a"},
		{"one after the other", `
			c1: 1.0 lock a, 1.1 grant until=3, 1.3 alive
			c2: 1.3 lock a, 1.3 grant until=3, 1.4 alive`, ""},
		{"two names", `
			c1: 1.0 lock a, 1.1 grant until=3, 1.3 alive
			c2: 1.0 lock b, 1.1 grant until=3, 1.3 alive`, ""},
		{"the second is told too late", `
			c1: 1.0 lock a, 1.2 grant until=3, 1.4 alive
			c2: 1.1 lock a, 1.3 grant until=1`, ""},
		{"readers", `
			c1: 1.0 rlock a, 1.1 grant until=3 shared, 1.3 alive
			c2: 1.0 rlock a, 1.1 grant until=3 shared, 1.3 alive`, ""},
		{"a reader beside a writer", `
			c1: >1.0 rlock a, >1.1 grant until=3 shared, >1.3 alive
			c2: 1.0 lock a, >1.2 grant until=3, >1.4 alive`, "c1 and c2 had a"},
		{"a downgrade lets readers in", `
			c1: 1.0 lock a, 1.1 grant until=3, 1.3 downgrade, 1.5 alive
			c2: 1.2 rlock a, 1.4 grant until=3 shared, 1.5 alive`, ""},
		{"a reader before the downgrade", `
			c1: >1.0 lock a, >1.1 grant until=3, 1.4 downgrade, >1.5 alive
			c2: 1.2 rlock a, >1.3 grant until=3 shared, >1.5 alive`, "for at least 100ms"},
		{"a writer beside one that is a reader by now", `
			c1: >1.0 lock a, >1.1 grant until=3, 1.3 downgrade, >1.5 alive
			c2: 1.2 lock a, >1.4 grant until=3, >1.5 alive`, "for at least 100ms"},
		{"slots", `
			c1: 1.0 acquire s, 1.1 grant slot=1 until=3, 1.3 alive
			c2: 1.0 acquire s, 1.1 grant slot=2 until=3, 1.3 alive`, ""},
		{"more slots than permits", `
			c1: 1.0 acquire s permits=2, 1.1 grant slot=1 until=3
			c2: 1.0 acquire s permits=2, 1.1 grant slot=2 until=3
			c3: >1.0 tryacquire s permits=2, >1.2 grant slot=3 until=3`, "c3 has s, slot 3, and asked for one of 2"},
		{"one slot", `
			c1: >1.0 acquire s, >1.1 grant slot=1 until=3, >1.3 alive
			c2: 1.0 acquire s, >1.2 grant slot=1 until=3, >1.3 alive`, "s, slot 1"},
		{"with what was done to masters and the two then", `
			c0: 0.7 started, 1.2 stopped
			c1: 0.7 started, >1.0 lock a, >1.1 grant until=3, >1.2 stopped, >1.4 alive, >1.6 continued
			r: 0.5 fault cut on=m1, 0.6 mended, >0.7 fault pause on=m1, >1.1 mended
			c2: 1.2 lock a, >1.3 grant until=3, >1.5 alive`, "had a"},
		{"a master forgot", `
			c1: >1.0 lock a, >1.1 grant until=3, >1.4 alive
			r: >1.2 fault flushall on=m1 forgets, >1.2 mended
			c2: 1.2 lock a, >1.3 grant until=3, >1.5 alive`, "unpromised: had a"},
		{"a master forgot before both asked", `
			r: 0.9 fault flushall on=m1 forgets, 0.9 mended
			c1: >1.0 lock a, >1.1 grant until=3, >1.4 alive
			c2: 1.2 lock a, >1.3 grant until=3, >1.5 alive`, "had a"},
		{"a master forgot long ago", `
			c1: >1.0 lock a, >1.1 grant until=3, >6.4 alive until=9
			r: >1.2 fault flushall on=m1 forgets, >1.2 mended
			c2: 6.2 lock a, >6.3 grant until=9, >6.5 alive`, "had a"},
		{"a master forgot when both had it already", `
			c1: >1.0 lock a, >1.1 grant until=3, >1.4 alive
			c2: 1.2 lock a, >1.3 grant until=3, >1.5 alive
			r: >1.35 fault flushall on=m1 forgets, >1.35 mended`, "had a"},
		{"the vote of the second was forgotten", `
			c1: >1.2 lock a, >1.3 grant until=3, >1.5 alive
			c2: 1.0 lock a, >1.4 grant until=3, >1.5 alive
			r: 1.1 fault eviction on=m1 forgets, 1.15 mended`, "unpromised: had a"},
		{"a master forgot before the second asked", `
			c1: >1.0 lock a, >1.1 grant until=3, >1.4 alive
			r: >1.15 fault flushall on=m1 forgets, >1.15 mended
			c2: 1.2 lock a, >1.3 grant until=3, >1.5 alive`, "unpromised: had a"},
		{"a master forgot as long ago as a vote lasts", `
			c1: >1.0 lock a, >1.1 grant until=3, >6.4 alive until=9
			r: >1.265 fault flushall on=m1 forgets, >1.265 mended
			c2: 6.2 lock a, >6.3 grant until=9, >6.5 alive`, "unpromised: had a"},
		{"a master forgot just before that", `
			c1: >1.0 lock a, >1.1 grant until=3, >6.4 alive until=9
			r: >1.255 fault flushall on=m1 forgets, >1.255 mended
			c2: 6.2 lock a, >6.3 grant until=9, >6.5 alive`, "had a"},
		{"a master forgot when it was mended", `
			c1: >1.0 lock a, >1.1 grant until=3, >1.4 alive
			r: >1.15 fault clock-back on=m1, >1.25 mended forgets from=1.25
			c2: 1.2 lock a, >1.3 grant until=3, >1.5 alive`, "unpromised: had a"},
		{"the first of several masters forgot when it was mended", `
			c1: >1.0 lock a, >1.1 grant until=3, >1.4 alive
			r: >1.15 fault clock-back on=m1+m2, >1.45 mended forgets from=1.25
			c2: 1.2 lock a, >1.3 grant until=3, >1.5 alive`, "unpromised: had a"},
		{"a master was not mended yet, and forgets only then", `
			c1: >1.0 lock a, >1.1 grant until=3, >1.4 alive
			r: >1.15 fault clock-back on=m1, >1.35 mended forgets from=1.35
			c2: 1.2 lock a, >1.3 grant until=3, >1.5 alive`, "had a"},
		{"the masters were mended one after the other, and the last too long ago", `
			c1: >1.0 lock a, >1.1 grant until=3, >6.4 alive until=9
			r: >1.15 fault clock-back on=m1+m2, >1.255 mended forgets from=1.2
			c2: 6.2 lock a, >6.3 grant until=9, >6.5 alive`, "had a"},
		{"a master that forgets when it is mended is not mended", `
			c1: >1.0 lock a, >1.1 grant until=3, >1.4 alive
			r: >1.15 fault clock-back on=m1
			c2: 1.2 lock a, >1.3 grant until=3, >1.5 alive`, "had a"},
		{"what was done until the last of the looks that show it", `
			c1: >1.0 lock a, >1.1 grant until=3, >1.6 alive
			c2: 1.2 lock a, >1.3 grant until=3, >1.4 alive
			r: >1.5 fault cut on=m1`, "had a at the same time for at least 100ms"},
		{"the first was valid for less", `
			c1: >1.0 lock a, >1.1 grant until=3, >1.4 alive
			c2: 1.2 lock a, >1.3 grant until=3, >1.6 alive`, "for at least 100ms"},
	})
}

func TestLoss(t *testing.T) {
	try(t, loss, []sentence{
		{"given back", `c1: 1.0 lock a, 1.1 grant until=3, 2.9 unlock`, ""},
		{"told in time", `c1: 1.0 lock a, 1.1 grant until=3, 3.03 lost, 4.0 unlock`, ""},
		{"told late", `
			c1: 1.0 lock a, 1.1 grant until=3, >1.2 alive until=3.2,
				>3.26 lost`, "valid until 3.2s, of which it was told, 60ms later"},
		{"told when it ran again", `
			c1: 1.0 started, 1.0 lock a, 1.1 grant until=3, 2.0 stopped, 4.0 continued, 4.1 stall from=1.9, 4.12 lost`, ""},
		{"told long after it ran again", `
			c1: 1.0 started, 1.0 lock a, >1.1 grant until=3, >2.0 stopped, >4.0 continued, >4.1 stall from=1.9,
				>4.14 lost`, "1.14s later"},
		{"not told", `c1: 1.0 started, 1.0 lock a, >1.1 grant until=3, 4.0 exited`, "not told at all, 1s later"},
		{"killed before", `
			c1: 1.0 started, 1.0 lock a, 1.1 grant until=3, 2.0 killed
			r: 5.0 over`, ""},
		{"not told before it unlocked", `
			c1: 1.0 lock a, >1.1 grant until=3, >3.1 unlock`, "not told before it unlocked, 100ms later"},
		{"valid beyond its end", `
			c1: 1.0 lock a, 1.1 grant until=3, >3.002 alive, 3.01 unlock`, "had not ended 2ms after its validity"},
		{"granted when it was over", `c1: 1.0 lock a, 3.01 grant until=3, 3.02 lost`, ""},
		{"valid again", `
			c1: 1.0 lock a, 1.1 grant until=3, >1.2 lost, >1.3 alive, 1.4 unlock`, "was lost, and had not ended 100ms later"},
		{"told a little late", `c1: 1.0 lock a, >1.1 grant until=3, >3.032 lost`, "told, 32ms later"},
		{"the run ends meanwhile", `
			c1: 1.0 started, 1.0 lock a, 1.1 grant until=3
			r: 2.0 over`, ""},
		{"told late, after it had unlocked late", `
			c1: 1.0 lock a, >1.1 grant until=3, >3.1 unlock, 3.2 lost`, "not told before it unlocked, 100ms later"},
		{"told late, after it had unlocked in time", `c1: 1.0 lock a, 1.1 grant until=3, 3.02 unlock, 3.05 lost`, ""},
		{"killed long after it had been stopped", `
			c1: 1.0 started, 1.0 lock a, >1.1 grant until=3, 2.0 stopped, 2.1 continued, 5.0 lock b,
				5.0 killed`, "not told at all, 2s later"},
		{"killed, without a word since it had been stopped", `
			c1: 1.0 started, 1.0 lock a, 1.1 grant until=3, 2.0 stopped, 2.1 continued, 5.0 killed`, ""},
		{"valid at its end, for as long as it takes to ask", `
			c1: 1.0 lock a, 1.1 grant until=3, 3.001 alive, 3.01 unlock`, ""},
		{"stalls within each other count once", `
			c1: 1.0 started, 1.0 lock a, >1.1 grant until=3, >3.5 stall from=3.4, >3.6 stall from=2.9,
				>3.64 lost`, "640ms later"},
		{"stalls that overlap", `
			c1: 1.0 started, 1.0 lock a, 1.1 grant until=3, 3.5 stall from=2.9, 3.6 stall from=3.4, 3.63 lost`, ""},
	})
}

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

func TestTokens(t *testing.T) {
	try(t, tokens, []sentence{
		{"growing", `
			c1: 1.0 lock a, 1.1 grant token=5 until=3
			c2: 1.2 lock a, 1.3 grant token=6 until=3`, ""},
		{"a smaller one", `
			c1: 1.0 lock a, >1.1 grant token=5 until=3
			c2: >1.2 lock a, >1.3 grant token=4 until=3`, "c1 has token 5, c2 asked later, and has 4"},
		{"a smaller one of what a client kept, though a master forgot it", `
			c2: 0.1 started keep=1, >1.2 lock a, >1.3 grant token=4 until=3
			r: 0.9 fault flushall on=m1 forgets, 0.95 mended
			c1: 1.0 lock a, >1.1 grant token=5 until=3`, "unpromised: c1 has token 5, c2 asked later, and has 4"},
		{"a smaller one of what a client kept, though none forgot it", `
			c2: 0.1 started keep=1, >1.2 lock a, >1.3 grant token=4 until=3
			c1: 1.0 lock a, >1.1 grant token=5 until=3`, "c1 has token 5, c2 asked later, and has 4"},
		{"in any order where both asked before", `
			c2: 1.1 lock a, 1.3 grant token=4 until=3
			c1: 1.0 lock a, 1.1 grant token=5 until=3`, ""},
		{"of two names", `
			c1: 1.0 lock a, 1.1 grant token=5 until=3
			c2: 1.2 lock b, 1.3 grant token=4 until=3`, ""},
		{"of two slots", `
			c1: 1.0 acquire s, 1.1 grant slot=1 token=5 until=3
			c2: 1.2 acquire s, 1.3 grant slot=2 token=4 until=3`, ""},
		{"one twice", `
			c1: 1.0 lock a, >1.1 grant token=5 until=3
			c2: >1.0 lock a, >1.3 grant token=5 until=3`, "c2 has the same 5"},
		{"a reader with that of the writer before", `
			c1: 1.0 lock a, 1.1 grant token=5 until=3
			c2: 1.2 rlock a, 1.3 grant token=5 shared until=3
			c3: 1.4 rlock a, 1.5 grant token=5 shared until=3`, ""},
		{"a reader with that of a hold that was forgotten", `
			c1: 0.8 lock a, 0.9 grant token=4 until=9
			r: 0.92 fault flushall on=m1 forgets, 0.95 mended
			c2: 1.0 lock a, >1.1 grant token=5 until=3
			c3: >1.2 rlock a,
				>1.3 grant token=4 shared until=3`, "unpromised: c2 has token 5, c3 asked later, to read, and has 4"},
		{"a reader with that of a hold that was not", `
			c1: 0.8 lock a, 0.9 grant token=4 until=9
			c2: 1.0 lock a, >1.1 grant token=5 until=3
			c3: >1.2 rlock a, >1.3 grant token=4 shared until=3`, "c2 has token 5, c3 asked later, to read, and has 4"},
		{"a reader with less than the writer before", `
			c1: 1.0 lock a, >1.1 grant token=5 until=3
			c2: >1.2 rlock a, >1.3 grant token=4 shared until=3`, "asked later, to read, and has 4"},
		{"readers in any order", `
			c1: 1.0 rlock a, 1.1 grant token=5 shared until=3
			c2: 1.2 rlock a, 1.3 grant token=4 shared until=3`, ""},
		{"a writer with that of the reader before", `
			c1: 1.0 rlock a, >1.1 grant token=5 shared until=3
			c2: >1.2 lock a, >1.3 grant token=5 until=3`, "c2 asked later, and has 5"},
		{"a smaller one than the largest before", `
			c1: 1.0 lock a, >1.1 grant token=7 until=3
			c2: 1.0 lock a, 1.2 grant token=5 until=3
			c3: >1.3 lock a, >1.4 grant token=6 until=3`, "c1 has token 7, c3 asked later, and has 6"},
		{"a reader with less than the largest of the writers before", `
			c1: 1.0 lock a, >1.1 grant token=7 until=3
			c2: 1.0 lock a, 1.2 grant token=5 until=3
			c3: >1.3 rlock a, >1.4 grant token=6 shared until=3`, "c1 has token 7, c3 asked later, to read, and has 6"},
		{"one twice, the second asked later", `
			c1: 1.0 lock a, >1.1 grant token=5 until=3
			c2: >1.2 lock a, >1.3 grant token=5 until=3`, "c2 has the same 5"},
		{"the second of three", `
			c1: 1.0 lock a, 1.1 grant token=4 until=3
			c2: 1.2 lock a, >1.3 grant token=6 until=3
			c3: >1.4 lock a, >1.5 grant token=3 until=3`, "c2 has token 6, c3 asked later, and has 3"},
		{"a reader after two writers", `
			c1: 1.0 lock a, 1.1 grant token=4 until=3
			c2: 1.2 lock a, >1.3 grant token=6 until=3
			c3: >1.4 rlock a, >1.5 grant token=4 shared until=3`, "c2 has token 6, c3 asked later, to read, and has 4"},
		{"of two who waited", `
			c1: 1.0 lock a, 1.3 grant token=6 until=3, 1.4 alive
			c2: 1.0 lock a, 1.1 grant token=5 until=3, 1.2 alive`, ""},
		{"the later of two who waited has the smaller one", `
			c1: 1.0 lock a, >1.3 grant token=4 until=3, >1.4 alive
			c2: 1.0 lock a, >1.1 grant token=5 until=3, 1.2 alive
			c3: 1.5 lock a, 1.6 grant token=6 until=3, 1.7 alive`, "c2 has token 5, c1 had it later, and has 4"},
		{"the later of two was told late that it had it", `
			c1: 1.0 lock a, 1.3 grant token=4 until=1.05
			c2: 1.0 lock a, 1.1 grant token=5 until=3, 1.2 alive`, ""},
		{"a writer who came while another had it", `
			c1: 1.0 lock a, >1.1 grant token=5 until=3, >1.4 alive
			c2: 1.0 lock a, >1.3 grant token=6 until=3`, "c2 has token 6, c1 had it later, and has 5"},
		{"a reader who waited, with that of the writer before the last", `
			c3: 1.0 rlock a, >1.5 grant token=5 shared until=3, >1.6 alive
			c1: 1.0 lock a, 1.1 grant token=5 until=3, 1.2 alive
			c2: 1.2 lock a, >1.3 grant token=6 until=3, 1.4 alive`, "c2 has token 6, c3 had it later, and has 5"},
		{"a reader after a downgrade", `
			c1: 1.0 lock a, 1.1 grant token=5 until=3, 1.3 downgrade, 1.5 alive
			c2: 1.2 rlock a, 1.4 grant token=5 shared until=3, 1.6 alive`, ""},
		{"a reader before the downgrade", `
			c1: 1.0 lock a, >1.1 grant token=5 until=3, 1.4 downgrade, >1.5 alive
			c2: 1.2 rlock a, >1.3 grant token=5 shared until=3, 1.5 alive`, "c2 has token 5, c1 had it later, and has 5"},
		{"a writer beside one that is a reader by now", `
			c1: 1.0 lock a, >1.1 grant token=5 until=3, 1.3 downgrade, >1.5 alive
			c2: 1.0 lock a, >1.4 grant token=6 until=3`, "c2 has token 6, c1 had it later, and has 5"},
		{"two whom nobody promised to exclude", `
			c1: 1.0 lock a, 1.1 grant token=5 until=3, 1.5 alive
			r: 1.2 fault flushall on=m1 forgets
			c2: 1.3 lock a, 1.4 grant token=6 until=3, 1.5 alive`, ""},
		{"two whom nobody promised to exclude, but their tokens", `
			c1: 1.0 lock a, >1.1 grant token=5 until=3, 1.5 alive
			r: >1.2 fault flushall on=m1 forgets
			c2: >1.3 lock a, >1.4 grant token=4 until=3, 1.5 alive`, "c1 has token 5, c2 asked later, and has 4"},
		{"a master forgot before the first in the order was told that it had it", `
			c1: 1.0 lock a, 1.3 grant token=5 until=3, 1.4 alive
			c2: 1.0 lock a, 1.1 grant token=6 until=3, 1.4 alive
			r: 1.2 fault flushall on=m1 forgets`, ""},
	})
}
