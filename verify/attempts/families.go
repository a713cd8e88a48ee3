package main

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
