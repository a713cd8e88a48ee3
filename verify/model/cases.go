package main

import (
	"fmt"
	"reflect"
	"slices"
)

// teeth are the cases that find every broken rule, and are small.
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
	"slots/two", "slots/two for one", "slots/three", "slots/two for one, lose",
	"slots/two, a master is dead/1", "slots/three, renewed", "slots/two for one, tokens, crash", "slots/two for one, restart", "slots/one waits, two try",
	"order/WWRW, downgrade", "changing/both and both", "changing/both and new, 1 and 3", "changing/both and both, force", "kept/two/1", "kept/two, renewed, long, slow", "kept/one keeps, one tries/1",
	"entered/ff, give up", "entered/wf", "entered/fw", "entered/wl", "entered/twice", "entered/twice, no script", "entered/downgrade, no script",
	"token/two/1", "token/two, one comes again/1", "token/two, a fault/1", "token/two, one sleeps/1", "token/two, a restart empty/1",
}

// allCases is the table.
func allCases() []*Case {
	var t table
	t.far()
	t.behind()
	t.faults()
	t.still()
	t.jumps()
	t.leases()
	t.deaf()
	t.tokens()
	t.shared()
	t.slots()
	t.kept()
	t.order()
	t.entered()
	t.changing()
	t.large()
	return t.cases
}

type table struct{ cases []*Case }

