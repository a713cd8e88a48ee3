package multilock

import (
	"context"
	"errors"
	"slices"
	"time"

	"example.com/redlock/multilock/poll"
	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktrace"
)

var errForeign = errors.New("held by another owner")

// renewal is one of the holds that a call renews, and who is told what became of it.
type renewal struct {
	hold  *Hold
	of    script.Renewal
	told  func(ev protocol.HoldEvent, why *poll.MajorityError)
	state protocol.Renewal
}

// renewal makes the renewal that an event wants, unless the hold has ended; why says why then. It must be
// sent: see extend.
func (h *Hold) renewal(kind protocol.HoldKind, told func(ev protocol.HoldEvent, why *poll.MajorityError)) (r renewal, why error) {
	h.mu.Lock()
	out, ended := h.stepLocked(protocol.HoldEvent{Kind: kind})
	if ended {
		h.finish(out, nil)
		return r, h.Check()
	}
	defer h.mu.Unlock()
	if !out.Renew {
		return r, h.cause
	}
	if h.state.Shared && h.claim.Mode == script.Exclusive {
		h.claim.Owner = script.NewReader(h.key, h.id)
	}
	return renewal{
		hold: h, told: told, of: script.Renewal{Owner: h.claim.Owner, Count: h.state.Count(), Token: h.claim.Token},
		state: protocol.Renewal{Shared: h.state.Shared},
	}, nil
}

// renewals are one script call for several holds.
type renewals struct {
	m     *Masters
	list  []renewal
	trace *renewalTrace
}

// extend sends renewals that were made, which extend holds to lease on all masters at once, and heal them: where
// nobody has the lock, it is set again, and that is a vote like the others. told is called exactly once for each, by a
// goroutine that reads answers, so it must not block. what is for the trace.
//
// Callers who are to wait for these locks, and have asked nobody yet, do so with the same flush. They
// come first: where the renewal makes a reader of a writer, it lets in whoever is first in the queue.
//
// Cost: one script call on each master for all holds.
// Source: docs/how-it-works.md, "Renew".
func (m *Masters) extend(what redlocktrace.Renewal, lease time.Duration, list []renewal) {
	p := poll.Taking(m.NewBallot(), &renewals{m: m, list: list, trace: m.traceRenewal(what, list)})
	now, holds := m.now(), make([]script.Renewal, len(list))
	for i := range list {
		one := &list[i]
		one.state.Sent, one.state.Lease = now, lease
		holds[i] = one.of
		if next, others := m.next(one.hold.key); next != nil {
			m.queueAll(append([]*contest{next}, others...))
		}
	}
	m.Send(script.Renew(lease, holds), m.All(), &p)
	at, b := m.All(), p.Ballot()
	for i, a := range b.Answers {
		if b.In.Has(i) && a.Outcome == script.Unsent {
			at &^= 1 << i
		}
	}
	for i := range list {
		list[i].hold.sent(at)
	}
}

// Take implements [poll.Taker].
func (r *renewals) Take(b *poll.Ballot, i int, a script.Answer) (settled bool, then func()) {
	var fates []func()
	for h := range r.list {
		ev, ok := r.list[h].state.Step(&r.m.conf, i, found(a, h))
		if !ok {
			continue
		}
		why := r.lost(b, h, ev.Kind)
		if r.trace != nil {
			r.trace.settled(r, b, h, ev, why)
		}
		fates = append(fates, func() { r.list[h].told(ev, why) })
	}
	return false, func() {
		for _, tell := range fates {
			tell()
		}
	}
}

// found returns what a says of hold h.
func found(a script.Answer, h int) protocol.Found {
	switch {
	case a.Outcome != script.Done || a.Renewed[h] == script.Errored:
		return protocol.FoundNothing
	case a.Renewed[h] == script.Extended || a.Renewed[h] == script.Healed:
		return protocol.FoundHold
	}
	return protocol.FoundAbsent
}

// lost makes the error of hold h from its part of the answers, nil if it was renewed.
func (r *renewals) lost(all *poll.Ballot, h int, kind protocol.HoldKind) *poll.MajorityError {
	state := poll.ErrNoQuorum
	switch kind {
	case protocol.HoldRenewed:
		return nil
	case protocol.HoldLost:
		state = poll.ErrLost
	}
	b := *all
	b.Answers = slices.Clone(b.Answers)
	for i, a := range b.Answers {
		if a.Outcome != script.Done {
			continue
		}
		switch a.Renewed[h] {
		case script.Extended, script.Healed:
		case script.Errored:
			b.Answers[i] = script.Answer{Outcome: script.Failed, Err: a.Errors[h]}
		default:
			b.Answers[i] = script.Answer{Outcome: script.Refused, Err: a.Errors[h]}
			if a.Renewed[h] == script.Foreign {
				b.Answers[i].Err = errForeign
			}
		}
	}
	return r.m.Lost("renew", r.list[h].hold.key, &b, state, nil, nil)
}

