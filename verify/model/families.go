package main

import "fmt"

// shared has readers beside writers. They stand in the queue in their order, so who comes first matters.
func (t *table) shared() {
	add := func(roles, name string, k Case) {
		k.Masters, k.Callers, k.Roles = 3, len(roles), roles
		if k.Delay == 0 {
			k.Delay, k.Lease = 1, 12
		}
		t.add("shared/"+roles+name, k)
	}
	any := Case{Starts: true}
	for _, roles := range []string{"RW", "WR", "RR"} {
		add(roles, "", any)
		add(roles, ", one comes again", any.with(Case{Comes: 1}))
		add(roles, ", clocks differ", any.with(Case{Drift: true}))
		for _, f := range faultNames {
			add(roles, ", "+f.name, any.once(f.kind))
			renewed := Case{Watch: true, Nightly: f.kind == freezeLink || roles == "RW"}
			add(roles, ", renewed, "+f.name, any.once(f.kind).with(renewed))
		}
	}
	for _, f := range faultNames {
		any := any.once(f.kind)
		renewed, frozen := Case{Watch: true}, Case{Nightly: f.kind == freezeLink}
		down, tokens := any.with(Case{Downgrade: true}), any.with(Case{Tokens: true})
		add("WR", ", downgrade, "+f.name, down.with(frozen))
		renewed.Nightly = f.kind&(freezeLink|breakConn|doubled|older|sleep) != 0
		add("WR", ", downgrade, renewed, "+f.name, down.with(renewed))
		add("WW", ", downgrade, "+f.name, down.with(Case{Nightly: true}))
		add("RW", ", tokens, "+f.name, tokens.with(frozen))
		add("WR", ", tokens, "+f.name, tokens.with(Case{Nightly: f.kind&(crash|restart|late) == 0}))
		again := Case{Comes: 1, Nightly: f.kind&(loseHandOff|giveUp|crash|restart|late) == 0}
		add("WR", ", tokens, one comes again, "+f.name, tokens.with(again))
	}
	// By night only: faults of all kinds but these.
	daily := map[string]fault{"RRW": ^freezeLink, "RWR": loseHandOff | crash | giveUp | restart, "WRR": loseHandOff | crash | giveUp}
	for _, roles := range []string{"RRW", "RWR", "WRR", "WRW", "RWW", "WWR"} {
		add(roles, "", Case{})
		add(roles, ", at any time", Case{Starts: true, Nightly: roles != "RWR"})
		add(roles, ", a master is dead", Case{Dead: 1})
		add(roles, ", further away", Case{Delay: 3, Lease: 24, Nightly: roles != "RWR"})
		add(roles, ", tokens", Case{Tokens: true})
		for _, f := range faultNames {
			add(roles, ", "+f.name, Case{Nightly: f.kind&daily[roles] == 0}.once(f.kind))
		}
	}
}

// slots has callers who want a permit of a semaphore each. Those who want the same slot first give way to
// one another for long, so most begin with slots of their own.
func (t *table) slots() {
	add := func(name string, k Case) { t.add("slots/"+name, k) }
	one := Case{Masters: 3, Callers: 2, Permits: 1, Delay: 1, Lease: 12, Starts: true}
	theSame := Case{Masters: 3, Callers: 3, Permits: 2, Delay: 1, Lease: 12}
	three := theSame.with(Case{Spread: true})
	add("two", one.with(Case{Permits: 2}))
	add("two for one", one)
	add("three", three)
	add("three at any time", three.with(Case{Starts: true}))
	// Two bids cross, and a third waits: whatever one of them gives back, another one gets crossed.
	add("three, a master is dead", three.with(Case{Dead: 1, Nightly: true}))
	add("three, further away", three.with(Case{Delay: 3, Lease: 24}))
	add("three, the same first", theSame.with(Case{Nightly: true}))
	add("four", three.with(Case{Callers: 4, Nightly: true}))
	add("three, one of whom believes in one", three.with(Case{Fewer: 1}))
	add("two wait, one tries", three.with(Case{Tries: 1}))
	add("one waits, two try", three.with(Case{Tries: 2}))
	add("three, five masters", three.with(Case{Masters: 5, Nightly: true}))
	// Two bids cross, and need each other's votes: one has to give way.
	for d := 1; d <= 2; d++ {
		two := one.with(Case{Permits: 2, Dead: 1, Delay: d, Lease: 24})
		add(fmt.Sprintf("two, a master is dead/%d", d), two)
		add(fmt.Sprintf("two, a master is dead, distance known/%d", d), two.with(Case{Trip: 2 * d}))
	}
	add("three, renewed", three.with(Case{Watch: true}))
	for _, f := range faultNames {
		one, three := one.once(f.kind), three.once(f.kind)
		add("two for one, "+f.name, one.with(Case{Nightly: f.kind == freezeLink}))
		add("two for one, clocks differ, "+f.name, one.with(Case{Drift: true, Nightly: f.kind == freezeLink}))
		add("two for one, tokens, "+f.name, one.with(Case{Tokens: true, Nightly: f.kind == freezeLink}))
		nightly := f.kind&(freezeLink|breakConn|doubled|older|sleep) != 0
		add("two for one, renewed, "+f.name, one.with(Case{Watch: true, Nightly: nightly}))
		nightly = f.kind&(loseHandOff|crash|giveUp) == 0
		add("three, "+f.name, three.with(Case{Nightly: nightly}))
		add("three, renewed, "+f.name, three.with(Case{Watch: true, Nightly: nightly}))
		add("three, clocks differ, "+f.name, three.with(Case{Drift: true, Nightly: f.kind != crash}))
		add("three, tokens, "+f.name, three.with(Case{Tokens: true, Nightly: f.kind != crash}))
	}
}
