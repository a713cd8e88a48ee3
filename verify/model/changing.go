package main

// changing has clients of before and of after a change of the set of masters, where the last master is
// added or removed.
func (t *table) changing() {
	add := func(name string, sets [][]int, k Case) {
		k.Callers, k.Sets, k.Delay, k.Lease = len(sets), sets, 1, 12
		for _, set := range sets {
			k.Masters = max(k.Masters, set[len(set)-1]+1)
		}
		t.add("changing/"+name, k)
	}
	any := Case{Starts: true}
	for _, c := range []struct {
		name string
		sets [][]int
	}{
		{"3 and 2", [][]int{{0, 1, 2}, {0, 1}}},
		{"2 and 1", [][]int{{0, 1}, {0}}},
		{"3 and 4", [][]int{{0, 1, 2}, {0, 1, 2, 3}}},
		{"5 and 4", [][]int{{0, 1, 2, 3, 4}, {0, 1, 2, 3}}},
	} {
		add(c.name, c.sets, any)
		for _, f := range faultNames {
			five, one := len(c.sets[0]) == 5, any.once(f.kind)
			nightly := five || f.kind&(loseHandOff|restart|crash|giveUp|late) == 0
			add(c.name+", "+f.name, c.sets, one.with(Case{Nightly: nightly}))
			nightly = f.kind&(restart|crash|giveUp|loseHandOff) == 0 || five && f.kind != crash
			add(c.name+", renewed, "+f.name, c.sets, one.with(Case{Watch: true, Nightly: nightly}))
			if f.kind == freezeLink {
				continue // too many states
			}
			smallest := f.kind == restart && c.name == "2 and 1"
			add(c.name+", tokens, one comes again, "+f.name, c.sets, one.with(Case{
				Tokens: true, Comes: 1, Clocks: f.kind&(restart|older) != 0,
				Nightly: five || f.kind&(loseHandOff|crash) == 0 && !smallest,
			}))
		}
	}
	three := Case{}.once(crash)
	add("3, 3 and 2", [][]int{{0, 1, 2}, {0, 1, 2}, {0, 1}}, three)
	add("3, 2 and 2", [][]int{{0, 1, 2}, {0, 1}, {0, 1}}, three)
	any = any.once(crash | restart)
	add("3 and 2, shared", [][]int{{0, 1, 2}, {0, 1}}, any.with(Case{Roles: "WR"}))
	add("3 and 2, slots", [][]int{{0, 1, 2}, {0, 1}}, any.with(Case{Permits: 1}))
	t.atOnce(add)
	t.routes(add)
}

// routes has names move from one set of masters to another, by way of both: processes with the old set, with
// both, and with the new one.
func (t *table) routes(add func(string, [][]int, Case)) {
	for _, c := range []struct {
		name  string
		pairs int
		sets  [][]int // of the halves, and of the others
	}{
		{"old, both and new", 1, [][]int{{0}, {1}, {0}, {1}}},
		{"both and both", 2, [][]int{{0}, {1}, {0}, {1}}},
		{"old and both, 3 and 1", 1, [][]int{{0, 1, 2}, {3}, {0, 1, 2}}},
		{"both and new, 1 and 3", 1, [][]int{{0}, {1, 2, 3}, {1, 2, 3}}},
	} {
		k := Case{Starts: true, Tokens: true, Watch: true, Pairs: c.pairs, Clocks: len(c.sets) == 4 && c.pairs == 1}
		add(c.name, c.sets, k)
		add(c.name+", one comes again", c.sets, k.with(Case{Comes: 1}))
		for _, f := range faultNames {
			add(c.name+", "+f.name, c.sets, k.once(f.kind).with(Case{
				Clocks:  f.kind&(restart|older) != 0,
				Nightly: f.kind&(freezeLink|older) != 0 || c.pairs == 1 && f.kind&(loseHandOff|restart|crash|giveUp) == 0,
			}))
		}
	}
	add("old, both and new at once", [][]int{{0}, {1}, {0}, {1}}, Case{Starts: true, Pairs: 1, Unsafe: true})
}

// atOnce has one master take the place of another in one step.
func (t *table) atOnce(add func(string, [][]int, Case)) {
	unsafe := Case{Starts: true, Unsafe: true}
	add("one for another of 3", [][]int{{0, 1, 2}, {0, 1, 3}}, unsafe)
	add("two steps at a time", [][]int{{0, 1, 2}, {0, 1, 2, 3}, {0, 1, 3}}, unsafe)
	safe, dead := Case{Starts: true}, Case{Starts: true, Dead: 1} // and it was when all began
	add("one for another of 4", [][]int{{0, 1, 2, 3}, {0, 1, 2, 4}}, safe)
	add("one for another of 3, which is dead", [][]int{{0, 1, 2}, {1, 2, 3}}, dead)
	add("3 and 2, the third is dead", [][]int{{0, 1, 2}, {1, 2}}, dead)
}
