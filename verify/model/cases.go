package main

import (
	"fmt"
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

// far has nothing go wrong. What matters is how far away the masters are: a round trip is shorter
// than the pause between two rounds (delays of 1 and 2), as long (3), and longer (4 and 5).
func (t *table) far() {
	for d := 1; d <= 5; d++ {
		two := Case{Masters: 3, Callers: 2, Delay: d, Lease: 24, Starts: true}
		three := two
		three.Callers, three.Starts = 3, false
		add := func(name string, k Case) { t.add(fmt.Sprintf("far/%s/%d", name, d), k) }
		known := func(k Case) Case { k.Trip = 2 * d; return k }
		dead := func(k Case) Case { k.Dead = 1; return k }
		add("two", two)
		add("two, distance known", known(two))
		add("two, a master is dead", dead(two))
		add("three", three)
		add("three, a master is dead", dead(three))
		k := known(three)
		add("three, distance known", k)
		k = three
		k.Near = true
		add("three, each near a master", k)
		k = three
		k.Masters, k.Nightly = 4, d > 3
		add("three, four masters", k)
		k = two
		k.Tries = 1
		add("one waits, one tries", k)
		k = three
		k.Tries = 2
		add("one waits, two try", k)
		k = two
		k.Callers, k.Line = 3, 2
		add("two in line, one beside", k)
	}
}

// behind has those who wait behind the first ask half as often, and be handed the lock for twice as
// long.
func (t *table) behind() {
	for d := 1; d <= 2; d++ {
		three := Case{Masters: 3, Callers: 3, Delay: d, Lease: 12, Pause: 3, Far: 6}
		add := func(name string, k Case) { t.add(fmt.Sprintf("behind/%s/%d", name, d), k) }
		add("three", three)
		k := three
		k.Dead = 1
		add("three, a master is dead", k)
		k = three
		k.Tries = 1
		add("two wait, one tries", k)
		k.Tries, k.Dead, k.Faults, k.Kinds = 0, 1, 1, sleep
		k.Nightly = d > 1
		add("three, a master is dead, one sleeps", k)
		for _, f := range faultNames {
			k = three
			k.Faults, k.Kinds, k.Late = 1, f.kind, 2
			k.Nightly = d > 1 || f.kind&(loseHandOff|crash|giveUp|restart|late) == 0
			add("three, "+f.name, k)
		}
	}
}

// faults has one thing go wrong.
func (t *table) faults() {
	for _, f := range faultNames {
		two := Case{Masters: 3, Callers: 2, Delay: 1, Lease: 12, Starts: true, Faults: 1, Kinds: f.kind, Late: 3}
		t.add(f.name+"/two", two)
		k := two
		k.Delay = 2
		t.add(f.name+"/two, further away", k)
		k = two
		k.Watch = true
		t.add(f.name+"/two, renewed", k)
		k = two
		k.Callers, k.Line, k.Starts, k.Nightly = 3, 2, false, f.kind == freezeLink
		t.add(f.name+"/two in line, one beside", k)
		k = two
		k.Tries = 1
		t.add(f.name+"/one waits, one tries", k)
		k = two
		k.Comes = 1
		k.Nightly = f.kind == freezeLink || f.kind == breakConn || f.kind == doubled || f.kind == older
		t.add(f.name+"/two, one comes again", k)
		k = two
		k.Drift = true
		t.add(f.name+"/two, clocks differ", k)
		k = two
		k.Callers, k.Starts, k.Kills = 3, false, f.kind == freezeLink
		t.add(f.name+"/three", k)
		k = two
		k.Faults = 2
		k.Nightly = f.kind&(loseHandOff|restart|crash|giveUp|sleep|late) == 0
		t.add(f.name+" twice/two", k)
		k.Kinds |= restart
		t.add(f.name+" and restart/two", k)
	}
}

// deaf has callers that hear of no hand-off. They find one when they ask.
func (t *table) deaf() {
	for d := 1; d <= 2; d++ {
		two := Case{Masters: 3, Callers: 2, Deaf: 1, Delay: d, Lease: 12, Starts: true}
		add := func(name string, k Case) { t.add(fmt.Sprintf("deaf/%s/%d", name, d), k) }
		add("one of two", two)
		k := two
		k.Comes = 1
		add("one of two, one comes again", k)
		k = two
		k.Deaf = 2
		add("two", k)
		k = two
		k.Callers, k.Starts = 3, false
		add("one of three", k)
		for _, f := range faultNames {
			k = two
			k.Faults, k.Kinds, k.Late = 1, f.kind, 2
			k.Nightly = d > 1 || f.kind&(loseHandOff|crash|giveUp|restart|late) == 0
			add("one of two, "+f.name, k)
		}
		k = two
		k.Permits = 1
		add("one of two for one permit", k)
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
		add := func(name string, k Case) { t.add(fmt.Sprintf("token/%s/%d", name, d), k) }
		add("two", two)
		k := two
		k.Comes = 1
		add("two, one comes again", k)
		k = two
		k.Callers = 3
		add("three", k)
		k.Line = 2
		add("two in line, one beside", k)
		k = two
		k.Faults, k.Kinds, k.Late = 1, late|crash|breakConn|doubled|loseHandOff, 3
		add("two, a fault", k)
		k.Kinds = sleep
		add("two, one sleeps", k)
		k.Tries = 1
		add("one waits, one tries, one of them sleeps", k)
		k = two
		k.Clocks, k.Faults, k.Kinds = true, 1, restart|older
		add("two, a restart", k)
		k.Kinds = restart
		add("two, a restart empty", k)
	}
}

// large are cases for the night: five masters, four callers, and any two things that go wrong.
func (t *table) large() {
	five := Case{Masters: 5, Callers: 2, Delay: 1, Lease: 12, Starts: true, Faults: 1, Late: 2, Nightly: true}
	for _, f := range faultNames {
		k := five
		k.Kinds = f.kind
		t.add("five masters/two, "+f.name, k)
	}
	k := five
	k.Faults = 0
	k.Callers, k.Starts = 3, false
	t.add("five masters/three", k)
	k = five
	k.Masters, k.Faults = 3, 0
	k.Callers, k.Starts = 4, false
	t.add("four callers", k)
	k = five
	k.Masters, k.Faults = 3, 2
	k.Kinds = crash | giveUp | loseHandOff | restart | late
	t.add("any two/two", k)
}
