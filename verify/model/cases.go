package main

import (
	"fmt"
	"reflect"
	"slices"
)

// teeth are small cases that together find every broken rule.
var teeth = []string{
	"far/two/1", "far/two, a master is dead/3", "far/three, a master is dead/3", "far/three/3",
	"far/three, a master is dead/4", "far/one waits, one tries/2", "far/one waits, two try/2",
	"far/two in line, one beside/2",
	"freeze/two", "lose/two", "break/two", "double/two", "restart/two", "older/two", "crash/two",
	"give up/two", "force/two", "sleep/two", "sleep/two, one comes again", "give up/two in line, one beside",
	"sleep/one waits, one tries", "slow/two", "late/two",
	"break/two, renewed", "restart/two, renewed", "slow/two, renewed", "force/two, renewed",
	"still/two", "jump/two/6", "jump/one, forced, a master is dead/14", "late/two, clocks differ", "crash/two, clocks differ", "restart/three",
	"shared/RW", "shared/RR, crash", "shared/WRR", "shared/RWR, tokens", "shared/WR, one comes again",
	"shared/RW, tokens, late", "shared/RW, tokens, crash", "shared/WR, downgrade, crash", "shared/WR, downgrade, slow",
	"shared/RR, older", "shared/WR, tokens, one comes again, restart",
	"order/WWRW, downgrade", "changing/both and both", "changing/both and new, 1 and 3", "changing/both and both, force", "kept/two/1", "kept/two, renewed, long, slow", "kept/one keeps, one tries/1",
	"entered/ff, give up", "entered/wf", "entered/fw", "entered/sf", "entered/wl", "entered/twice", "entered/downgrade",
	"token/two/1", "token/two, one comes again, late/1", "token/two, a fault/1", "token/two, one sleeps/1", "token/two, a restart empty/1",
}

// allCases is the table.
func allCases() []*Case {
	var t table
	t.far()
	t.behind()
	t.alone()
	t.still()
	t.jumps()
	t.leases()
	t.deaf()
	t.tokens()
	t.shared()
	t.kept()
	t.order()
	t.entered()
	t.changing()
	t.large()
	return t.cases
}

type table struct{ cases []*Case }

// family adds cases that have some fields in common, as well as the beginning and the end of their names.
type family struct {
	table        *table
	begins, ends string
	common       Case
}

func (t *table) family(begins, ends string, common Case) family {
	return family{t, begins, ends, common}
}

// add adds a case with the fields of the family and those of k.
func (f family) add(name string, k Case) {
	k = f.common.with(k)
	k.Name = f.begins + name + f.ends
	k.Teeth = slices.Contains(teeth, k.Name)
	f.table.cases = append(f.table.cases, k.ready())
}

// faults adds a case for each kind of fault, in which one fault of that kind may happen. Kinds that are not daily are
// for the night.
func (f family) faults(name string, k Case, daily fault) {
	for _, of := range faultNames {
		f.add(name+of.name, k.once(of.kind).with(Case{Nightly: of.kind&daily == 0}))
	}
}

// with returns a case that differs from k in the fields of more that are not zero.
func (k Case) with(more Case) Case {
	from, to := reflect.ValueOf(more), reflect.ValueOf(&k).Elem()
	for i := range from.NumField() {
		if f := from.Field(i); !f.IsZero() {
			to.Field(i).Set(f)
		}
	}
	return k
}

// once returns the case with one fault of those kinds.
func (k Case) once(kinds fault) Case { return k.with(Case{Faults: 1, Kinds: kinds}) }

// faultNames are all kinds of faults of clients, masters and links.
var faultNames = []struct {
	kind fault
	name string
}{
	{freezeLink, "freeze"},
	{loseHandOff, "lose"},
	{breakConn, "break"},
	{doubled, "double"},
	{restart, "restart"},
	{older, "older"},
	{crash, "crash"},
	{giveUp, "give up"},
	{force, "force"},
	{sleep, "sleep"},
	{slow, "slow"},
	{late, "late"},
}

// Kinds of faults that many cases have by day.
const (
	always = ^fault(0)
	often  = loseHandOff | crash | giveUp | restart | late
)

// far has no faults. What matters is how far away the masters are: a round trip is shorter than the pause between two
// rounds (delays of 1 and 2), as long (3), or longer (4 and 5).
func (t *table) far() {
	for d := 1; d <= 5; d++ {
		f := t.family("far/", fmt.Sprint("/", d), Case{Masters: 3, Delay: d, Lease: 24})
		two, three := Case{Callers: 2, Starts: true}, Case{Callers: 3}
		known, dead := Case{Trip: 2 * d}, Case{Dead: 1}
		f.add("two", two)
		f.add("two, distance known", two.with(known))
		f.add("two, a master is dead", two.with(dead))
		f.add("three", three)
		f.add("three, a master is dead", three.with(dead))
		f.add("three, distance known", three.with(known))
		f.add("three, each near a master", three.with(Case{Near: true}))
		f.add("three, four masters", three.with(Case{Masters: 4, Nightly: d > 3}))
		f.add("one waits, one tries", two.with(Case{Tries: 1}))
		f.add("one waits, two try", three.with(Case{Tries: 2}))
		f.add("two in line, one beside", two.with(Case{Callers: 3, Line: 2}))
	}
}

