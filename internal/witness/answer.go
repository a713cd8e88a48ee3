package witness

import (
	"slices"

	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script"
)

// Receiver takes answers, as node.Receiver does.
type Receiver interface {
	Answer(i int, a script.Answer)
}

// Sending says that the driver is about to send cmd to the masters in at, and returns who is to take the
// answers in place of to.
func (w *Witness) Sending(cmd *script.Command, at protocol.Set, to Receiver) Receiver {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, next := w.owners[cmd.Owner()], (*try)(nil)
	if cmd.Releases() { // else they are those of holds that are renewed
		for id := range cmd.Owners() {
			if id != cmd.Owner() {
				next = w.owners[id]
			}
		}
	}
	if t == nil && next == nil {
		return to // of a hold
	}
	seen.Add(1)
	s := read(cmd)
	h := &hearing{Witness: w, to: to}
	if t != nil && s.kind != other {
		if wanted, ok := t.take(s.kind, at); ok {
			s.as(t, wanted, at)
			h.of(t, s.kind, wanted.round)
			defer w.tidyLocked(t.machine)
		} else {
			t.found("%s %v is sent to %b, which nobody wants: %+v", s.kind, s.args, at, t.wants)
		}
	}
	if next != nil {
		e, _ := s.entry()
		if wanted, ok := next.take(enter, at); ok {
			next.enters(wanted, e)
			h.of(next, enter, wanted.round)
		} else {
			next.found("it is entered by %v at %b, which nobody wants: %+v", s.args, at, next.wants)
		}
	}
	if h.machine == nil {
		return to
	}
	return h
}

// hearing takes the answers to a command, and passes them on.
type hearing struct {
	*Witness
	*machine // that is to hear them
	event    protocol.Event
	to       Receiver
}

// of says who is to hear the answers to a command of t. Those to a release say something to nobody but the next
// owner.
func (h *hearing) of(t *try, k kind, round uint32) {
	e := protocol.Event{Try: t.n, Round: round}
	switch k {
	case enter:
		e.Kind, e.Round = protocol.Entered, 0
	case ask:
		e.Kind = protocol.Answer
	case raise:
		e.Kind = protocol.Raised
	default:
		return
	}
	h.machine, h.event = t.machine, e
}

// Answer implements node.Receiver.
func (h *hearing) Answer(i int, a script.Answer) {
	e := h.event
	e.Master, e.Outcome = i, protocol.Outcome(a.Outcome)
	switch e.Kind {
	case protocol.Answer:
		e.Left, e.Ahead, e.Token = a.Left, a.Rank, a.Token
	case protocol.Raised:
		e.Token = a.Token
	}
	h.mu.Lock()
	heard := h.tellLocked(h.machine, e)
	h.mu.Unlock()
	h.to.Answer(i, a)
	heard()
}

// Message says that master i has handed off a lock. The driver has taken that in when what is returned is called.
func (w *Witness) Message(i int, h script.HandOff) (heard func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.owners[h.Owner]
	if t == nil || !t.counted {
		return func() {}
	}
	round := int64(h.Round) - t.from
	if round <= 0 || round > int64(t.Round) {
		return func() {} // it is forged
	}
	return w.tellLocked(t.machine, protocol.Event{
		Kind: protocol.HandedOff, Master: i, Try: t.n, Round: uint32(round), Token: h.Token,
	})
}

// tellLocked notes that e is on its way to m. It must have come there when what is returned is called, unless m has
// begun another try or is over.
func (w *Witness) tellLocked(m *machine, e protocol.Event) (heard func()) {
	seen.Add(1)
	m.told = append(m.told, e)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if m.hears(e) && m.Try == e.Try && !m.Over() && (e.Kind != protocol.Raised || e.Round == uint32(m.Raises)) {
			m.found("it was not told %+v", e)
		}
	}
}

// hears takes an event off those on their way, and reports whether it was there.
func (m *machine) hears(e protocol.Event) bool {
	i := slices.Index(m.told, e)
	if i < 0 {
		return false
	}
	m.told = slices.Delete(m.told, i, i+1)
	return true
}

// listen checks that an event of the driver is one that is on its way.
func (m *machine) listen(ev *protocol.Event) {
	e := protocol.Event{Kind: ev.Kind, Master: ev.Master, Try: ev.Try, Round: ev.Round, Outcome: ev.Outcome, Left: ev.Left, Ahead: ev.Ahead, Token: ev.Token}
	switch ev.Kind {
	case protocol.Answer, protocol.Entered, protocol.Raised, protocol.HandedOff:
		if !m.Want.Again && !m.hears(e) {
			m.found("it is told %+v, and not one of %+v", e, m.told)
		}
	}
}
