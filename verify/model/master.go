package main

import (
	"iter"
	"slices"

	"example.com/redlock/multilock/attempt"
	"example.com/redlock/node/script/twin"
)

// What a master does is what its twin does, and so what the scripts do. Here is only what package node adds: a guarded
// master is not asked for holds.

// carryOut makes a master carry out a command. If answer is false, nobody reads the answer: the command is a ghost, or
// comes a second time.
func (w *World) carryOut(k *Case, x Message, answer bool) {
	m, waits := &w.Masters[x.Master], k.want(callerOf(x.Owner)).Wait
	guarded := m.Guard > w.Now
	withheld := guarded && x.Kind == ask && x.Command != attempt.Register
	unsent := withheld && !waits
	command := x
	if withheld {
		command.Command = attempt.Register
	}
	var reply twin.Reply
	if !unsent {
		reply = w.run(k, &m.Lock, &command, guarded || w.Callers[x.Client].Steady[x.Master] > 0)
	}
	if !k.Tokens {
		m.Lock.Counter = 1
		reply.Token = 1
	}
	w.publish(k, x.Master, &reply)
	if x.Kind == ask && reply.Outcome == twin.Refused {
		w.want(k, x.Master, reply.Holder)
	}
	if w.log != nil {
		w.noteText("m%d carries out %v -> %s", m.Name, new(x), w.master(int(x.Master)))
	}
	if !answer || x.unheard() {
		return
	}
	x.Channel = down
	if x.Kind == ask {
		x.Since, x.Lease = 0, 0 // the client knows
	}
	x.Outcome = outcome(reply.Outcome, unsent)
	if x.Kind == renew && reply.Renewed != twin.Extended && reply.Renewed != twin.Healed {
		x.Outcome = attempt.No
	}
	if withheld && !unsent {
		x.Outcome = attempt.Errored
	}
	x.Holder, x.Left, x.Token, x.Ahead = reply.Holder, reply.Left, reply.Token, uint8(reply.Rank)
	w.put(x, k.back(int(x.Client), int(x.Master)))
}

// run runs the script of a command. A master that is guarded, or whose clock ran ahead, hands nothing off and heals
// nothing.
func (w *World) run(k *Case, l *twin.Lock, x *Message, guarded bool) twin.Reply {
	now, mode, lease := millis(w.Now), mode(x.Shared), millis(int64(k.lease(callerOf(x.Owner))))
	hears := func(o twin.Owner) bool { return w.hears(k, o) }
	switch x.Kind {
	case ask:
		entry := k.entry(x, x.Owner, x.Since)
		switch {
		case x.Command == attempt.Register:
			lease = 0
		case !k.want(callerOf(x.Owner)).Wait:
			entry = twin.Entry{Owner: x.Owner, Mode: mode, Proposal: x.Token}
		}
		return l.Acquire(now, hears, lease, entry)
	case release:
		token, next := x.Token, twin.Entry{}
		if guarded || x.Yield {
			token = twin.NoToken
		}
		if x.Next != 0 {
			next = k.entry(x, x.Next, x.Behind)
		}
		return l.Release(now, hears, mode, x.Owner, token, next)
	case raise:
		return l.Raise(now, mode, x.Owner, x.Token)
	case count:
		return l.Enter(now, mode, x.Owner, int32(x.Count), millis(int64(x.Lease)))
	default:
		return l.Renew(now, hears, mode, x.Owner, int32(x.Count), lease, x.Token, !guarded)
	}
}

// entry is the entry in the queue that a command makes for an owner.
func (k *Case) entry(x *Message, o twin.Owner, since int64) twin.Entry {
	return twin.Entry{
		Owner: o, Round: x.Round, Since: since, Lease: millis(int64(x.Lease)), Proposal: x.Token,
		Mode: mode(k.reads(callerOf(o))), Polls: k.deaf(callerOf(o)),
	}
}

// hears reports whether the client of an owner is there.
func (w *World) hears(k *Case, o twin.Owner) bool {
	return o != twin.Redisson && !w.Callers[callerOf(o)].Crashed && !k.deaf(callerOf(o))
}

// mode is how an owner has a lock.
func mode(shared bool) twin.Mode {
	if shared {
		return twin.Shared
	}
	return twin.Exclusive
}

// publish sends each hand-off to the client of its owner.
func (w *World) publish(k *Case, m uint8, reply *twin.Reply) {
	for _, to := range reply.HandOffs {
		if to.Owner == 0 {
			return
		}
		if !k.Tokens {
			to.Token = 1
		}
		client := k.client(callerOf(to.Owner))
		w.put(Message{
			Master: m, Client: uint8(client), Channel: post, Kind: handOff,
			Owner: to.Owner, Round: to.Round, Token: to.Token,
		}, k.back(client, int(m)))
	}
}

func outcome(o twin.Outcome, unsent bool) attempt.Outcome {
	switch {
	case unsent:
		return attempt.Unsent
	case o == twin.Done:
		return attempt.Yes
	case o == twin.Refused:
		return attempt.No
	}
	return attempt.Errored
}

// kept is what a master has of the lock.
type kept struct{ Lock twin.Lock }

// filled returns the front of a list of which the rest is zero.
func filled[T comparable](list []T) []T {
	if n := slices.Index(list, *new(T)); n >= 0 {
		return list[:n]
	}
	return list
}

// leases are those who have the lock, and until when.
func (p *kept) leases() iter.Seq2[twin.Owner, *int64] {
	return func(yield func(twin.Owner, *int64) bool) {
		switch l := &p.Lock; l.Holder {
		case 0:
		case twin.Readers:
			for i := range filled(l.Reading[:]) {
				if r := &l.Reading[i]; !yield(r.Owner, &r.Until) {
					return
				}
			}
		default:
			yield(l.Holder, &l.Expires)
		}
	}
}

// owners are those who have something there, and those who wait.
func (p *kept) owners() iter.Seq[twin.Owner] {
	return func(yield func(twin.Owner) bool) {
		for o := range p.leases() {
			if !yield(o) {
				return
			}
		}
		for _, e := range filled(p.Lock.Queue[:]) {
			if !yield(e.Owner) {
				return
			}
		}
	}
}

// has reports whether an owner has the lock.
func (p *kept) has(o twin.Owner) bool {
	for holder := range p.leases() {
		if holder == o {
			return true
		}
	}
	return false
}

// free reports whether nobody has anything, and nobody waits.
func (p *kept) free() bool { return p.Lock.Holder == 0 && p.Lock.Queue[0].Owner == 0 }

// expire drops what has run out. An entry in the queue that is stale does nothing any more, and
// the queue itself lasts for as long as anybody is in it.
func (p *kept) expire(now int64) {
	p.Lock.Expire(millis(now))
	l, n := &p.Lock, 0
	for _, e := range l.Queue {
		if e.Owner != 0 && e.Stale > millis(now) {
			l.Queue[n] = e
			n++
		}
	}
	clear(l.Queue[n:])
	if l.QueueExpires = 0; n > 0 {
		l.QueueExpires = millis(now) + forever
	}
}

// forever is longer than what is looked at takes.
const forever = 10_000

// last has a lock that is shared end with the last of its readers.
func (p *kept) last() {
	if l := &p.Lock; l.Holder == twin.Readers {
		l.Expires = 0
		for _, r := range l.Reading {
			l.Expires = max(l.Expires, r.Until)
		}
	}
}
