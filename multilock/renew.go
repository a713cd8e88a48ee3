package multilock

import (
	"context"
	"errors"
	"time"

	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktrace"
)

// renewals are one script call for several holds, and take its answers: each hold has a round of its own.
type renewals struct {
	rounds []*round
	holds  []script.Renewal
}

// renew renews what is due to lease. What the drivers send meanwhile does not overtake it, since their outboxes are held
// up until it is sent.
//
// Callers of this client that wait for these locks, and have not asked yet, ask with the same flush. Their entries come
// first: a renewal that makes a reader of a writer lets in whoever is first in the queue.
//
// Cost: one script call on each master for all holds.
// Source: docs/how-it-works.md, "Renew".
func (m *Masters) renew(lease time.Duration, due []*driver) {
	all := new(renewals)
	for _, d := range due {
		d.reserve()
		if !d.joinRenewal(all, lease) {
			d.resume()
		}
	}
	if len(all.rounds) == 0 {
		return
	}
	for _, r := range all.rounds {
		m.startNext(r.d.key, nil)
	}
	m.All.Send(script.Renew(lease, all.holds), m.All.Set(), all)
	for _, r := range all.rounds {
		r.d.resume()
	}
}

// joinRenewal adds the renewal of a hold to all, and is true, unless the hold has ended. If an entry a moment ago gave it
// another lease, it is renewed by a command of its own, and joinRenewal is false as well.
func (d *driver) joinRenewal(all *renewals, lease time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.renewLocked(&attempt.Event{Kind: attempt.Renew}, redlocktrace.RenewalWatchdog)
	switch {
	case r == nil:
		return false
	case d.lastLocked().Lease != lease:
		d.postRenewalLocked(r)
		return false
	}
	all.addLocked(r)
	return true
}

// lastLocked is the round that the attempt wanted last.
func (d *driver) lastLocked() *attempt.Round { return &d.state.Rounds[len(d.state.Rounds)-1] }

// renewLocked makes the renewal that ev wants, nil if the hold has ended. It is yet to be sent.
func (d *driver) renewLocked(ev *attempt.Event, what redlocktrace.Renewal) *round {
	r := d.stepLocked(ev)
	if r == nil || r.command != attempt.Extend {
		return nil
	}
	if d.state.Want.Shared && d.owner.Mode == script.Exclusive {
		d.owner = d.owner.AsReader()
	}
	if d.m.trace != nil {
		r.trace = &roundTrace{renewal: what, sent: time.Now(), left: d.m.left(d.state.Until)}
	}
	return r
}

// postRenewalLocked puts a renewal of one hold into the outbox.
func (d *driver) postRenewalLocked(r *round) {
	one := new(renewals)
	one.addLocked(r)
	d.postLocked(message{ahead: true, cmd: script.Renew(d.lastLocked().Lease, one.holds), at: r.at, to: one})
}

// addLocked adds the round that was wanted last.
func (all *renewals) addLocked(r *round) {
	last := r.d.lastLocked()
	all.rounds = append(all.rounds, r)
	all.holds = append(all.holds, script.Renewal{Owner: r.d.owner, Count: int(last.Count), Token: last.Token})
}

// Answer implements [node.Receiver].
func (all *renewals) Answer(i int, a script.Answer) {
	for n, r := range all.rounds {
		r.Answer(i, renewed(a, n))
	}
}

// renewed returns what a says of the n-th hold.
func renewed(a script.Answer, n int) script.Answer {
	if a.Outcome != script.Done {
		return a
	}
	one := script.Answer{Outcome: script.Refused, Err: a.Errors[n]}
	switch a.Renewed[n] {
	case script.Extended:
		one = script.Answer{Outcome: script.Done}
	case script.Healed:
		one = script.Answer{Outcome: script.Done, Renewed: healed}
	case script.Errored:
		one.Outcome = script.Failed
	case script.Foreign:
		one.Err = errForeign
	}
	return one
}

// healed is what an answer to one round says where the hold was set again.
var healed = []script.Renewed{script.Healed}

// Extend extends the hold to lease from now for one of its entries. See redlock.Hold.Extend for its
// errors.
func (h *Hold) Extend(ctx context.Context, e Entry, lease time.Duration) error {
	return h.renewFor(ctx, e, redlocktrace.RenewalExtend, attempt.Event{Kind: attempt.Renew, Lease: lease})
}

// Downgrade makes an exclusive hold a shared one, for all of its entries. See
// redlock.Hold.Downgrade for its errors.
//
// The hold counts as a reader's at once, whatever the masters know: a reader may only do less. Each
// master follows with the first renewal that reaches it, and lets in the readers that wait there.
//
// Cost: one script call on each master. Source: docs/how-it-works.md, "Readers".
func (h *Hold) Downgrade(ctx context.Context, e Entry) error {
	return h.renewFor(ctx, e, redlocktrace.RenewalDowngrade, attempt.Event{Kind: attempt.Downgrade})
}

var errPermit = errors.New("it is a permit")

// renewFor sends the renewal that ev wants for one of the entries, which must be held, and waits for its result. A renewal
// that was sent for a writer, and that reaches the masters after the downgrade, is refused there. That says nothing of
// the reader that the hold is by now, so the renewal is sent again.
func (h *Hold) renewFor(ctx context.Context, e Entry, what redlocktrace.Renewal, ev attempt.Event) error {
	cause := h.Check()
	h.d.mu.Lock()
	held := h.d.hold == h && h.d.state.Find(e) >= 0
	h.d.mu.Unlock()
	switch {
	case !held:
		return poll.ErrNotHeld
	case cause != nil:
		return cause
	case !h.d.m.All.Begin():
		return poll.ErrClosed
	}
	defer h.d.m.All.End()
	if ev.Kind == attempt.Downgrade && h.d.slot >= 0 {
		return poll.Fail(string(what), h.Name(), errPermit)
	}
	for again := true; ; again = false {
		r, err := h.renewOnce(ctx, what, ev)
		if cause := h.Check(); err == nil || cause != nil {
			return cause // it may have been given back meanwhile
		}
		if r == nil || !again || r.result != attempt.Failed || r.shared == h.Shared() {
			return err
		}
	}
}

// renewOnce is renewFor for one round, which is nil if ctx ended first.
func (h *Hold) renewOnce(ctx context.Context, what redlocktrace.Renewal, ev attempt.Event) (*round, error) {
	defer h.d.flush()
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if !h.liveLocked() {
		return nil, h.cause
	}
	r := h.d.renewLocked(&ev, what)
	if r == nil {
		return nil, h.cause
	}
	r.op = string(what)
	h.d.postRenewalLocked(r)
	h.d.mu.Unlock()
	cut := h.d.await(ctx, r)
	h.d.mu.Lock()
	if cut != nil {
		return nil, poll.Fail(r.op, h.Name(), cut)
	}
	if r.err != nil {
		return r, r.err
	}
	return r, nil
}
