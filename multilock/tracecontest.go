package multilock

import (
	"time"

	"example.com/redlock/internal/tracer"
	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
	"example.com/redlock/redlocktrace"
)

// contestTrace is what a call's trace is told of one of its contests. contest.mu guards it.
type contestTrace struct {
	call   *callTrace
	before int // tries that the call's contests before had
	slot   int // of a permit
	ahead  int // that Queued told, -1 if it has not
}

// roundTrace is what a trace is told of one round.
type roundTrace struct {
	call *callTrace
	redlocktrace.Round
	sent time.Time
	slot int // of a permit
}

// contest makes the trace of a contest for the call, nil if that has none.
func (t *callTrace) contest(key string) *contestTrace {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, slot := script.SlotOf(key)
	return &contestTrace{call: t, before: t.tries, ahead: -1, slot: max(slot, 0)}
}

// askedLocked tells of the round that out wants.
func (t *contestTrace) askedLocked(c *contest, out *protocol.Effects) *roundTrace {
	ask := redlocktrace.AskAcquire
	switch out.Command {
	case protocol.QueueOnly:
		ask = redlocktrace.AskQueue
	case protocol.EnterAgain:
		ask = redlocktrace.AskEnter
	}
	e := redlocktrace.Asked{Owner: c.owner.ID, Masters: c.m.namesOf(out.Ask), Since: c.since}
	if out.Enter {
		e.Entered = c.m.namesOf(c.m.All() &^ out.Ask)
	}
	r := t.call.asked(redlocktrace.Round{Try: t.before + int(c.state.Try), Number: int(out.Round), Ask: ask}, e)
	r.slot = t.slot
	return r
}

// raisingLocked tells of the raise that out wants.
func (t *contestTrace) raisingLocked(c *contest, out *protocol.Effects) *roundTrace {
	r := t.call.asked(redlocktrace.Round{Try: t.before + int(c.state.Try), Ask: redlocktrace.AskRaise},
		redlocktrace.Asked{Owner: c.owner.ID, Masters: c.m.namesOf(out.Raise), Token: out.RaiseTo})
	r.slot = t.slot
	return r
}

// handedOffLocked tells of a hand-off from master i.
func (t *contestTrace) handedOffLocked(c *contest, i, round int, h script.HandOff) {
	tracer.Tell(t.call.Tracer, t.call.HandedOff, redlocktrace.HandedOff{
		Call: t.call.Call, Try: t.before + int(c.state.Try), Round: round, Time: time.Now(),
		Master: c.m.Nodes[i].Name(), Token: h.Token, Slot: t.slot,
	})
}

// steppedLocked tells what came of an event.
func (t *contestTrace) steppedLocked(c *contest, before protocol.State, ev *protocol.Event, out *protocol.Effects) {
	after := c.state.State
	if d, ok := decision(&c.state, before); ok {
		t.decidedLocked(c, d, out)
	}
	if out.Release != 0 {
		try := int(c.state.Try)
		if out.NewOwner {
			try--
		}
		tracer.Tell(t.call.Tracer, t.call.RolledBack, redlocktrace.RolledBack{
			Call: t.call.Call, Try: t.before + try, Time: time.Now(), Owner: c.owner.ID,
			Reason: reason(&c.state, before), Masters: c.m.namesOf(out.Release),
		})
	}
	if !c.state.Want.Wait {
		return
	}
	if after == protocol.Waiting || after == protocol.Minority {
		if why := c.reasonLocked(nil); why != nil {
			t.call.waits(0, why)
		}
	}
	if ev.Kind == protocol.Answer && ev.Outcome == protocol.No && !c.state.Over() {
		if ahead := c.state.Ahead(&c.m.conf); ahead != t.ahead {
			t.ahead = ahead
			tracer.Tell(t.call.Tracer, t.call.Queued, redlocktrace.Queued{
				Call: t.call.Call, Time: time.Now(), Ahead: ahead, Master: c.m.Nodes[ev.Master].Name(), There: ev.Ahead,
			})
		}
	}
}

// decidedLocked tells what the votes came to.
func (t *contestTrace) decidedLocked(c *contest, d redlocktrace.Decision, out *protocol.Effects) {
	s := &c.state
	e := redlocktrace.Decided{
		Call: t.call.Call, Try: t.before + int(s.Try), Time: time.Now(), Decision: d, Need: quorum.Majority(len(c.m.Nodes)),
	}
	if out.NewOwner {
		e.Try--
		e.Granted, e.Refused, e.Failed = c.ballot.Tally()
	} else {
		e.Granted, e.Refused, e.Failed = counted(c)
	}
	switch d {
	case redlocktrace.DecisionWon:
		e.Token = s.Token
		fallthrough
	case redlocktrace.DecisionMajority:
		e.Validity = max(0, c.m.left(s.Until))
	}
	tracer.Tell(t.call.Tracer, t.call.Decided, e)
}

// counted counts the votes and hand-offs that c, whose mutex is held, has now, and what the other masters
// said last.
func counted(c *contest) (granted, refused, failed int) {
	for i := range c.m.Nodes {
		switch m := &c.state.Masters[i]; {
		case m.Voted:
			granted++
		case !m.Said:
		case m.Outcome == protocol.No:
			refused++
		case m.Outcome != protocol.Yes:
			failed++
		}
	}
	return granted, refused, failed
}

// decision is what a step decided that began in the state before, and false if nothing.
func decision(s *protocol.Contender, before protocol.State) (d redlocktrace.Decision, decided bool) {
	switch {
	case s.State == before:
		return "", false
	case s.State == protocol.Won:
		return redlocktrace.DecisionWon, true
	case s.State == protocol.Settling:
		return redlocktrace.DecisionMajority, true
	case s.State == protocol.Minority:
		return redlocktrace.DecisionMinority, true
	case s.State == protocol.Paused:
		return redlocktrace.DecisionSplit, true
	case s.State == protocol.Waiting && before == protocol.Settling, s.Verdict == protocol.NoToken:
		return redlocktrace.DecisionNoToken, true
	case s.State == protocol.Waiting && before == protocol.Won, s.Verdict == protocol.Late:
		return redlocktrace.DecisionLate, true
	case s.State == protocol.Waiting && before != protocol.Minority,
		s.Verdict == protocol.Refused, s.Verdict == protocol.InVain, s.Verdict == protocol.Gone:
		return redlocktrace.DecisionLost, true
	}
	return "", false
}

// reason is why a step that began in the state before gave back what the owner had.
func reason(s *protocol.Contender, before protocol.State) redlocktrace.Reason {
	switch {
	case s.Verdict == protocol.GivenUp:
		return redlocktrace.ReasonGaveUp
	case s.Verdict == protocol.NoToken, before == protocol.Settling:
		return redlocktrace.ReasonNoToken
	case s.Verdict == protocol.Late, before == protocol.Won:
		return redlocktrace.ReasonLate
	case s.State == protocol.Failed:
		return redlocktrace.ReasonLost
	case s.State == protocol.Paused:
		return redlocktrace.ReasonSplit
	}
	return redlocktrace.ReasonBackedOff
}
