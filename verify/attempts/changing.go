package main

// changing has clients of before and of after a change of the set of masters, where the last master is
// added or removed.
func (t *table) changing() {
	of := func(name string, sets [][]int) family {
		return t.family("changing/"+name, "", Case{Sets: sets, Delay: 1, Lease: 12})
	}
	any := Case{Starts: true}
	threeAndTwo := [][]int{{0, 1, 2}, {0, 1}}
	for _, c := range []struct {
		family
		daily, renewed, again fault // that are searched by day
	}{
		{of("3 and 2", threeAndTwo), often, often &^ late, loseHandOff | crash},
		{of("2 and 1", [][]int{{0, 1}, {0}}), often, often &^ late, loseHandOff | crash | restart},
		{of("3 and 4", [][]int{{0, 1, 2}, {0, 1, 2, 3}}), often, often &^ late, loseHandOff | crash},
		{of("5 and 4", [][]int{{0, 1, 2, 3, 4}, {0, 1, 2, 3}}), 0, crash, 0},
	} {
		c.add("", any)
		c.faults(", ", any, c.daily)
		c.faults(", renewed, ", any.with(Case{Watch: true}), c.renewed)
		for _, f := range faultNames {
			if f.kind == freezeLink {
				continue // too many states
			}
			c.add(", tokens, one comes again, "+f.name, any.once(f.kind).with(Case{
				Tokens: true, Comes: 1, Clocks: f.kind&(restart|older) != 0, Nightly: f.kind&c.again == 0,
			}))
		}
	}
	of("3, 3 and 2", [][]int{{0, 1, 2}, {0, 1, 2}, {0, 1}}).add("", Case{}.once(crash))
	of("3, 2 and 2", [][]int{{0, 1, 2}, {0, 1}, {0, 1}}).add("", Case{}.once(crash))
	any = any.once(crash | restart)
	of("3 and 2, shared", threeAndTwo).add("", any.with(Case{Roles: "WR"}))
	t.atOnce()
	t.routes()
}

// routes has names move from one set of masters to another, by way of both: processes with the old set, with
// both, and with the new one.
func (t *table) routes() {
	few, most := loseHandOff|restart|crash|giveUp, ^(freezeLink | older)
	for _, c := range []struct {
		name  string
		Case        // with the sets of the halves, and of the others
		daily fault // that are searched by day
	}{
		{"old, both and new", Case{Pairs: 1, Sets: [][]int{{0}, {1}, {0}, {1}}, Clocks: true}, few},
		{"both and both", Case{Pairs: 2, Sets: [][]int{{0}, {1}, {0}, {1}}}, most},
		{"old and both, 3 and 1", Case{Pairs: 1, Sets: [][]int{{0, 1, 2}, {3}, {0, 1, 2}}}, few},
		{"both and new, 1 and 3", Case{Pairs: 1, Sets: [][]int{{0}, {1, 2, 3}, {1, 2, 3}}}, few},
	} {
		f := t.family("changing/"+c.name, "", c.with(Case{Delay: 1, Lease: 12, Starts: true, Tokens: true, Watch: true}))
		f.add("", Case{})
		f.add(", one comes again", Case{Comes: 1})
		for _, of := range faultNames {
			f.add(", "+of.name, Case{Clocks: of.kind&(restart|older) != 0, Nightly: of.kind&c.daily == 0}.once(of.kind))
		}
	}
}

// atOnce has one master take the place of another in one step, or two sets. Some of that is unsafe.
func (t *table) atOnce() {
	f := t.family("changing/", "", Case{Delay: 1, Lease: 12, Starts: true})
	unsafe := Case{Unsafe: true}
	f.add("one for another of 3", unsafe.with(Case{Sets: [][]int{{0, 1, 2}, {0, 1, 3}}}))
	f.add("two steps at a time", unsafe.with(Case{Sets: [][]int{{0, 1, 2}, {0, 1, 2, 3}, {0, 1, 3}}}))
	f.add("old, both and new at once", unsafe.with(Case{Sets: [][]int{{0}, {1}, {0}, {1}}, Pairs: 1}))
	f.add("one for another of 4", Case{Sets: [][]int{{0, 1, 2, 3}, {0, 1, 2, 4}}})
	dead := Case{Dead: 1} // and it was when all began
	f.add("one for another of 3, which is dead", dead.with(Case{Sets: [][]int{{0, 1, 2}, {1, 2, 3}}}))
	f.add("3 and 2, the third is dead", dead.with(Case{Sets: [][]int{{0, 1, 2}, {1, 2}}}))
}
