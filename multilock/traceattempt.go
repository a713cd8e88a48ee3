package multilock

import (
	"time"

	"example.com/redlock/internal/tracer"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
	"example.com/redlock/redlocktrace"
)

// attemptTrace is what a call's trace is told of one of its attempts. The mutex of the driver guards it.
type attemptTrace struct {
	call  *callTrace
	try   int    // the number of its last try among those of the call
	of    uint32 // and among its own
	ahead int    // in the queue of the masters, -1 if that is not known
}

// roundTrace is what a trace is told of one round.
type roundTrace struct {
	call  *callTrace
	about redlocktrace.Round
	sent  time.Time
	slot  int // of a permit
}

// attempt makes the trace of an attempt for the call, nil if that has none.
func (t *callTrace) attempt() *attemptTrace {
	if t == nil {
		return nil
	}
	return &attemptTrace{call: t, ahead: -1}
}

// askedLocked tells of the round that out wants, nil if nothing is told of it.
func (t *attemptTrace) askedLocked(d *driver, out *attempt.Effects) *roundTrace {
	e := redlocktrace.Asked{Owner: d.owner.ID, Masters: d.m.namesOf(out.Send)}
	round := redlocktrace.Round{Ask: redlocktrace.AskAcquire}
	switch out.Round.Command {
	case attempt.Ask:
		round.Number, e.Since = int(out.Round.Number), stamp(d.since)
	case attempt.Register:
		round.Ask, round.Number, e.Since = redlocktrace.AskQueue, int(out.Round.Number), stamp(d.since)
	case attempt.Follow:
		round.Number, e.Since = int(out.Round.Number), stamp(d.since)
		e.Masters, e.Entered = nil, e.Masters
	case attempt.Raise:
		round.Ask, e.Token = redlocktrace.AskRaise, out.Round.Token
	default:
		return nil
	}
	if t.of != d.state.Try { // a caller at several slots has attempts beside each other
		t.try, t.of = t.call.nextTry(), d.state.Try
	}
	round.Try = t.try
	r := t.call.asked(round, e)
	r.slot = max(d.slot, 0)
	return r
}

// stamp is what micros made of a time.
func stamp(since int64) time.Time {
	if since == 0 {
		return time.Time{}
	}
	return time.UnixMicro(since)
}

// enters tells of the round that is to confirm to the call that it has entered h again. h.d.mu is held.
func (t *callTrace) enters(h *Hold) *roundTrace {
	return t.asked(redlocktrace.Round{Try: t.nextTry(), Number: 1, Ask: redlocktrace.AskEnter},
		redlocktrace.Asked{Owner: h.d.owner.ID, Masters: h.d.m.namesOf(h.d.m.All.Set())})
}

// handedOffLocked tells of a hand-off from master i.
func (t *attemptTrace) handedOffLocked(d *driver, i, round int, h script.HandOff) {
	tracer.Tell(t.call.to, t.call.to.Trace.Voted, redlocktrace.Voted{
		Call: t.call.about, Round: redlocktrace.Round{Try: t.try, Number: round}, Time: time.Now(),
		Master: d.m.All.Nodes[i].Name(), Vote: redlocktrace.VoteHandedOff, Token: h.Token, Slot: max(d.slot, 0),
	})
}

// steppedLocked tells what came of an event.
func (t *attemptTrace) steppedLocked(d *driver, before attempt.State, ev *attempt.Event, out *attempt.Effects) {
	s := &d.state
	if before >= attempt.Held {
		if before == attempt.Kept && s.State != before && s.State != attempt.Held && d.hold != nil && d.hold.trace != nil {
			d.hold.trace.released(redlocktrace.Released{Why: d.m.given(ev)})
		}
		return
	}
	decision, ok := decided(s, before)
	if gaveUp := s.Why == attempt.GivenUp && s.State != before; !ok && (out.Release|out.Yield != 0 || gaveUp && out.Send != 0) {
		decision, ok = redlocktrace.DecisionBackOff, true
		if gaveUp {
			decision = redlocktrace.DecisionGaveUp
		}
	}
	if ok {
		t.decidedLocked(d, decision, out)
	}
	if !s.Want.Wait {
		return
	}
	if ev.Kind == attempt.Answer && ev.Outcome == attempt.No && s.State < attempt.Held {
		t.ahead = s.Ahead(&d.m.conf)
	}
	if s.State == attempt.Waiting || s.State == attempt.Minority {
		if why := d.reasonLocked(nil); why != nil {
			t.call.waits(0, t.ahead, why)
		}
	}
}

// decidedLocked tells what the votes came to.
func (t *attemptTrace) decidedLocked(d *driver, decision redlocktrace.Decision, out *attempt.Effects) {
	s := &d.state
	e := redlocktrace.Decided{
		Call: t.call.about, Try: t.try, Time: time.Now(), Owner: d.owner.ID, Decision: decision,
		Need: quorum.Majority(len(d.m.All.Nodes)), Released: d.m.namesOf(out.Release | out.Yield),
	}
	if s.State == attempt.Ended {
		e.Released = d.m.namesOf(out.Send)
	}
	if out.NewOwner {
		e.Granted, e.Refused, e.Failed = d.ballot.Tally()
	} else {
		e.Granted, e.Refused, e.Failed = counted(d)
	}
	switch decision {
	case redlocktrace.DecisionWon:
		e.Token = s.Token
		fallthrough
	case redlocktrace.DecisionMajority:
		e.Validity = max(0, d.m.left(s.Until))
	}
	tracer.Tell(t.call.to, t.call.to.Trace.Decided, e)
}

// counted counts the votes and hand-offs that d, whose mutex is held, has now, and what the other masters
// said last.
func counted(d *driver) (granted, refused, failed int) {
	for i := range d.m.All.Nodes {
		switch m := &d.state.Masters[i]; {
		case m.Voted:
			granted++
		case !m.Said:
		case m.Outcome == attempt.No:
			refused++
		case m.Outcome != attempt.Yes:
			failed++
		}
	}
	return granted, refused, failed
}

// decided is what a step decided that began in the state before, and false if nothing.
func decided(s *attempt.Attempt, before attempt.State) (d redlocktrace.Decision, ok bool) {
	switch {
	case s.State == before:
		return "", false
	case s.State == attempt.Held:
		return redlocktrace.DecisionWon, true
	case s.State == attempt.Settling:
		return redlocktrace.DecisionMajority, true
	case s.State == attempt.Minority:
		return redlocktrace.DecisionMinority, true
	case s.State == attempt.Paused:
		return redlocktrace.DecisionSplit, true
	case s.State == attempt.Waiting && before == attempt.Settling, s.Why == attempt.NoToken:
		return redlocktrace.DecisionNoToken, true
	case s.Why == attempt.Late:
		return redlocktrace.DecisionLate, true
	case s.State == attempt.Waiting && before == attempt.Asking, s.Why == attempt.Refused, s.Why == attempt.Hopeless:
		return redlocktrace.DecisionLost, true
	}
	return "", false
}
