package multilock

import (
	"errors"
	"time"

	"example.com/redlock/internal/tracer"
	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktrace"
)

// holdTrace is what the trace of the call that got a hold is told of it. Hold.mu guards it.
type holdTrace struct {
	call  *callTrace
	since time.Time

	hold  redlocktrace.Hold // once it has ended
	ended time.Time
}

// hold makes the trace of a hold that the call has got, nil if the call has none.
func (t *callTrace) hold() *holdTrace {
	if t == nil {
		return nil
	}
	return &holdTrace{call: t, since: time.Now()}
}

// aboutLocked says which hold an event is about.
func (h *Hold) aboutLocked() redlocktrace.Hold {
	return redlocktrace.Hold{Call: h.claim.trace.call.Call, Owner: h.id, Token: h.claim.Token, Slot: h.claim.Slot()}
}

// endedLocked tells that h has ended.
func (t *holdTrace) endedLocked(h *Hold) {
	t.hold, t.ended = h.aboutLocked(), time.Now()
	tracer.Tell(t.call.Tracer, t.call.HoldEnded, redlocktrace.HoldEnded{
		Hold: t.hold, Time: t.ended, End: end(h), Err: h.cause, Held: t.ended.Sub(t.since),
	})
}

// releasedLocked tells what came of the release that followed the end of a hold. r.mu is held.
func (t *holdTrace) releasedLocked(r *Return) {
	now := time.Now()
	e := redlocktrace.Released{Hold: t.hold, Time: now, Err: r.resultLocked(errUnconfirmed, nil), Took: now.Sub(t.ended)}
	if r.next != nil {
		e.Next = r.next.c.trace.call.ID
	}
	tracer.Tell(t.call.Tracer, t.call.Released, e)
}

// end is how h, whose mutex is held, has ended.
func end(h *Hold) redlocktrace.End {
	switch {
	case h.state.State == protocol.Expired:
		return redlocktrace.EndExpired
	case h.state.State == protocol.Lost:
		return redlocktrace.EndLost
	case errors.Is(h.cause, ErrClosed):
		return redlocktrace.EndClosed
	}
	return redlocktrace.EndUnlocked
}

// renewalTrace is what a trace is told of a call that renews holds.
type renewalTrace struct {
	*tracer.Tracer
	what redlocktrace.Renewal
	sent time.Time
	left []time.Duration // validity of each hold when it was sent
}

// traceRenewal makes the trace of a renewal, nil if there is none.
func (m *Masters) traceRenewal(what redlocktrace.Renewal, list []renewal) *renewalTrace {
	if m.trace == nil {
		return nil
	}
	t := &renewalTrace{Tracer: m.trace, what: what, sent: time.Now()}
	for i := range list {
		t.left = append(t.left, list[i].hold.Remaining())
	}
	return t
}

// healedLocked tells which holds master i says that it has again. r.mu is held.
func (t *renewalTrace) healedLocked(r *renewals, i int, a script.Answer) {
	for n, what := range a.Renewed {
		if what == script.Healed {
			t.tellOf(r.list[n].hold, func(about redlocktrace.Hold) {
				tracer.Tell(t.Tracer, t.Healed, redlocktrace.Healed{Hold: about, Time: time.Now(), Master: r.m.nodes[i].Name()})
			})
		}
	}
}

// settledLocked tells what became of the renewal of hold n. r.mu is held.
func (t *renewalTrace) settledLocked(r *renewals, n int, ev protocol.HoldEvent, why *MajorityError) {
	now := time.Now()
	e := redlocktrace.Renewed{For: t.what, Time: now, Left: t.left[n], Result: redlocktrace.ResultUnconfirmed, Took: now.Sub(t.sent)}
	for i, node := range r.m.nodes {
		if a := r.ballot.at(i); r.ballot.in.Has(i) && a.Outcome == script.Done && a.Renewed[n] == script.Healed {
			e.Healed = append(e.Healed, node.Name())
		}
	}
	h := r.list[n].hold
	t.tellOf(h, func(about redlocktrace.Hold) {
		e.Hold, e.Validity = about, max(0, h.m.left(h.state.Until))
		switch {
		case why != nil:
			e.Err = why
			if ev.Kind == protocol.HoldLost && (!ev.Writer || !h.state.Shared) { // see protocol.Hold
				e.Result, e.Validity = redlocktrace.ResultMissing, 0
			}
		default:
			e.Result, e.Validity = redlocktrace.ResultConfirmed, max(e.Validity, h.m.left(ev.Until))
		}
		tracer.Tell(t.Tracer, t.Renewed, e)
	})
}

// tellLocked calls tell with h, unless that has ended: what is told of a hold comes before its end.
func (t *renewalTrace) tellOf(h *Hold, tell func(redlocktrace.Hold)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause == nil {
		tell(h.aboutLocked())
	}
}
