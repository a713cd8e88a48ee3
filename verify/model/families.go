package main

import "fmt"

// shared has readers beside writers. They stand in the queue in their order, so who comes first matters.
func (t *table) shared() {
	of := func(roles string) family {
		return t.family("shared/"+roles, "", Case{Masters: 3, Roles: roles, Delay: 1, Lease: 12})
	}
	any := Case{Starts: true}
	renewed, tokens := any.with(Case{Watch: true}), any.with(Case{Tokens: true})
	for _, roles := range []string{"RW", "WR", "RR"} {
		f := of(roles)
		f.add("", any)
		f.add(", one comes again", any.with(Case{Comes: 1}))
		f.add(", clocks differ", any.with(Case{Drift: true}))
		f.faults(", ", any, always)
		f.faults(", renewed, ", renewed.with(Case{Nightly: roles == "RW"}), ^freezeLink)
	}
	down := any.with(Case{Downgrade: true})
	of("WR").faults(", downgrade, ", down, ^freezeLink)
	of("WR").faults(", downgrade, renewed, ", renewed.with(down), ^(freezeLink | breakConn | doubled | older | sleep))
	of("WW").faults(", downgrade, ", down, 0)
	of("RW").faults(", tokens, ", tokens, ^freezeLink)
	of("WR").faults(", tokens, ", tokens, crash|restart|late)
	of("WR").faults(", tokens, one comes again, ", tokens.with(Case{Comes: 1}), often)
	daily := map[string]fault{"RRW": ^freezeLink, "RWR": loseHandOff | crash | giveUp | restart, "WRR": loseHandOff | crash | giveUp}
	for _, roles := range []string{"RRW", "RWR", "WRR", "WRW", "RWW", "WWR"} {
		f := of(roles)
		f.add("", Case{})
		f.add(", at any time", Case{Starts: true, Nightly: roles != "RWR"})
		f.add(", a master is dead", Case{Dead: 1})
		f.add(", further away", Case{Delay: 3, Lease: 24, Nightly: roles != "RWR"})
		f.add(", tokens", Case{Tokens: true})
		f.faults(", ", Case{}, daily[roles])
	}
}

// slots has callers who want a permit of a semaphore each. Those who want the same slot first give way to
// one another for long, so most begin with slots of their own.
func (t *table) slots() {
	f := t.family("slots/", "", Case{Masters: 3, Delay: 1, Lease: 12})
	one := Case{Callers: 2, Permits: 1, Starts: true}
	theSame := Case{Callers: 3, Permits: 2}
	three := theSame.with(Case{Spread: true})
	f.add("two", one.with(Case{Permits: 2}))
	f.add("two for one", one)
	f.add("three", three)
	f.add("three at any time", three.with(Case{Starts: true}))
	// Two bids cross, and a third waits: whatever one of them gives back, another one gets crossed.
	f.add("three, a master is dead", three.with(Case{Dead: 1, Nightly: true}))
	f.add("three, further away", three.with(Case{Delay: 3, Lease: 24}))
	f.add("three, the same first", theSame.with(Case{Nightly: true}))
	f.add("four", three.with(Case{Callers: 4, Nightly: true}))
	f.add("three, one of whom believes in one", three.with(Case{Fewer: 1}))
	f.add("two wait, one tries", three.with(Case{Tries: 1}))
	f.add("one waits, two try", three.with(Case{Tries: 2}))
	f.add("three, five masters", three.with(Case{Masters: 5, Nightly: true}))
	// Two bids cross, and need each other's votes: one has to give way.
	for d := 1; d <= 2; d++ {
		two := one.with(Case{Permits: 2, Dead: 1, Delay: d, Lease: 24})
		f.add(fmt.Sprint("two, a master is dead/", d), two)
		f.add(fmt.Sprint("two, a master is dead, distance known/", d), two.with(Case{Trip: 2 * d}))
	}
	drift, tokens, renewed := Case{Drift: true}, Case{Tokens: true}, Case{Watch: true}
	f.faults("two for one, ", one, ^freezeLink)
	f.faults("two for one, clocks differ, ", one.with(drift), ^freezeLink)
	f.faults("two for one, tokens, ", one.with(tokens), ^freezeLink)
	f.faults("two for one, renewed, ", one.with(renewed), ^(freezeLink | breakConn | doubled | older | sleep))
	f.add("three, renewed", three.with(renewed))
	f.faults("three, ", three, loseHandOff|crash|giveUp)
	f.faults("three, renewed, ", three.with(renewed), loseHandOff|crash|giveUp)
	f.faults("three, clocks differ, ", three.with(drift), crash)
	f.faults("three, tokens, ", three.with(tokens), crash)
}
