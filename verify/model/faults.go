package main

import (
	"slices"

	"example.com/redlock/multilock/protocol"
)

// fault is a kind of thing that may go wrong. Each one that happens takes one from the budget of
// its case.
type fault uint32

const (
	freezeLink  fault = 1 << iota // for any time; a client takes it for broken after a while
	loseHandOff                   // a message to a waiter is lost
	breakConn                     // a connection breaks, and a new one is made at once
	doubled                       // a command is carried out once more, at any time
	restart                       // a master comes back empty
	older                         // a master comes back with an older copy of what it had: its disk, or a replica
	crash                         // a caller is gone without a word
	giveUp                        // a caller wants the lock no more
	force                         // an operator frees the lock
	sleep                         // a caller does nothing for any time
	slow                          // a renewal is made and sent later
	late                          // a message is late
	noScript                      // a master lacks the script of a command that sets the hold count, or renews
	still                         // a caller does nothing for any time, in which its clock stands still
	jump                          // a master's clock jumps ahead
)

// faults makes what may go wrong at this moment, or no longer go wrong.
func (x *mover) faults(it *item) (goOn bool) {
	k, w := x.k, it
	for m := range k.Masters {
		for client := range k.Callers {
			if w.Links[m][client].Frozen {
				x.free(it, func(n *World) { n.thaw(m, client) })
			}
			if _, ok := w.due(m, client, ghost); ok {
				x.fault(it, 0, func(n *World) { n.haunt(k, m, client) })
			}
		}
	}
	for c := range k.Callers {
		if w.Callers[c].Asleep {
			x.free(it, func(n *World) { n.wake(k, c) })
			if w.wakes(c) { // before it takes what has come meanwhile
				x.free(it, func(n *World) {
					n.wake(k, c)
					n.step(k, c, protocol.Event{Kind: protocol.Due}, lots[0])
				})
			}
		} else {
			x.learns(it, c)
		}
	}
	if w.Faults == 0 {
		return true
	}
	for m := range k.Masters {
		x.masterFaults(it, m)
		for client := range k.Callers {
			x.linkFaults(it, m, client)
		}
	}
	for c := range k.Callers {
		x.callerFaults(it, c)
	}
	if k.Kinds&force != 0 {
		x.fault(it, force, func(n *World) { n.forceUnlock(k) })
	}
	return true
}

func (x *mover) linkFaults(it *item, m, client int) {
	k, w := x.k, it
	first, command := w.due(m, client, up)
	_, answer := w.due(m, client, down)
	letter, handOff := w.due(m, client, post)
	if k.Kinds&freezeLink != 0 && (command || answer || handOff) {
		x.fault(it, freezeLink, func(n *World) { n.freeze(k, m, client) })
	}
	if k.Kinds&loseHandOff != 0 && handOff {
		x.fault(it, loseHandOff, func(n *World) {
			n.Messages.remove(letter)
			n.noteText("the hand-off of m%d to C%d is LOST", n.Masters[m].Name, client)
		})
	}
	if k.Kinds&breakConn != 0 && (command || answer) {
		x.fault(it, breakConn, func(n *World) {
			n.noteText("the connection of C%d to m%d BREAKS", client, n.Masters[m].Name)
			n.breakLink(m, client, true)
		})
	}
	if k.Kinds&doubled != 0 && command {
		x.fault(it, doubled, func(n *World) { n.double(m, client) })
	}
	if k.Kinds&noScript != 0 && command {
		if c := &w.Messages.list[first]; c.counts() || c.Kind == renew {
			x.fault(it, noScript, func(n *World) { n.lack(k, m, client) })
		}
	}
	if k.Kinds&late != 0 {
		for _, ch := range []channel{up, down, post} {
			if _, ok := w.due(m, client, ch); ok {
				for ticks := 1; ticks <= k.Late; ticks++ {
					x.fault(it, late, func(n *World) { n.delay(m, client, ch, ticks) })
				}
			}
		}
	}
}

func (x *mover) masterFaults(it *item, m int) {
	k, w := x.k, it
	if w.Masters[m].Dead {
		return
	}
	if k.Kinds&restart != 0 {
		x.fault(it, restart, func(n *World) { n.restart(k, m, kept{}) })
	}
	if k.Kinds&jump != 0 && w.Masters[m].lease(k, 0) != nil {
		x.fault(it, jump, func(n *World) { n.jump(k, m) })
	}
	if k.Kinds&older != 0 {
		if w.Masters[m].Saved {
			x.fault(it, older, func(n *World) { n.restart(k, m, n.Masters[m].Copy) })
		} else if !w.saved(k) && w.Masters[m].lease(k, 0) != nil {
			x.fault(it, 0, func(n *World) { n.save(m) })
		}
	}
}