// renew renews holds whose renewal is due.
func (m *Masters) renew(lease time.Duration, holds []*Hold) {
	list := make([]renewal, 0, len(holds))
	for _, h := range holds {
		if r, why := h.renewal(protocol.HoldRenew, h.renewed); why == nil {
			list = append(list, r)
		}
	}
	if len(list) > 0 {
		m.extend(redlocktrace.RenewalWatchdog, lease, list)
	}
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
func (h *Hold) renewed(ev protocol.HoldEvent, why *poll.MajorityError) {
	h.mu.Lock()
	h.why = why // of HoldRenewed it is nil
	out, ended := h.stepLocked(ev)
	if ended {
		h.finish(out, why) // a nil why is not looked at: validity is over
		return
	}
	h.mu.Unlock()
	h.m.reportRenewal(h)
}

// Extend extends the hold to lease from now for one of its entries. See redlock.Hold.Extend for its
// errors.
func (h *Hold) Extend(ctx context.Context, e Entry, lease time.Duration) error {
	if err := h.beginFor(e); err != nil {
		return err
	}
	defer h.m.End()
	err := h.renewNow(ctx, protocol.HoldExtend, "extend", lease)
	if err == errDowngraded {
		err = h.renewNow(ctx, protocol.HoldExtend, "extend", lease)
	}
	return err
}

// errDowngraded says that a renewal was sent for a writer and came behind the downgrade. It found readers,
// which says nothing of the reader that the hold is by now.
var errDowngraded = errors.New("downgraded meanwhile")

var errPermit = errors.New("it is a permit")

// Downgrade makes an exclusive hold a shared one, for all of its entries. See
// redlock.Hold.Downgrade for its errors.
//
// The hold counts as a reader's at once, whatever the masters know: a reader may only do less. Each
// master follows with the first renewal that reaches it, and lets in the readers that wait there.
//
// Cost: one script call on each master. Source: docs/how-it-works.md, "Readers".
func (h *Hold) Downgrade(ctx context.Context, e Entry) error {
	if err := h.beginFor(e); err != nil {
		return err
	}
	defer h.m.End()
	if h.isPermit() {
		return poll.Fail("downgrade", h.Name(), errPermit)
	}
	h.mu.Lock()
	lease := h.state.Lease
	h.mu.Unlock()
	return h.renewNow(ctx, protocol.HoldDowngrade, "downgrade", lease)
}

// beginFor begins an operation for one of the hold's entries, which must be held.
func (h *Hold) beginFor(e Entry) error {
	cause := h.Check()
	h.mu.Lock()
	held := h.state.Has(e)
	h.mu.Unlock()
	switch {
	case !held:
		return poll.ErrNotHeld
	case cause != nil:
		return cause
	case !h.m.Begin():
		return poll.ErrClosed
	}
	return nil
}

// renewNow sends the renewal that an event wants for op, and waits for what becomes of it.
func (h *Hold) renewNow(ctx context.Context, kind protocol.HoldKind, op string, lease time.Duration) error {
	result := make(chan error, 1)
	r, why := h.renewal(kind, func(ev protocol.HoldEvent, why *poll.MajorityError) {
		result <- h.extended(op, ev, why)
	})
	if why != nil {
		return why
	}
	h.m.extend(redlocktrace.Renewal(op), lease, []renewal{r})
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return poll.Fail(op, h.key, poll.Ended(ctx))
	}
}

// extended takes what became of a renewal for op, and returns its error, nil if a majority confirmed
// it.
func (h *Hold) extended(op string, ev protocol.HoldEvent, why *poll.MajorityError) error {
	if why == nil {
		ev.Kind = protocol.HoldExtended
		h.step(ev, nil)
		return h.Check()
	}
	named := *why // the trace has the other
	named.Op = op
	why = &named
	if ev.Kind == protocol.HoldLost {
		h.step(ev, why)
	}
	if cause := h.Check(); cause != nil {
		return cause // it may have been given back meanwhile
	}
	if ev.Kind == protocol.HoldLost {
		return errDowngraded
	}
	return why
}
