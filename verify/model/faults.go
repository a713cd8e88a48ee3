package main

import (
	"errors"
	"fmt"
	"slices"

	"example.com/redlock/multilock/attempt"
	"example.com/redlock/node/script"
	"example.com/redlock/node/script/twin"
	"example.com/redlock/quorum"
)

// fault is a kind of thing that may go wrong. Each fault that happens is one of those that its case may have.
type fault uint32

const (
	freezeLink  fault = 1 << iota // for any time; a client takes it for broken after a while
	loseHandOff                   // a message to a waiter is lost
	breakConn                     // a connection breaks, and a new one is made at once
	doubled                       // a command is carried out once more, at any time
	restart                       // a master comes back empty
	older                         // a master comes back with an older copy of what it had: its disk, or a replica
	crash                         // a process ends
	giveUp                        // a caller gives up
	force                         // an operator frees the lock
	sleep                         // a caller does nothing for any time
	slow                          // a renewal is sent late
	late                          // a message is late
	still                         // a caller does nothing for any time, in which its clock stands still
	jump                          // a master's clock jumps ahead
)

// faults makes what may go wrong in this tick, and what may end that went wrong before.
func (x *mover) faults(it *item) (goOn bool) {
	k := x.k
	for m := range k.Masters {
		for client := range k.Callers {
			if it.Links[m][client].Frozen {
				x.free(it, func(w *World) {
					l := &w.Links[m][client]
					l.Frozen, l.Quiet, l.Down = false, 0, false
					w.noteText("the link of C%d to m%d thaws", client, w.Masters[m].Name)
				})
			}
			if i, ok := it.due(m, client, ghost); ok { // of a connection that has broken
				x.maybe(it, func(w *World) {
					command := w.Messages.remove(i)
					w.Links[m][client].Dirty = true
					w.noteText("late:")
					w.carryOut(k, command, false)
				})
			}
		}
	}
	for c := range k.Callers {
		if it.Callers[c].Asleep {
			x.free(it, func(w *World) { w.wake(k, c) })
			if it.wakes(c) { // before it takes what has come meanwhile
				x.free(it, func(w *World) {
					w.wake(k, c)
					w.step(k, c, attempt.Event{Kind: attempt.Due}, lots[0])
				})
			}
		} else {
			x.learns(it, c)
		}
	}
	if it.Faults == 0 {
		return true
	}
	for m := range k.Masters {
		if !it.Masters[m].Dead {
			x.masterFaults(it, m)
		}
		for client := range k.Callers {
			x.linkFaults(it, m, client)
		}
	}
	for c := range k.Callers {
		if !it.Callers[c].Crashed {
			x.callerFaults(it, c)
		}
	}
	x.fault(it, force, true, func(w *World) { w.forceUnlock(k) })
	return true
}

func (x *mover) linkFaults(it *item, m, client int) {
	k, name := x.k, it.Masters[m].Name
	first, command := it.due(m, client, up)
	_, answer := it.due(m, client, down)
	letter, handOff := it.due(m, client, post)
	x.fault(it, freezeLink, command || answer || handOff, func(w *World) {
		w.Links[m][client].Frozen, w.Links[m][client].Quiet = true, uint8(4*k.Delay+2)
		w.noteText("the link of C%d to m%d FREEZES", client, name)
	})
	x.fault(it, loseHandOff, handOff, func(w *World) {
		w.Messages.remove(letter)
		w.noteText("the hand-off of m%d to C%d is LOST", name, client)
	})
	x.fault(it, breakConn, command || answer, func(w *World) {
		w.noteText("the connection of C%d to m%d BREAKS", client, name)
		w.breakLink(m, client, true)
	})
	x.fault(it, doubled, command, func(w *World) {
		copied := w.Messages.list[first]
		copied.Channel = ghost // to be carried out at any time
		w.put(copied, 0)
		w.noteText("a command of C%d to m%d is DOUBLED", client, name)
	})
	for _, ch := range []channel{up, down, post} {
		_, ok := it.due(m, client, ch)
		for ticks := 1; ok && ticks <= k.Late; ticks++ {
			x.fault(it, late, true, func(w *World) {
				for i, j := w.Messages.each(m, client, ch); i < j; i++ { // in their order
					w.Messages.list[i].Due = max(w.Messages.list[i].Due, uint8(ticks))
				}
				w.noteText("%v between C%d and m%d are %d LATE", ch, client, name, ticks)
			})
		}
	}
}