func (t *table) add(name string, k Case) {
	k.Name = name
	if k.Pause == 0 {
		k.Pause = 6
	}
	if k.Guard == 0 {
		k.Guard = k.Lease + 1
	}
	if k.Timeout == 0 {
		k.Timeout = 4*k.Delay + 2
	}
	k.Teeth = slices.Contains(teeth, name)
	t.cases = append(t.cases, k.ready())
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

// once has one thing of a kind go wrong.
func (k Case) once(kinds fault) Case { return k.with(Case{Faults: 1, Kinds: kinds, Late: 3}) }

// far has nothing go wrong. What matters is how far away the masters are: a round trip is shorter
// than the pause between two rounds (delays of 1 and 2), as long (3), and longer (4 and 5).
func (t *table) far() {
	for d := 1; d <= 5; d++ {
		two := Case{Masters: 3, Callers: 2, Delay: d, Lease: 24, Starts: true}
		three := Case{Masters: 3, Callers: 3, Delay: d, Lease: 24}
		known, dead := Case{Trip: 2 * d}, Case{Dead: 1}
		add := func(name string, k Case) { t.add(fmt.Sprintf("far/%s/%d", name, d), k) }
		add("two", two)
		add("two, distance known", two.with(known))
		add("two, a master is dead", two.with(dead))
		add("three", three)
		add("three, a master is dead", three.with(dead))
		add("three, distance known", three.with(known))
		add("three, each near a master", three.with(Case{Near: true}))
		add("three, four masters", three.with(Case{Masters: 4, Nightly: d > 3}))
		add("one waits, one tries", two.with(Case{Tries: 1}))
		add("one waits, two try", three.with(Case{Tries: 2}))
		add("two in line, one beside", two.with(Case{Callers: 3, Line: 2}))
	}
}

// behind has those who wait behind the first ask half as often, and be handed the lock for twice as
// long.
func (t *table) behind() {
	for d := 1; d <= 2; d++ {
		three := Case{Masters: 3, Callers: 3, Delay: d, Lease: 12, Pause: 3, Far: 6}
		add := func(name string, k Case) { t.add(fmt.Sprintf("behind/%s/%d", name, d), k) }
		add("three", three)
		add("three, a master is dead", three.with(Case{Dead: 1}))
		add("two wait, one tries", three.with(Case{Tries: 1}))
		add("three, a master is dead, one sleeps", three.with(Case{Dead: 1, Faults: 1, Kinds: sleep, Nightly: d > 1}))
		for _, f := range faultNames {
			nightly := d > 1 || f.kind&(loseHandOff|crash|giveUp|restart|late) == 0
			add("three, "+f.name, three.with(Case{Faults: 1, Kinds: f.kind, Late: 2, Nightly: nightly}))
		}
	}
}

// faults has one thing go wrong.
func (t *table) faults() {
	for _, f := range faultNames {
		add := func(name string, k Case) { t.add(f.name+name, k) }
		frozen := f.kind == freezeLink
		atOnce := Case{Masters: 3, Callers: 2, Delay: 1, Lease: 12}.once(f.kind)
		two := atOnce.with(Case{Starts: true})
		add("/two", two)
		add("/two, further away", two.with(Case{Delay: 2}))
		add("/two, renewed", two.with(Case{Watch: true}))
		add("/two in line, one beside", atOnce.with(Case{Callers: 3, Line: 2, Nightly: frozen}))
		add("/one waits, one tries", two.with(Case{Tries: 1}))
		add("/two, one comes again", two.with(Case{Comes: 1, Nightly: f.kind&(freezeLink|breakConn|doubled|older) != 0}))
		add("/two, clocks differ", two.with(Case{Drift: true}))
		add("/three", atOnce.with(Case{Callers: 3, Kills: frozen}))
		twice := two.with(Case{Faults: 2, Nightly: f.kind&(loseHandOff|restart|crash|giveUp|sleep|late) == 0})
		add(" twice/two", twice)
		add(" and restart/two", twice.with(Case{Kinds: f.kind | restart}))
	}
}

// deaf has callers that hear of no hand-off. They find one when they ask.
func (t *table) deaf() {
	for d := 1; d <= 2; d++ {
		atOnce := Case{Masters: 3, Callers: 2, Deaf: 1, Delay: d, Lease: 12}
		two := atOnce.with(Case{Starts: true})
		add := func(name string, k Case) { t.add(fmt.Sprintf("deaf/%s/%d", name, d), k) }
		add("one of two", two)
		add("one of two, one comes again", two.with(Case{Comes: 1}))
		add("two", two.with(Case{Deaf: 2}))
		add("one of three", atOnce.with(Case{Callers: 3}))
		for _, f := range faultNames {
			nightly := d > 1 || f.kind&(loseHandOff|crash|giveUp|restart|late) == 0
			add("one of two, "+f.name, two.with(Case{Faults: 1, Kinds: f.kind, Late: 2, Nightly: nightly}))
		}
		add("one of two for one permit", two.with(Case{Permits: 1}))
	}
}

// faultNames are all kinds of faults.
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

// tokens has fencing tokens differ. Where masters keep their counters no clock matters.
func (t *table) tokens() {
	for d := 1; d <= 2; d++ {
		two := Case{Masters: 3, Callers: 2, Delay: d, Lease: 12, Starts: true, Tokens: true}
		three := two.with(Case{Callers: 3})
		add := func(name string, k Case) { t.add(fmt.Sprintf("token/%s/%d", name, d), k) }
		add("two", two)
		add("two, one comes again", two.with(Case{Comes: 1}))
		add("three", three)
		add("two in line, one beside", three.with(Case{Line: 2}))
		add("two, a fault", two.once(late|crash|breakConn|doubled|loseHandOff))
		add("two, one sleeps", two.once(sleep))
		add("one waits, one tries, one of them sleeps", two.once(sleep).with(Case{Tries: 1}))
		clocks := two.with(Case{Clocks: true, Faults: 1})
		add("two, a restart", clocks.with(Case{Kinds: restart | older}))
		add("two, a restart empty", clocks.with(Case{Kinds: restart}))
	}
}

// large are cases for the night: five masters, four callers, and any two things that go wrong.
func (t *table) large() {
	atOnce := Case{Masters: 3, Callers: 3, Delay: 1, Lease: 12, Late: 2, Nightly: true}
	two := atOnce.with(Case{Callers: 2, Starts: true, Faults: 1})
	for _, f := range faultNames {
		t.add("five masters/two, "+f.name, two.with(Case{Masters: 5, Kinds: f.kind}))
	}
	t.add("five masters/three", atOnce.with(Case{Masters: 5}))
	t.add("four callers", atOnce.with(Case{Callers: 4}))
	t.add("any two/two", two.with(Case{Faults: 2, Kinds: crash | giveUp | loseHandOff | restart | late}))
}
