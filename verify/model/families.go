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
	for _, roles := range []string{"RW", "WR", "RR"} {
		any := Case{Starts: true}
		add(roles, "", any)
		again := any
		again.Comes = 1
		add(roles, ", one comes again", again)
		drift := any
		drift.Drift = true
		add(roles, ", clocks differ", drift)
		for _, f := range faultNames {
			add(roles, ", "+f.name, any.with(f.kind))
			renewed := any
			renewed.Watch, renewed.Nightly = true, f.kind == freezeLink || roles == "RW"
			add(roles, ", renewed, "+f.name, renewed.with(f.kind))
		}
	}
	for _, f := range faultNames {
		down := Case{Starts: true, Downgrade: true, Nightly: f.kind == freezeLink}
		add("WR", ", downgrade, "+f.name, down.with(f.kind))
		down.Watch, down.Nightly = true, f.kind&(freezeLink|breakConn|doubled|older|sleep) != 0
		add("WR", ", downgrade, renewed, "+f.name, down.with(f.kind))
		down.Watch, down.Nightly = false, true
		add("WW", ", downgrade, "+f.name, down.with(f.kind))
		tokens := Case{Starts: true, Tokens: true, Nightly: f.kind == freezeLink}
		add("RW", ", tokens, "+f.name, tokens.with(f.kind))
		tokens.Nightly = f.kind&(crash|restart|late) == 0
		add("WR", ", tokens, "+f.name, tokens.with(f.kind))
		tokens.Comes, tokens.Nightly = 1, f.kind&(loseHandOff|giveUp|crash|restart|late) == 0
		add("WR", ", tokens, one comes again, "+f.name, tokens.with(f.kind))
	}
	for _, roles := range []string{"RRW", "RWR", "WRR", "WRW", "RWW", "WWR"} {
		add(roles, "", Case{})
		add(roles, ", at any time", Case{Starts: true, Nightly: roles != "RWR"})
		add(roles, ", a master is dead", Case{Dead: 1})
		add(roles, ", further away", Case{Delay: 3, Lease: 24, Nightly: roles != "RWR"})
		add(roles, ", tokens", Case{Tokens: true})
		for _, f := range faultNames {
			k := Case{Nightly: f.kind == freezeLink}
			switch roles {
			case "RRW":
			case "RWR":
				k.Nightly = f.kind&(loseHandOff|crash|giveUp|restart) == 0
			case "WRR":
				k.Nightly = f.kind&(loseHandOff|crash|giveUp) == 0
			default:
				k.Nightly = true
			}
			add(roles, ", "+f.name, k.with(f.kind))
		}
	}
}

// with has one thing of a kind go wrong.
func (k Case) with(kinds fault) Case {
	k.Faults, k.Kinds, k.Late = 1, kinds, 3
	return k
}

// slots has callers who want a permit of a semaphore each. Those who want the same slot first give way to
// one another for long, so most begin with slots of their own.
func (t *table) slots() {
	one := Case{Masters: 3, Callers: 2, Permits: 1, Delay: 1, Lease: 12, Starts: true}
	three := Case{Masters: 3, Callers: 3, Permits: 2, Spread: true, Delay: 1, Lease: 12}
	add := func(name string, k Case) { t.add("slots/"+name, k) }
	k := one
	k.Permits = 2
	add("two", k)
	add("two for one", one)
	add("three", three)
	k = three
	k.Starts = true
	add("three at any time", k)
	// Two bids cross, and a third waits: whatever one of them gives back, another one gets crossed.
	k = three
	k.Dead, k.Nightly = 1, true
	add("three, a master is dead", k)
	k = three
	k.Delay, k.Lease = 3, 24
	add("three, further away", k)
	k = three
	k.Spread, k.Nightly = false, true
	add("three, the same first", k)
	k = three
	k.Callers, k.Nightly = 4, true
	add("four", k)
	k = three
	k.Fewer = 1
	add("three, one of whom believes in one", k)
	k = three
	k.Tries = 1
	add("two wait, one tries", k)
	k = three
	k.Tries = 2
	add("one waits, two try", k)
	k = three
	k.Masters, k.Nightly = 5, true
	add("three, five masters", k)
	// Two bids cross, and need each other's votes: one has to give way.
	for d := 1; d <= 2; d++ {
		k = one
		k.Permits, k.Dead, k.Delay, k.Lease = 2, 1, d, 24
		add(fmt.Sprintf("two, a master is dead/%d", d), k)
		k.Trip = 2 * d
		add(fmt.Sprintf("two, a master is dead, distance known/%d", d), k)
	}
	k = three
	k.Watch = true
	add("three, renewed", k)
	for _, f := range faultNames {
		k := one
		k.Nightly = f.kind == freezeLink
		add("two for one, "+f.name, k.with(f.kind))
		k.Drift = true
		add("two for one, clocks differ, "+f.name, k.with(f.kind))
		k.Drift, k.Tokens = false, true
		add("two for one, tokens, "+f.name, k.with(f.kind))
		k.Tokens, k.Watch, k.Nightly = false, true, f.kind&(freezeLink|breakConn|doubled|older|sleep) != 0
		add("two for one, renewed, "+f.name, k.with(f.kind))
		k = three
		k.Nightly = f.kind&(loseHandOff|crash|giveUp) == 0
		add("three, "+f.name, k.with(f.kind))
		k.Watch = true
		add("three, renewed, "+f.name, k.with(f.kind))
		k.Watch, k.Nightly = false, f.kind != crash
		k.Drift = true
		add("three, clocks differ, "+f.name, k.with(f.kind))
		k.Drift, k.Tokens = false, true
		add("three, tokens, "+f.name, k.with(f.kind))
	}
}