func (x *mover) masterFaults(it *item, m int) {
	k, p := x.k, &it.Masters[m]
	some := p.Lock.Holder != 0
	x.fault(it, restart, true, func(w *World) { w.restart(k, m, kept{}) })
	x.fault(it, jump, some, func(w *World) { w.jump(k, m) })
	x.fault(it, older, p.Saved, func(w *World) { w.restart(k, m, w.Masters[m].Copy) })
	saved := slices.ContainsFunc(it.Masters[:k.Masters], func(m Master) bool { return m.Saved })
	if k.Kinds&older != 0 && !saved && some {
		x.maybe(it, func(w *World) {
			w.Masters[m].Saved, w.Masters[m].Copy = true, w.Masters[m].kept
			w.noteText("m%d is SAVED", p.Name)
		})
	}
}

func (x *mover) callerFaults(it *item, c int) {
	k, p := x.k, &it.Callers[c]
	wants := p.contends() || p.live() || p.kept()
	x.fault(it, crash, wants, func(w *World) { // what it sent before is under way
		w.process(k, c, func(p *Caller) { *p = Caller{Crashed: true, Last: p.Last, Since: p.Since} })
		w.noteText("C%d CRASHES", c)
	})
	waits := k.inLine(c) && !k.second(c) && !p.begun()
	x.fault(it, giveUp, (p.contends() || waits) && !p.Asleep, func(w *World) {
		if waits { // it leaves the line before it has asked
			p := &w.Callers[c]
			p.Last, p.State = p.Last+1, attempt.Ended
			return
		}
		w.leave(k, c, 0)
	})
	x.fault(it, sleep, wants && !p.Asleep && it.busy(k, c), func(w *World) {
		w.process(k, c, func(p *Caller) { p.Asleep = true })
		w.noteText("C%d SLEEPS", c)
	})
	x.fault(it, still, wants && !p.Asleep, func(w *World) {
		w.process(k, c, func(p *Caller) { p.Asleep, p.Still = true, true })
		w.noteText("C%d and its clock STAND STILL", c)
	})
}

// restart ends a master's process, and with it all connections and what was under way to it. The next process begins
// with the given data.
func (w *World) restart(k *Case, m int, with kept) {
	w.noteText("m%d RESTARTS", w.Masters[m].Name)
	p := &w.Masters[m]
	p.kept, p.Guard, p.Saved, p.Copy = with, w.Now+k.guard(), false, kept{}
	p.Lock.Expire(millis(w.Now))
	for client := range k.Callers {
		for i, j := w.Messages.each(m, client, ghost); i < j; j-- {
			w.Messages.remove(i)
		}
		w.breakLink(m, client, false)
		w.Links[m][client].Dirty = with != kept{}
	}
}

// process calls f for every caller of c's client, since they share a process.
func (w *World) process(k *Case, c int, f func(p *Caller)) {
	for other := range k.Callers {
		if k.process(other, c) {
			f(&w.Callers[other])
		}
	}
}

func (w *World) wake(k *Case, c int) {
	w.process(k, c, func(p *Caller) { p.Asleep, p.Still = false, false })
	w.noteText("C%d wakes", c)
}

