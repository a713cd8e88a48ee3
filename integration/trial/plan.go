package trial

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Act is a fault of a plan: what is done when to whom, and for how long.
type Act struct {
	At, Lasts time.Duration // At is counted from when the plan begins
	Kind      string
	On        []string // masters "m1", "m2", …, and clients "c1", "c2", …

	Every  time.Duration // how often it is done while it lasts
	Delay  time.Duration
	Jitter time.Duration
	Loss   float64       // probability
	Offset time.Duration // of a wall clock
	Rate   float64       // of a wall clock: 1 is right
	Set    []string      // of masters
}

// String says what an act does, with its parameters.
func (a Act) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s on %s for %v", a.Kind, strings.Join(a.On, " "), a.Lasts)
	for _, p := range []struct {
		name  string
		given bool
		value any
	}{
		{"every", a.Every > 0, a.Every},
		{"delay", a.Delay > 0, a.Delay},
		{"jitter", a.Jitter > 0, a.Jitter},
		{"loss", a.Loss > 0, a.Loss},
		{"offset", a.Offset != 0, a.Offset},
		{"rate", a.Rate > 0, a.Rate},
		{"set", a.Set != nil, a.Set},
	} {
		if p.given {
			fmt.Fprintf(&text, ", %s %v", p.name, p.value)
		}
	}
	return text.String()
}

// Plan is what is done in a trial. It is determined by the seed and by what there is to be harmed.
type Plan struct {
	Durable []bool   // which masters keep all data over a restart; nil: none
	Set     []string // of masters that clients begin with; nil: all
	Acts    []Act    // in the order of time; those of kind calm are pauses between them
}

const (
	warmUp   = 4 * time.Second // before the first fault: masters that have just started grant nothing for a lease
	calmTime = 9 * time.Second // longer than lease, guard and 2 s, in which waits must end
)

// planner draws a plan.
type planner struct {
	*rand.Rand
	cfg      Config
	plan     Plan
	free     map[string]time.Duration // when a part of somebody is free again
	echoes   map[string]time.Duration // until when a master counts as one that forgot
	decks    map[bool][]kind          // those not drawn since all were, of kinds that forget and of others
	deadline time.Duration            // when all of a stretch is over
}

// newPlanner returns a planner that draws from a stream of random numbers of its own.
func newPlanner(cfg Config, stream uint64) *planner {
	return &planner{
		Rand:     rand.New(rand.NewPCG(cfg.Seed, stream)),
		cfg:      cfg,
		plan:     Plan{Durable: make([]bool, cfg.Masters)},
		free:     map[string]time.Duration{},
		echoes:   map[string]time.Duration{},
		decks:    map[bool][]kind{},
		deadline: cfg.Lasts,
	}
}

// NewPlan draws a plan: stretches of faults, singly and several at a time, and calm between them. In every
// third stretch masters also forget, though never a majority within one lease.
func NewPlan(cfg Config) Plan {
	p := newPlanner(cfg, 17)
	for _, i := range p.Perm(cfg.Masters)[:1+p.IntN(cfg.Masters-1)] {
		p.plan.Durable[i] = true
	}
	at := warmUp
	for n := 0; ; n++ {
		stretch := p.between(24*second, 36*second)
		if left := cfg.Lasts - at; left < 2*stretch+calmTime {
			stretch = left
			if left > stretchLeast {
				stretch = (left - calmTime) / 2
			}
		}
		p.deadline = at + stretch
		p.stretch(at, n%3 == 1)
		if at = p.deadline; at >= cfg.Lasts-second {
			break
		}
		p.plan.Acts = append(p.plan.Acts, Act{At: at, Lasts: calmTime, Kind: calm})
		at += calmTime
	}
	slices.SortStableFunc(p.plan.Acts, func(a, b Act) int { return int(a.At - b.At) })
	return p.plan
}

