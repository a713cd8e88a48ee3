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
	ahead  int // in the queue of the masters, -1 if that is not known
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
	tracer.Tell(t.call.Tracer, t.call.Voted, redlocktrace.Voted{
		Call: t.call.Call, Round: redlocktrace.Round{Try: t.before + int(c.state.Try), Number: round}, Time: time.Now(),
		Master: c.m.Nodes[i].Name(), Vote: redlocktrace.VoteHandedOff, Token: h.Token, Slot: t.slot,
	})
}

// steppedLocked tells what came of an event.
func (t *contestTrace) steppedLocked(c *contest, before protocol.State, ev *protocol.Event, out *protocol.Effects) {
	after := c.state.State
	d, ok := decision(&c.state, before)
	if !ok && out.Release != 0 {
		d, ok = redlocktrace.DecisionBackOff, true
		if c.state.Verdict == protocol.GivenUp {
			d = redlocktrace.DecisionGaveUp
		}
	}
	if ok {
		t.decidedLocked(c, d, out)
	}
	if !c.state.Want.Wait {
		return
	}
	if ev.Kind == protocol.Answer && ev.Outcome == protocol.No && !c.state.Over() {
		t.ahead = c.state.Ahead(&c.m.conf)
	}
	if after == protocol.Waiting || after == protocol.Minority {
		if why := c.reasonLocked(nil); why != nil {
			t.call.waits(0, t.ahead, why)
		}
	}
}

// decidedLocked tells what the votes came to.
func (t *contestTrace) decidedLocked(c *contest, d redlocktrace.Decision, out *protocol.Effects) {
	s := &c.state
	e := redlocktrace.Decided{
		Call: t.call.Call, Try: t.before + int(s.Try), Time: time.Now(), Owner: c.owner.ID, Decision: d,
		Need: quorum.Majority(len(c.m.Nodes)), Released: c.m.namesOf(out.Release),
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