// behind has waiters that ask half as often while they stand behind the first, and are handed the lock for twice as
// long.
func (t *table) behind() {
	for d := 1; d <= 2; d++ {
		f := t.family("behind/", fmt.Sprint("/", d), Case{Masters: 3, Callers: 3, Delay: d, Lease: 12, Pause: 3, Far: 6, Late: 2})
		f.add("three", Case{})
		f.add("three, a master is dead", Case{Dead: 1})
		f.add("two wait, one tries", Case{Tries: 1})
		f.add("three, a master is dead, one sleeps", Case{Dead: 1, Nightly: d > 1}.once(sleep))
		f.faults("three, ", Case{Nightly: d > 1}, often&^late) // with late, a quarter of all the time that the cases by day take
	}
}

// alone has one fault, or two one after the other.
func (t *table) alone() {
	for _, of := range faultNames {
		f := t.family(of.name, "", Case{Masters: 3, Callers: 2, Delay: 1, Lease: 12}.once(of.kind))
		frozen, any := of.kind == freezeLink, Case{Starts: true}
		f.add("/two", any)
		f.add("/two, further away", any.with(Case{Delay: 2}))
		f.add("/two, renewed", any.with(Case{Watch: true}))
		f.add("/two in line, one beside", Case{Callers: 3, Line: 2, Nightly: frozen})
		f.add("/one waits, one tries", any.with(Case{Tries: 1}))
		f.add("/two, one comes again", any.with(Case{Comes: 1, Nightly: of.kind&(freezeLink|breakConn|doubled|older) != 0}))
		f.add("/two, clocks differ", any.with(Case{Drift: true}))
		f.add("/three", Case{Callers: 3, Kills: frozen})
		twice := any.with(Case{Faults: 2, Nightly: of.kind&(often|sleep) == 0})
		f.add(" and restart/two", twice.with(Case{Kinds: of.kind | restart})) // or twice the same
		if of.kind == giveUp {
			f.add(" twice/two", twice) // where the order counts
		}
	}
}

// deaf has callers that receive no hand-offs: they find out when they ask.
func (t *table) deaf() {
	for d := 1; d <= 2; d++ {
		f := t.family("deaf/", fmt.Sprint("/", d), Case{Masters: 3, Callers: 2, Deaf: 1, Delay: d, Lease: 12, Late: 2})
		any := Case{Starts: true}
		f.add("one of two", any)
		f.add("one of two, one comes again", any.with(Case{Comes: 1}))
		f.add("two", any.with(Case{Deaf: 2}))
		f.add("one of three", Case{Callers: 3})
		f.faults("one of two, ", any.with(Case{Nightly: d > 1}), often)
	}
}

// tokens has fencing tokens that differ. As long as masters keep their counters, no clock matters.
func (t *table) tokens() {
	for d := 1; d <= 2; d++ {
		f := t.family("token/", fmt.Sprint("/", d), Case{Masters: 3, Callers: 2, Delay: d, Lease: 12, Starts: true, Tokens: true})
		f.add("two", Case{})
		f.add("two, one comes again", Case{Comes: 1})
		f.add("two, one comes again, late", Case{Comes: 1}.once(late)) // where a majority has not agreed, this one has an old token
		f.add("three", Case{Callers: 3})
		f.add("two in line, one beside", Case{Callers: 3, Line: 2})
		f.add("two, a fault", Case{}.once(late|crash|breakConn|doubled|loseHandOff))
		f.add("two, one sleeps", Case{}.once(sleep))
		f.add("one waits, one tries, one of them sleeps", Case{Tries: 1}.once(sleep))
		f.add("two, a restart", Case{Clocks: true}.once(restart|older))
		f.add("two, a restart empty", Case{Clocks: true}.once(restart))
	}
}

// large are cases for the night: five masters, four callers, and any two things that go wrong.
func (t *table) large() {
	f := t.family("", "", Case{Masters: 3, Callers: 3, Delay: 1, Lease: 12, Late: 2, Nightly: true})
	two := Case{Callers: 2, Starts: true}
	f.faults("five masters/two, ", two.with(Case{Masters: 5}), 0)
	f.add("five masters/three", Case{Masters: 5})
	f.add("four callers", Case{Callers: 4})
	f.add("any two/two", two.with(Case{Faults: 2, Kinds: often}))
}

// shared has readers and writers. The queue keeps their order, so it matters who comes first.
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

// changing has clients from before and from after a change of the set of masters, which adds or removes the last one.
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

// routes has names that move from one set of masters to another by way of both: some processes have the old set, some
// both, and some the new one.
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

// atOnce has changes of two masters, or of two sets, in one step. Some of these are unsafe.
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
