package multilock

import (
	"slices"
	"sync"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

// Renewal is told what became of a hold in a round of renewals.
type Renewal interface {
	// Hold returns what to renew.
	Hold() script.Renewal
	// Renewed is called when a majority confirmed the hold: it is good until then,
	// provided that its validity had not ended before.
	Renewed(until clock.Instant)
	// NotRenewed is called when no majority confirmed it. err matches ErrLost when
	// so few masters have it that somebody else may have the lock, else ErrNoQuorum.
	NotRenewed(err *MajorityError)
}

// round is one call of Renew.
type round struct {
	m     *Masters
	lease time.Duration
	start clock.Instant
	holds []Renewal

	mu sync.Mutex
	ballot
	votes  []votes // for each hold
	unsent Set     // who got nothing
}

type votes struct {
	yes, absent, failed int8
	told                bool
}

// Renew extends holds to lease on all masters at once, and heals them: where nobody has
// the lock, it is set again, and that is a vote like the others. Each hold is told exactly
// once, from a goroutine that reads answers, so it must not block.
//
// Renew returns the masters that the renewal was sent to: from now on they may have the holds,
// and claims are there too. A release that is sent before Renew returns may come before it, and
// must be sent to them again.
//
// Cost: one script call on each master for all holds.
// Source: docs/algorithm.md, "Renew".
func (m *Masters) Renew(lease time.Duration, holds []Renewal) Set {
	r := &round{
		m:      m,
		lease:  lease,
		start:  clock.Now(),
		holds:  holds,
		ballot: ballot{answers: make([]script.Answer, len(m.nodes))},
		votes:  make([]votes, len(holds)),
	}
	list := make([]script.Renewal, len(holds))
	for i, h := range holds {
		list[i] = h.Hold()
	}
	m.send(script.Renew(lease, list), m.All(), r)
	r.mu.Lock()
	defer r.mu.Unlock()
	return m.All() &^ r.unsent
}

// Answer implements [node.Receiver].
func (r *round) Answer(i int, a script.Answer) {
	if a.Outcome == script.Done && len(a.Renewed) != len(r.holds) {
		a = script.Answer{Outcome: script.Failed, Err: errShort}
	}
	r.mu.Lock()
	r.answers[i] = a
	r.in |= 1 << i
	if a.Outcome == script.Unsent {
		r.unsent |= 1 << i
	}
	var settled []int
	for h := range r.votes {
		if r.count(h, a) {
			settled = append(settled, h)
		}
	}
	r.mu.Unlock()
	for _, h := range settled {
		r.tell(h)
	}
}

// count adds a to the votes of hold h and reports whether that settled them.
func (r *round) count(h int, a script.Answer) bool {
	v := &r.votes[h]
	switch {
	case a.Outcome != script.Done || a.Renewed[h] == script.Withdrawn:
		v.failed++
	case a.Renewed[h] == script.Extended || a.Renewed[h] == script.Healed:
		v.yes++
	default:
		v.absent++
	}
	n := len(r.m.nodes)
	open := quorum.Vote(n, int(v.yes), int(v.absent)) == quorum.Pending &&
		int(v.yes+v.absent+v.failed) < n
	if v.told || open {
		return false
	}
	v.told = true
	return true
}

// tell passes on what became of hold h. A vote that failures alone have lost is told
// when all answers are in: only then is it clear that the hold is not simply gone.
func (r *round) tell(h int) {
	r.mu.Lock()
	v := r.votes[h]
	r.mu.Unlock()
	n := len(r.m.nodes)
	if quorum.Vote(n, int(v.yes), 0) == quorum.Won {
		r.holds[h].Renewed(deadline(r.start, r.lease))
		return
	}
	state := ErrNoQuorum
	if quorum.Vote(n, 0, int(v.absent)) == quorum.Lost {
		state = ErrLost
	}
	r.holds[h].NotRenewed(r.lost(h, state))
}

// lost makes the error of hold h, from its part of the answers.
func (r *round) lost(h int, state error) *MajorityError {
	r.mu.Lock()
	b := ballot{answers: slices.Clone(r.answers), in: r.in}
	r.mu.Unlock()
	for i, a := range b.answers {
		if a.Outcome != script.Done {
			continue
		}
		switch a.Renewed[h] {
		case script.Extended, script.Healed:
		case script.Withdrawn:
			b.answers[i].Outcome = script.Unsent
		default:
			b.answers[i] = script.Answer{Outcome: script.Refused, Err: a.NotLock[h]}
			if a.Renewed[h] == script.Foreign {
				b.answers[i].Err = errForeign
			}
		}
	}
	return r.m.lost("renew", r.holds[h].Hold().Key, &b, state, nil, nil)
}