// busy reports whether a caller has something to do now.
func (w *World) busy(k *Case, c int) bool {
	p := &w.Callers[c]
	for m := range k.Masters {
		for _, ch := range []channel{down, post} {
			if _, ok := w.due(m, k.client(c), ch); ok {
				return true
			}
		}
	}
	return w.wakes(c) || p.live() && p.Due && w.clock(c).Left(p.RenewAt) <= 0
}

// forceUnlock frees the lock on all masters, whoever has it.
func (w *World) forceUnlock(k *Case) {
	w.noteText("FORCE UNLOCK")
	for c := range k.Callers {
		p := &w.Callers[c]
		p.Forced = p.Forced || p.live()
		p.Barred = p.Barred || p.live()
		for m := range k.Masters {
			for o := range w.Masters[m].leases() {
				p.Forced = p.Forced || o == w.current(c)
			}
		}
	}
	hears := func(o twin.Owner) bool { return w.hears(k, o) }
	for m := range k.Masters {
		if p := &w.Masters[m]; !p.Dead {
			holder := p.Lock.Holder
			reply := p.Lock.Force(millis(w.Now), hears, w.Clock)
			if !k.Tokens {
				p.Lock.Counter = 1
			}
			w.publish(k, uint8(m), &reply)
			w.want(k, uint8(m), holder)
		}
	}
}

// Clocks of masters gain on a client's because the client's own stands still, or because they jump. The client compares
// clocks from time to time: at some later moment it learns what each has gained. From then on, no vote of that master
// counts for as long as a guard lasts.

const (
	goesOn    = "clocks: a caller goes on though a majority has told it that it has lost the lock"
	undoubted = "clocks: a master jumped that voted for a hold, and the hold is not renewed soon"
)

// clocks are what a caller knows of the clocks of masters, and what it does not.
type clocks struct {
	Still  bool // it is asleep, and its clock stands still
	Behind int8 // by so many ticks its clock is behind

	Lag    attempt.Lag
	Gained [maxMasters]uint8 // by so many ticks each master's clock has gained, which the client does not know yet
	Steady [maxMasters]int64 // the tick from which the votes of a master count again; 0: they count
	Doubt  bool              // a master jumped that voted for its hold, and no renewal was confirmed since
}

// tickClock advances the clock of a caller by a tick.
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

// jump makes the clock of a master jump ahead. A client that begins later cannot notice.
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

// pass makes what a master has older by d.
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

// learns makes a caller learn what clocks have gained: of one at a time if they jump.
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

// notice is what Masters.Doubted and Masters.Gained do in multilock.
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
	p.Behind -= int8(p.Lag.Gained(k.config(c), place, gained) / tick)
}

// judgeRound looks at a round that is settled: once a majority has said that the caller lost the lock, it must not go on.
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
	denied := mark.Denied
	if r.Command == attempt.Extend {
		denied |= r.No // where no clock jumps, a state has these alone
	}
	lost := quorum.Vote(k.config(c).Masters, 0, denied.Len()) == quorum.Lost
	if lost && p.live() && p.Want.Shared == r.Shared {
		w.violate(goesOn)
	}
	if r.Command == attempt.Raise && p.live() {
		w.agreed(k, c, out.Result)
	}
}

// vouching has a command of each kind, which knows what its answer is worth without votes.
var vouching = func() (of [wanted]*script.Command) {
	o := script.NewOwner("name", "owner")
	of[ask], of[raise] = o.Acquire(1, 1), o.Raise(1, 1)
	of[release], of[count], of[renew] = o.Release(1, 0), o.Enter(1, 1), script.Renew(1, []script.Renewal{{Owner: o}})
	return of
}()

var errUnsteady = errors.New("unsteady")

// discount reduces an answer to what it is worth if it comes from a master whose clock has run ahead. It returns false
// for a hand-off, which is worth nothing.
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

// still has a caller whose clock stands still, for up to a little more than a lease, and shows the right time again at
// some later moment.
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

// jumps has masters whose clocks jump ahead, by less than a lease and by more.
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
