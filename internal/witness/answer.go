package witness

import (
	"slices"

	"example.com/redlock/multilock/attempt"
	"example.com/redlock/node/script"
)

// Receiver takes answers, as node.Receiver does.
type Receiver interface {
	Answer(i int, a script.Answer)
}

// Sending says that the driver is about to send cmd to the masters in at, and returns who is to take the
// answers in place of to.
func (w *Witness) Sending(cmd *script.Command, at attempt.Set, to Receiver) Receiver {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, t := read(cmd), w.owners[cmd.Owner()]
	switch {
	case s.kind == release:
		to = w.entersLocked(cmd, &s, at, to)
	case t == nil:
		for id := range cmd.Owners() { // of holds that are renewed together
			if t := w.owners[id]; t != nil {
				w.takeLocked(t, &sent{kind: renew}, at)
			}
		}
	}
	if t == nil {
		return to
	}
	if s.kind == raise && s.args[2] == any(t.joins) {
		return to
	}
	wanted, ok := w.takeLocked(t, &s, at)
	if !ok || wanted.try != t.machine.state.Try && s.kind == release {
		return to
	}
	return &hearing{Witness: w, machine: t.machine, to: to, event: attempt.Event{Kind: attempt.Answer, Try: t.n, Round: wanted.round.Number}}
}

// entersLocked takes what a release does for whoever it enters into the queue off what is wanted, and returns who is to
// take the answers in place of to.
func (w *Witness) entersLocked(cmd *script.Command, s *sent, at attempt.Set, to Receiver) Receiver {
	for id := range cmd.Owners() {
		next := w.owners[id]
		if next == nil || id == cmd.Owner() {
			continue
		}
		if _, ok := w.takeLocked(next, &sent{kind: enter, args: s.args}, at); ok {
			to = &hearing{Witness: w, machine: next.machine, to: to, event: attempt.Event{Kind: attempt.Followed, Try: next.n}}
		}
	}
	return to
}

// takeLocked takes a command of t off what is wanted.
func (w *Witness) takeLocked(t *try, s *sent, at attempt.Set) (wanted want, ok bool) {
	seen.Add(1)
	if wanted, ok = t.take(s.kind, at); !ok {
		t.found("%s %v is sent to %b, which nobody wants: %+v", s.kind, s.args, at, t.wants)
		return wanted, false
	}
	if s.kind != renew {
		s.as(t, wanted)
	}
	w.tidyLocked(t.machine)
	return wanted, true
}

// hearing takes the answers to a command, and passes them on.
type hearing struct {
	*Witness
	*machine // that is to hear them
	event    attempt.Event
	to       Receiver
}

// Answer implements node.Receiver.
func (h *hearing) Answer(i int, a script.Answer) {
	e := h.event
	e.Master, e.Outcome = i, attempt.Outcome(a.Outcome)
	if e.Kind == attempt.Answer {
		e.Left, e.Ahead, e.Token = a.Left, a.Rank, a.Token
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
	if round <= 0 || round > int64(t.state.Round) {
		return func() {} // it is forged
	}
	return w.tellLocked(t.machine, attempt.Event{
		Kind: attempt.HandedOff, Master: i, Try: t.n, Round: uint32(round), Token: h.Token,
	})
}

// tellLocked notes that e is on its way to m. It must have come there when what is returned is called, unless m has
// begun another try or is over.
func (w *Witness) tellLocked(m *machine, e attempt.Event) (heard func()) {
	seen.Add(1)
	m.told = append(m.told, e)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if m.hears(e) && m.state.Try == e.Try && !over(&m.state) {
			m.found("it was not told %+v", e)
		}
	}
}

// hears takes an event off those on their way, and reports whether it was there.
func (m *machine) hears(e attempt.Event) bool {
	i := slices.Index(m.told, e)
	if i < 0 {
		return false
	}
	m.told = slices.Delete(m.told, i, i+1)
	return true
}

// listen checks that an event of the driver is one that is on its way.
func (m *machine) listen(ev *attempt.Event) {
	e := attempt.Event{Kind: ev.Kind, Master: ev.Master, Try: ev.Try, Round: ev.Round, Outcome: ev.Outcome, Left: ev.Left, Ahead: ev.Ahead, Token: ev.Token}
	switch ev.Kind {
	case attempt.Answer, attempt.Followed, attempt.HandedOff:
		if !m.hears(e) && !m.renews(ev.Round) {
			m.found("it is told %+v, and not one of %+v", e, m.told)
		}
	}
}

// renews reports whether a round is a renewal, whose answers come together with others, or may be one that is forgotten.
func (m *machine) renews(number uint32) bool {
	for i := range m.state.Rounds {
		if r := &m.state.Rounds[i]; r.Number == number {
			return r.Command == attempt.Extend
		}
	}
	switch m.state.Why {
	case attempt.NotEnded:
		return m.state.State == attempt.Held || m.state.State == attempt.Kept
	case attempt.Released, attempt.Expired, attempt.Lost: // it was held
		return true
	}
	return false
}