func (x *mover) callerFaults(it *item, c int) {
	k, w := x.k, it
	p := &w.Callers[c]
	if p.Crashed {
		return
	}
	if k.Kinds&crash != 0 && (p.contends() || p.live() || p.Keeping) {
		x.fault(it, crash, func(n *World) { n.crash(k, c) })
	}
	waits := k.inLine(c) && !k.second(c) && !p.begun()
	if k.Kinds&giveUp != 0 && (p.contends() || waits) && !p.Asleep {
		x.fault(it, giveUp, func(n *World) {
			if waits {
				n.fresh(k, c)
			}
			n.step(k, c, protocol.Event{Kind: protocol.GiveUp}, 0)
		})
	}
	if k.Kinds&sleep != 0 && !p.Asleep && w.busy(k, c) {
		x.fault(it, sleep, func(n *World) { n.sleep(k, c) })
	}
	if k.Kinds&still != 0 && !p.Asleep && (p.contends() || p.live() || p.Keeping) {
		x.fault(it, still, func(n *World) { n.pause(k, c) })
	}
}

func (w *World) freeze(k *Case, m, client int) {
	w.Links[m][client].Frozen, w.Links[m][client].Quiet = true, uint8(4*k.Delay+2)
	w.noteText("the link of C%d to m%d FREEZES", client, w.Masters[m].Name)
}

func (w *World) thaw(m, client int) {
	l := &w.Links[m][client]
	l.Frozen, l.Quiet, l.Down = false, 0, false
	w.noteText("the link of C%d to m%d thaws", client, w.Masters[m].Name)
}

// haunt carries out the first command of a connection that has broken.
func (w *World) haunt(k *Case, m, client int) {
	i, _ := w.due(m, client, ghost)
	x := w.Messages.remove(i)
	w.Links[m][client].Dirty = true
	w.noteText("late:")
	w.carryOut(k, x, false)
}

// double leaves a copy of a command to be carried out at any time.
func (w *World) double(m, client int) {
	i, _ := w.due(m, client, up)
	x := w.Messages.list[i]
	x.Channel = ghost
	w.put(x, 0)
	w.noteText("a command of C%d to m%d is DOUBLED", client, w.Masters[m].Name)
}

// delay makes all messages of a channel late that would arrive now.
func (w *World) delay(m, client int, ch channel, ticks int) {
	i, j := w.Messages.each(m, client, ch)
	for ; i < j; i++ {
		w.Messages.list[i].Due = max(w.Messages.list[i].Due, uint8(ticks))
	}
	w.noteText("%v between C%d and m%d are %d LATE", ch, client, w.Masters[m].Name, ticks)
}

func (w *World) saved(k *Case) bool {
	return slices.ContainsFunc(w.Masters[:k.Masters], func(m Master) bool { return m.Saved })
}

func (w *World) save(m int) {
	w.Masters[m].Saved, w.Masters[m].Copy = true, w.Masters[m].kept
	w.noteText("m%d is SAVED", w.Masters[m].Name)
}

// restart ends a master's process, and with it all connections and what was under way to it. The
// next process begins with a copy.
func (w *World) restart(k *Case, m int, with kept) {
	w.noteText("m%d RESTARTS", w.Masters[m].Name)
	p := &w.Masters[m]
	p.kept, p.Guard, p.Saved, p.Copy = with, w.Now+k.guard(), false, kept{}
	p.drop(k, w.Now)
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

// crash ends a client, with its callers. What it sent before is under way.
func (w *World) crash(k *Case, c int) {
	w.process(k, c, func(p *Caller) { *p = Caller{Crashed: true, Last: p.Last, Since: p.Since} })
	w.noteText("C%d CRASHES", c)
}

// pause is sleep with a clock that stands still as well.
func (w *World) pause(k *Case, c int) {
	w.process(k, c, func(p *Caller) { p.Asleep, p.Still = true, true })
	w.noteText("C%d and its clock STAND STILL", c)
}

func (w *World) sleep(k *Case, c int) {
	w.process(k, c, func(p *Caller) { p.Asleep = true })
	w.noteText("C%d SLEEPS", c)
}

func (w *World) wake(k *Case, c int) {
	w.process(k, c, func(p *Caller) { p.Asleep, p.Still = false, false })
	w.noteText("C%d wakes", c)
}

// busy reports whether there is something for a caller to do.
func (w *World) busy(k *Case, c int) bool {
	p := &w.Callers[c]
	if !p.contends() && !p.live() && !p.Keeping {
		return false
	}
	for m := range k.Masters {
		for _, ch := range []channel{down, post} {
			if _, ok := w.due(m, k.client(c), ch); ok {
				return true
			}
		}
	}
	return w.wakes(c) || p.Keeping || p.live() && p.Hold.Due && w.clock(c).Left(p.Hold.RenewAt) <= 0
}

// forceUnlock frees the lock on all masters, whoever has it.
func (w *World) forceUnlock(k *Case) {
	w.noteText("FORCE UNLOCK")
	for c := range k.Callers {
		p := &w.Callers[c]
		p.Forced = p.Forced || p.live()
		p.Barred = p.Barred || p.live()
		for m := range k.Masters {
			for o := range w.Masters[m].leases(k) {
				p.Forced = p.Forced || o == w.current(c)
			}
		}
	}
	for m := range k.Masters {
		if p := &w.Masters[m]; !p.Dead {
			holder := p.Lock.Holder
			reply := w.force(k, p)
			w.publish(k, uint8(m), &reply)
			w.want(k, uint8(m), holder)
		}
	}
}
