package main

import (
	"errors"
	"fmt"

	"example.com/redlock/multilock/attempt"
	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

// Clocks of masters that gain on a client's: because its own stands still, or because they jump. The client
// compares them now and then: it learns at any later moment what each has gained, and then believes for as long
// as a guard lasts no vote of that master.

const (
	goesOn    = "clocks: a caller goes on though a majority has told it that it has lost the lock"
	undoubted = "clocks: a master jumped that voted for a hold, and the hold is not renewed soon"
)

// clocks are what a caller knows of the clocks of masters, and what it does not.
type clocks struct {
	Still  bool // it is asleep, and its clock stands still
	Behind int8 // ticks by which its clock is

	Lag    attempt.Lag
	Gained [maxMasters]uint8 // by each master, in ticks, and not known
	Steady [maxMasters]int64 // the tick in which the votes of a master count again; 0: they do
	Doubt  bool              // a master jumped that voted for its hold, and no renewal was confirmed since
}

// tickClock lets the time of a caller go on by a tick.
func (w *World) tickClock(k *Case, c int) {
	p := &w.Callers[c]
	if p.Still {
		p.Behind++
		for m := range k.Masters {
			p.Gained[m]++
		}
		if int(p.Behind) > k.Lease {
			w.wake(k, c)
		}
	}
	for m := range k.Masters {
		if p.Steady[m] > 0 && p.Steady[m] <= w.Now {
			p.Steady[m] = 0
			p.Lag.Steady(k.place(c, m))
		}
	}
}

// jump has the clock of a master jump ahead. A client that comes later does not know.
func (w *World) jump(k *Case, m int) {
	w.noteText("the clock of m%d JUMPS by %d", w.Masters[m].Name, k.Jump)
	w.Masters[m].pass(millis(int64(k.Jump)))
	w.Masters[m].expire(w.Now)
	for c := range k.Callers {
		if p := &w.Callers[c]; p.Last > 0 && !p.Crashed {
			p.Gained[m] += uint8(k.Jump)
		}
	}
}

// pass lets so much time pass for what a master has.
func (p *kept) pass(d int64) {
	for _, until := range p.leases() {
		*until -= d
	}
	p.last()
	for i := range filled(p.Lock.Queue[:]) {
		p.Lock.Queue[i].Stale -= d
	}
	for i := range filled(p.Lock.Forced[:]) {
		p.Lock.Forced[i].Until -= d
	}
}

// learns has a caller learn what clocks have gained: one at a time where they jump.
func (x *mover) learns(it *item, c int) {
	p := &it.Callers[c]
	switch {
	case p.Gained == [maxMasters]uint8{}:
	case x.k.Kinds&jump == 0:
		x.free(it, func(w *World) {
			for m := range x.k.Masters {
				w.notice(x.k, c, m)
			}
		})
	default:
		for m := range x.k.Masters {
			if p.Gained[m] > 0 {
				x.free(it, func(w *World) { w.notice(x.k, c, m) })
			}
		}
	}
}

// notice is what Masters.RanAhead and Masters.Gained do in multilock.
func (w *World) notice(k *Case, c, m int) {
	p, place := &w.Callers[c], k.place(c, m)
	gained := ticks(int(p.Gained[m]))
	w.noteText("C%d learns that m%d has gained %d", c, w.Masters[m].Name, p.Gained[m])
	if p.Gained[m] = 0; p.Steady[m] == 0 {
		w.step(k, c, attempt.Event{Kind: attempt.Doubt, Master: place}, 0)
		p.Doubt = k.Kinds&jump != 0 && p.live()
		for i := range p.Marks {
			p.Marks[i].Later = false
		}
	}
	p.Steady[m] = w.Now + k.guard()
	p.Lag.Gained(k.config(c), place, gained)
	p.Behind -= int8(p.Lag.Missed / tick)
	p.Lag.Missed = 0 // that is in Behind
}

// judgeRound notes what a round has told a caller.
func (w *World) judgeRound(k *Case, c int, out *attempt.Effects) {
	p := &w.Callers[c]
	ago := p.Round - out.Settled
	if out.Settled == 0 || ago >= maxRounds {
		return
	}
	r, mark := &p.Rounds[maxRounds-1-ago], &p.Marks[maxRounds-1-ago]
	if r.Renewal && out.Result == attempt.Confirmed && mark.Later {
		p.Doubt = false
	}
	lost := quorum.Vote(k.config(c).Masters, 0, mark.Denied.Len()) == quorum.Lost
	if lost && p.live() && p.Want.Shared == r.Shared {
		w.violate(goesOn)
	}
}

// vouching are commands of each kind, to ask which answers are votes.
var vouching = func() (of [wanted]*script.Command) {
	o := script.NewOwner("name", "owner")
	of[ask], of[raise] = o.Acquire(1, 1), o.Raise(1, 1)
	of[release], of[count], of[renew] = o.Release(1, 0), o.Enter(1, 1), script.Renew(1, []script.Renewal{{Owner: o}})
	return of
}()

var errUnsteady = errors.New("unsteady")

// discount makes of an answer what it is worth when it comes from a master whose clock has run ahead. It is
// false for a hand-off, which is worth nothing.
func (x *Message) discount() bool {
	if x.Channel == post {
		return x.Kind == wanted
	}
	a := script.Answer{Outcome: script.Outcome(x.Outcome)}
	if x.Kind == renew && x.Outcome >= attempt.No {
		a.Outcome, a.Renewed = script.Done, []script.Renewed{script.Absent}
		if x.Outcome == attempt.Yes {
			a.Renewed[0] = script.Extended
		}
	}
	a = vouching[x.Kind].WithoutVotes(a, errUnsteady)
	switch {
	case x.Kind != renew:
		x.Outcome = attempt.Outcome(a.Outcome)
	case a.Outcome != script.Done || a.Renewed[0] == script.Errored:
		x.Outcome = min(x.Outcome, attempt.Errored)
	}
	return true
}

// still has the clock of a caller stand still for up to more than a lease, and show the right time again at
// any later moment.
func (t *table) still() {
	f := t.family("still", "", Case{Masters: 3, Callers: 2, Delay: 1, Lease: 12}.once(still))
	any := Case{Starts: true}
	f.add("/two", any)
	f.add("/two, renewed", any.with(Case{Watch: true}))
	f.add("/one waits, one tries", any.with(Case{Tries: 1}))
	f.add("/WR", any.with(Case{Roles: "WR"}))
	f.add("/three", Case{Callers: 3, Nightly: true})
	f.add(" twice/two", any.with(Case{Faults: 2, Nightly: true}))
}

// jumps has the clocks of masters jump ahead, by less than a lease and by more.
func (t *table) jumps() {
	for _, by := range []int{6, 14} {
		f := t.family("jump/", fmt.Sprint("/", by), Case{Masters: 3, Callers: 2, Delay: 1, Lease: 12, Starts: true, Watch: true, Jump: by}.once(jump))
		f.add("two", Case{})
		f.add("one, twice", Case{Callers: 1, Faults: 2})
		f.add("one, forced, a master is dead", Case{Callers: 1, Faults: 2, Kinds: jump | force, Dead: 1})
		f.add("two, twice", Case{Faults: 2, Nightly: true})
	}
}

// leases has callers whose leases differ.
func (t *table) leases() {
	f := t.family("leases/two", "", Case{Masters: 3, Callers: 2, Delay: 1, Lease: 16, Less: 10, Starts: true})
	f.add("", Case{})
	f.faults(", ", Case{}, often&^giveUp)
	f.faults(", renewed, ", Case{Watch: true}, crash|slow)
}
