package main

import (
	"iter"
	"slices"

	"example.com/redlock/multilock/attempt"
	"example.com/redlock/node/script/twin"
)

// What a master does is the twin's, and so the scripts'. What is said here is what package node
// adds: a guarded master is not asked for holds.

// carryOut has a master carry out a command. Its answer, if there is one, is that of a ghost or of
// a command that comes twice otherwise: nobody reads it.
func (w *World) carryOut(k *Case, x Message, answer bool) {
	m := &w.Masters[x.Master]
	order := order{
		Message: x, now: millis(w.Now), guarded: m.Guard > w.Now || w.Callers[x.Client].Steady[x.Master] > 0, lease: millis(int64(k.lease(callerOf(x.Owner)))), hears: func(o twin.Owner) bool { return w.hears(k, o) },
		entry: twin.Entry{
			Owner: x.Owner, Round: x.Round, Since: x.Since, Lease: millis(int64(x.Lease)), Proposal: x.Token,
		},
	}
	asker := x.Owner
	if x.Next != 0 {
		asker = x.Next
		order.entry.Owner, order.entry.Since = x.Next, x.Behind
	}
	order.entry.Mode, order.entry.Polls = mode(k.reads(callerOf(asker))), k.deaf(callerOf(asker))
	order.waits = k.want(callerOf(x.Owner)).Wait
	var reply twin.Reply
	withheld := m.Guard > w.Now && x.Kind == ask && x.Command != attempt.Register
	unsent := withheld && !k.want(callerOf(x.Owner)).Wait
	if withheld {
		order.Command = attempt.Register
	}
	if !unsent {
		reply = order.lock(&m.Lock)
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
		w.noteText("m%d carries out %v -> %s", m.Name, new(x), w.master(k, int(x.Master)))
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

// hears reports whether the client of an owner is there.
func (w *World) hears(k *Case, o twin.Owner) bool {
	return o != twin.Redisson && !w.Callers[callerOf(o)].Crashed && !k.deaf(callerOf(o))
}

// order is a command with what a master needs to carry it out.
type order struct {
	Message
	now, lease int64
	guarded    bool
	waits      bool // who asks
	hears      twin.Hears
	entry      twin.Entry // of who asks, or is entered
}

// mode is how an owner has a lock.
func mode(shared bool) twin.Mode {
	if shared {
		return twin.Shared
	}
	return twin.Exclusive
}

// last is the token that a release says.
func (x *order) last() int64 {
	if x.guarded || x.Yield {
		return twin.NoToken
	}
	return x.Token
}

// lock carries out a command for a lock.
func (x *order) lock(l *twin.Lock) twin.Reply {
	switch x.Kind {
	case ask:
		switch {
		case x.Command == attempt.Register:
			x.lease = 0
		case !x.waits:
			x.entry = twin.Entry{Owner: x.Owner, Mode: mode(x.Shared), Proposal: x.Token}
		}
		return l.Acquire(x.now, x.hears, x.lease, x.entry)
	case release:
		if x.Next == 0 {
			x.entry = twin.Entry{}
		}
		return l.Release(x.now, x.hears, mode(x.Shared), x.Owner, x.last(), x.entry)
	case raise:
		return l.Raise(x.now, mode(x.Shared), x.Owner, x.Token)
	case count:
		return l.Enter(x.now, mode(x.Shared), x.Owner, int32(x.Count), millis(int64(x.Lease)))
	default:
		return l.Renew(x.now, x.hears, mode(x.Shared), x.Owner, int32(x.Count), x.lease, x.Token, !x.guarded)
	}
}

// force frees what a master has, whoever has it.
func (w *World) force(k *Case, m *Master) (reply twin.Reply) {
	hears := func(o twin.Owner) bool { return w.hears(k, o) }
	reply = m.Lock.Force(millis(w.Now), hears, w.Clock)
	if !k.Tokens {
		m.Lock.Counter = 1
	}
	return reply
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
