package trial

import (
	"fmt"
	"slices"
	"time"
)

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

// acts returns a fault of kind k at that time: several acts if it goes round or if masters with and without
// data are killed together, none if all whom it can fall on have one already.
func (p *planner) acts(at time.Duration, k kind) []Act {
	which := p.pattern()
	switch {
	case at+k.least > p.deadline:
		return nil
	case k.name == ClientSkew:
		which = one
	case which == inTurn && !k.forgets && k.part != client && k.name != CutClient:
		if acts := p.goRound(at, k); acts != nil {
			return acts
		}
	}
	on := p.some(p.unharmed(at, k), which)
	if k.forgets {
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

// forgetful leaves out masters that would make it a majority that forgot within a lease.
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
		pause = p.cfg.Lease + 300*time.Millisecond
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

// reserve notes who has what to bear for how long.
func (p *planner) reserve(k kind, a Act) []Act {
	for _, name := range a.On {
		p.free[name+string(k.part)] = max(p.free[name+string(k.part)], a.At+a.Lasts+moment)
		if k.forgets {
			p.echoes[name] = max(p.echoes[name], a.At+a.Lasts+k.echo(p.cfg.Lease))
		}
	}
	return []Act{a}
}