// NewSinglePlan draws a plan of one kind of fault, again and again on so many masters, or on so many clients
// if that is what the kind falls on. It does not care what a majority forgets.
func NewSinglePlan(cfg Config, kindName string, many int) Plan {
	p := newPlanner(cfg, 18)
	for i := range p.plan.Durable {
		p.plan.Durable[i] = kindName == KillAOF || kindName == StopRestart && i%2 == 0
	}
	k := kindOf(kindName)
	for at := warmUp; at+k.least < cfg.Lasts; {
		names := cfg.all(k)
		var on []string
		for _, i := range p.Perm(len(names))[:min(many, len(names))] {
			on = append(on, names[i])
		}
		if kindName == CutClient {
			on = append(on, fmt.Sprint("c", 1+p.IntN(cfg.Clients)))
		}
		a := p.act(at, k, on)
		p.plan.Acts = append(p.plan.Acts, a)
		at += a.Lasts + p.between(second, 2*second)
	}
	return p.plan
}

// stretchLeast is how much is divided into two stretches and calm between them.
const stretchLeast = 30 * time.Second

// stretch draws faults until the deadline: bursts of some that begin at nearly the same time, and now and
// then one that goes round all masters.
func (p *planner) stretch(at time.Duration, forget bool) {
	for ; at < p.deadline-second/2; at += p.between(second, 3*second) {
		for range 1 + min(p.IntN(4), p.IntN(4), p.IntN(4)) {
			p.draw(at+p.between(0, second/2), forget && p.IntN(2) == 0)
		}
	}
}

// draw adds a fault of a kind that is possible at that time, and that comes first in a shuffled deck of those kinds that
// were not drawn since all were.
func (p *planner) draw(at time.Duration, forget bool) {
	deck := p.decks[forget]
	if len(deck) == 0 {
		for _, k := range kinds {
			if (k.forgets > 0) == forget && (len(p.cfg.Only) == 0 || slices.Contains(p.cfg.Only, k.name)) {
				deck = append(deck, k)
			}
		}
		p.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
	}
	for i, k := range deck {
		if acts := p.acts(at, k); len(acts) > 0 {
			p.plan.Acts = append(p.plan.Acts, acts...)
			p.decks[forget] = slices.Delete(deck, i, i+1)
			return
		}
	}
	p.decks[forget] = deck
}

// between draws a time, in whole milliseconds.
func (p *planner) between(least, most time.Duration) time.Duration {
	return least + time.Duration(p.Int64N(int64((most-least)/time.Millisecond)+1))*time.Millisecond
}

// pattern is on how many at once a fault falls.
type pattern int

const (
	one pattern = iota
	minority
	majority
	all
	inTurn // all, one after another
	patterns
)

// weights say how often each pattern is drawn, in percent.
var weights = [patterns]int{one: 38, minority: 22, majority: 18, all: 9, inTurn: 13}

func (p *planner) pattern() pattern {
	n := p.IntN(100)
	for which, weight := range weights {
		if n -= weight; n < 0 {
			return pattern(which)
		}
	}
	return one
}

// acts returns a fault of kind k at that time: several acts if it goes round, or if masters with and without data are
// killed together; and none if all that it can fall on have a fault already.
func (p *planner) acts(at time.Duration, k kind) []Act {
	which := p.pattern()
	switch {
	case at+k.least > p.deadline:
		return nil
	case k.name == ClientSkew:
		which = one
	case which == inTurn && k.forgets == 0 && k.part != client && k.name != CutClient:
		if acts := p.goRound(at, k); acts != nil {
			return acts
		}
	}
	on := p.some(p.unharmed(at, k), which)
	if k.forgets > 0 {
		on = p.forgetful(at, on)
	}
	if len(on) == 0 {
		return nil
	}
	if k.name == CutClient {
		on = append([]string{fmt.Sprint("c", 1+p.IntN(p.cfg.Clients))}, on...)
	}
	acts := p.reserve(k, p.act(at, k, on))
	if other, ok := twin[k.name]; ok && which >= all {
		also := kindOf(other)
		if rest := p.unharmed(at, also); len(rest) > 0 {
			acts = append(acts, p.reserve(also, p.act(at, also, rest))...)
		}
	}
	return acts
}

