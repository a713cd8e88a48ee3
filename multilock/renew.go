package multilock

import (
	"slices"
	"sync"
	"time"

	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktrace"
)

// renewal is one of the holds that a call renews, and who is told what became of it.
type renewal struct {
	hold  *Hold
	told  func(ev protocol.HoldEvent, why *MajorityError)
	state protocol.Renewal
}

// renewals are one script call for several holds.
type renewals struct {
	m    *Masters
	list []renewal

	mu     sync.Mutex
	ballot ballot
	unsent Set // masters that got nothing
	trace  *renewalTrace
}

// extend extends holds to lease on all masters at once, and heals them: where nobody has the lock,
// it is set again, and that is a vote like the others. told is called exactly once for each, by a
// goroutine that reads answers, so it must not block. what is for the trace.
//
// Callers who are to wait for these locks, and have asked nobody yet, do so in the same script call. They
// come first: where the renewal makes a reader of a writer, it lets in whoever is first in the queue.
//
// Cost: one script call on each master for all holds.
// Source: docs/algorithm.md, "Renew".
func (m *Masters) extend(what redlocktrace.Renewal, lease time.Duration, list []renewal) {
	r := &renewals{m: m, list: list, ballot: m.newBallot(), trace: m.traceRenewal(what, list)}
	holds := make([]script.Renewal, len(list))
	now := m.now()
	for i := range list {
		holds[i] = list[i].hold.renewal()
		list[i].state = protocol.Renewal{Sent: now, Lease: lease, Shared: holds[i].Mode == script.Shared}
	}
	m.queueAll(m.unbegun(list))
	m.send(script.Renew(lease, holds), m.All(), r)
	r.mu.Lock()
	at := m.All() &^ r.unsent
	r.mu.Unlock()
	for i := range list {
		list[i].hold.sent(at)
	}
}

// told is a hold that is to be told what became of its renewal.
type told struct {
	i   int
	ev  protocol.HoldEvent
	why *MajorityError
}

// Answer implements [node.Receiver].
func (r *renewals) Answer(i int, a script.Answer) {
	if a.Outcome == script.Done && len(a.Renewed) != len(r.list) {
		a = script.Answer{Outcome: script.Failed, Err: errShort}
	}
	r.mu.Lock()
	r.ballot.put(i, a)
	if a.Outcome == script.Unsent {
		r.unsent |= 1 << i
	}
	if r.trace != nil {
		r.trace.healedLocked(r, i, a)
	}
	var settled []told
	for h := range r.list {
		if ev, ok := r.list[h].state.Step(&r.m.conf, i, found(a, h)); ok {
			why := r.lostLocked(h, ev.Kind)
			if r.trace != nil {
				r.trace.settledLocked(r, h, ev, why)
			}
			settled = append(settled, told{h, ev, why})
		}
	}
	r.mu.Unlock()
	for _, t := range settled {
		r.list[t.i].told(t.ev, t.why)
	}
}

// found returns what a says of hold h.
func found(a script.Answer, h int) protocol.Found {
	switch {
	case a.Outcome != script.Done || a.Renewed[h] == script.Withdrawn || a.Renewed[h] == script.Errored:
		return protocol.FoundNothing
	case a.Renewed[h] == script.Extended || a.Renewed[h] == script.Healed:
		return protocol.FoundHold
	}
	return protocol.FoundAbsent
}

// lostLocked makes the error of hold h from its part of the answers, nil if it was renewed.
func (r *renewals) lostLocked(h int, kind protocol.HoldKind) *MajorityError {
	state := ErrNoQuorum
	switch kind {
	case protocol.HoldRenewed:
		return nil
	case protocol.HoldLost:
		state = ErrLost
	}
	b := r.ballot
	b.answers = slices.Clone(b.answers)
	for i, a := range b.answers {
		if a.Outcome != script.Done {
			continue
		}
		switch a.Renewed[h] {
		case script.Extended, script.Healed:
		case script.Withdrawn:
			b.answers[i].Outcome = script.Unsent
		case script.Errored:
			b.answers[i] = script.Answer{Outcome: script.Failed, Err: a.Errors[h]}
		default:
			b.answers[i] = script.Answer{Outcome: script.Refused, Err: a.Errors[h]}
			if a.Renewed[h] == script.Foreign {
				b.answers[i].Err = errForeign
			}
		}
	}
	return r.m.lost("renew", r.list[h].hold.key, &b, state, nil, nil)
}

// unbegun returns the contests of the callers who bid for what is renewed and have asked nobody yet.
func (m *Masters) unbegun(list []renewal) (all []*contest) {
	for i := range list {
		if next, others := m.next(list[i].hold.target); next != nil {
			all = append(append(all, next), others...)
		}
	}
	return all
}

// renew renews holds whose renewal is due.
func (m *Masters) renew(lease time.Duration, holds []*Hold) {
	list := make([]renewal, 0, len(holds))
	for _, h := range holds {
		h.step(protocol.HoldEvent{Kind: protocol.HoldRenew}, nil)
		if h.Check() == nil {
			list = append(list, renewal{hold: h, told: h.renewed})
		}
	}
	if len(list) > 0 {
		m.extend(redlocktrace.RenewalWatchdog, lease, list)
	}
}

// renewal returns what to renew.
func (h *Hold) renewal() script.Renewal {
	h.mu.Lock()
	defer h.mu.Unlock()
	return script.Renewal{Owner: h.claim.Owner, Count: h.entries.Count(), Token: h.claim.Token}
}

// sent notes that a renewal was sent to the masters in at. They may have the hold from now on,
// since a renewal heals. If the hold ended meanwhile, its release may have been sent before the
// renewal, which then sets the lock again: so it is released once more, after the first release,
// whose answers say whether the hold was there.
func (h *Hold) sent(at Set) {
	h.mu.Lock()
	out, ended := h.stepLocked(protocol.HoldEvent{Kind: protocol.HoldSent, At: at})
	claim := h.claim
	claim.At, claim.trace = at, nil // its release is told by the first
	again := out.Release != 0
	if ended {
		h.finish(out, nil)
	} else {
		h.mu.Unlock()
	}
	if again {
		<-h.ended()
		h.m.release(claim, 0)
	}
}

// renewed is told what became of a renewal that was due. While validity is left, a renewal that
// failed is followed by another, the sooner the less is left.
func (h *Hold) renewed(ev protocol.HoldEvent, why *MajorityError) {
	h.mu.Lock()
	h.why = why // of HoldRenewed it is nil
	out, ended := h.stepLocked(ev)
	if ended {
		h.finish(out, why) // a nil why is not looked at: validity is over
		return
	}
	live, left := h.state.Live(), h.m.left(h.state.Until)
	h.mu.Unlock()
	if live && why != nil {
		h.m.log.Warn("redlock: renewal failed", "name", h.key, "left", left.Round(time.Millisecond), "error", why)
	}
}
