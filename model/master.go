package main

import (
	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script/twin"
)

// What a master does is the twin's, and so the scripts'. What is said here is what package node
// adds: a guarded master is not asked for holds.

// carryOut has a master carry out a command. Its answer, if there is one, is that of a ghost or of
// a command that comes twice otherwise: nobody reads it.
func (w *World) carryOut(k *Case, x Message, answer bool) {
	m := &w.Masters[x.Master]
	now, guarded := millis(w.Now), m.Guard > w.Now
	hears := func(o twin.Owner) bool { return o != twin.Redisson && !w.Callers[callerOf(o)].Crashed }
	entry := twin.Entry{Owner: x.Owner, Round: x.Round, Since: x.Since, Lease: millis(int64(x.Lease)), Proposal: x.Token}
	lease := millis(int64(k.Lease))
	reply := twin.Reply{Outcome: twin.Refused}
	unsent := false
	switch x.Kind {
	case ask:
		switch {
		case x.Command == protocol.QueueOnly:
			reply = m.Lock.Register(now, entry)
		case x.Command == protocol.EnterAgain:
			reply = m.Lock.Enter(now, twin.Exclusive, x.Owner, 2, lease)
		case guarded:
			unsent = true
		case x.Command == protocol.AskOnce:
			reply = m.Lock.Acquire(now, hears, twin.Exclusive, x.Owner, lease, x.Token)
		default:
			reply = m.Lock.AcquireOrRegister(now, hears, lease, entry)
		}
	case release:
		token := x.Token
		if guarded || x.Yield {
			token = twin.NoToken
		}
		if x.Next != 0 {
			entry.Owner, entry.Since = x.Next, x.Behind
			reply = m.Lock.ReleaseTo(now, hears, twin.Exclusive, x.Owner, token, entry)
		} else {
			reply = m.Lock.Release(now, hears, twin.Exclusive, x.Owner, token)
		}
	case raise:
		reply = m.Lock.Raise(now, twin.Exclusive, x.Owner, x.Token)
	case renew:
		reply = m.Lock.Renew(now, hears, twin.Exclusive, x.Owner, 1, lease, x.Token, !guarded)
	}
	if !k.Tokens {
		m.Lock.Counter, reply.Token = 1, 1
	}
	w.publish(k, x.Master, &reply)
	w.noteCarry(x)
	if !answer || x.Kind == release && x.Next == 0 {
		return
	}
	x.Channel = down
	if x.Kind == ask {
		x.Since, x.Lease = 0, 0 // the client knows
	}
	x.Outcome, x.Found = outcome(reply.Outcome, unsent), whatFound(reply.Renewed)
	x.Holder, x.Left, x.Token, x.Ahead = reply.Holder, reply.Left, reply.Token, uint8(reply.Rank)
	w.put(x, k.back(int(x.Client), int(x.Master)))
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

func outcome(o twin.Outcome, unsent bool) protocol.Outcome {
	switch {
	case unsent:
		return protocol.Unsent
	case o == twin.Done:
		return protocol.Yes
	case o == twin.Refused:
		return protocol.No
	}
	return protocol.Errored
}

func whatFound(r twin.Renewed) protocol.Found {
	if r == twin.Extended || r == twin.Healed {
		return protocol.FoundHold
	}
	return protocol.FoundAbsent
}