// twin is what happens to the other masters if all are killed.
var twin = map[string]string{KillEmpty: KillAOF, KillAOF: KillEmpty}

// unharmed returns the masters, or the clients, that a fault of kind k can fall on at that time.
func (p *planner) unharmed(at time.Duration, k kind) (free []string) {
	for i, name := range p.cfg.all(k) {
		keeps := k.part != client && p.plan.Durable[i]
		if p.free[name+string(k.part)] <= at && (k.name != KillEmpty || !keeps) && (k.name != KillAOF || keeps) {
			free = append(free, name)
		}
	}
	return free
}

// all names all masters, or all clients, whichever a fault of kind k falls on.
func (cfg Config) all(k kind) (names []string) {
	prefix, n := "m", cfg.Masters
	if k.part == client {
		prefix, n = "c", cfg.Clients
	}
	for i := range n {
		names = append(names, fmt.Sprint(prefix, i+1))
	}
	return names
}

// some draws as many as the pattern says, of as many as there are, from those that are free.
func (p *planner) some(free []string, which pattern) []string {
	p.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
	n, quorum := 1, p.cfg.Masters/2+1
	switch which {
	case minority:
		n = quorum - 1
	case majority:
		n = quorum + p.IntN(max(p.cfg.Masters-quorum, 1))
	case all, inTurn:
		n = len(free)
	}
	on := free[:min(n, len(free))]
	slices.Sort(on)
	return on
}

// forgetful leaves out so many masters that no majority forgets within a lease.
func (p *planner) forgetful(at time.Duration, on []string) (few []string) {
	forgot := map[string]bool{}
	for name, until := range p.echoes {
		if until > at {
			forgot[name] = true
		}
	}
	most := (p.cfg.Masters - 1) / 2
	for _, name := range on {
		// Of two that are drawn for nearly the same time, the later may be the first: forgot may be too many.
		if forgot[name] && len(forgot) <= most || len(forgot) < most {
			forgot[name] = true
			few = append(few, name)
		}
	}
	return few
}

// goRound returns acts on all masters, one after another: at once, or so far apart that a hold that is
// renewed survives. It returns nil if there is no time for it, or if a master has something else to bear.
func (p *planner) goRound(at time.Duration, k kind) (acts []Act) {
	var pause time.Duration
	if k.restarts && p.IntN(2) == 0 {
		pause = lease + 300*time.Millisecond
	}
	next := at
	for _, i := range p.Perm(p.cfg.Masters) {
		name, k := fmt.Sprint("m", i+1), k
		if other, ok := twin[k.name]; ok && p.plan.Durable[i] != (k.name == KillAOF) {
			k = kindOf(other)
		}
		a := p.act(next, k, []string{name})
		a.Lasts = min(a.Lasts, time.Second)
		next += a.Lasts + pause
		if p.free[name+string(k.part)] > a.At || a.At+k.least > p.deadline || next > p.deadline {
			return nil
		}
		acts = append(acts, a)
	}
	for _, a := range acts {
		p.reserve(kindOf(a.Kind), a)
	}
	return acts
}

// act draws how a fault of kind k on the given masters and clients goes.
func (p *planner) act(at time.Duration, k kind, on []string) Act {
	a := Act{At: at, Kind: k.name, On: on}
	a.Lasts = max(0, min(p.between(k.least, k.most), p.deadline-at))
	if k.draw != nil {
		k.draw(p, &a)
	}
	return a
}

// moment is how much time there is between two faults of the same part, at least.
const moment = time.Second / 2

// reserve notes until when parts have a fault.
func (p *planner) reserve(k kind, a Act) []Act {
	for _, name := range a.On {
		p.free[name+string(k.part)] = max(p.free[name+string(k.part)], a.At+a.Lasts+moment)
		if k.forgets > 0 {
			p.echoes[name] = max(p.echoes[name], a.At+a.Lasts+k.echo())
		}
	}
	return []Act{a}
}
