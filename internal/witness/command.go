package witness

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script"
)

// want is a command that a machine wants sent.
type want struct {
	kind
	try  uint32
	at   protocol.Set // those masters that it was not sent to yet
	read int64        // the largest fencing counter that the machine knows

	yield  protocol.Set     // of a release: where it hands the lock to nobody
	asks   protocol.Command // of an ask
	round  uint32           // of an ask and an enter; of a raise, which one it is
	short  int64            // of an ask that queues and an enter: the lease of a hand-off, in ms
	polls  bool
	number int64 // of a raise: to raise the counters to
}

// kind is what a command does.
type kind string

const (
	release kind = "release"
	enter   kind = "enter" // into the queue, by a release that names the next owner
	ask     kind = "ask"
	raise   kind = "raise"
	other   kind = "" // of a hold
)

// want notes what a step at ev wants sent, which began in the try before.
func (m *machine) want(before uint32, ev *protocol.Event, out *protocol.Effects) {
	w := want{try: m.Try, read: out.Read, asks: out.Command, round: out.Round, short: out.Lease.Milliseconds(), polls: out.Polls}
	add := func(k kind, at protocol.Set, w want) {
		if w.kind, w.at = k, at; at != 0 {
			m.wants = append(m.wants, w)
		}
	}
	add(release, out.Release, want{try: before, read: out.Read, yield: out.Yield})
	switch {
	case ev.Kind == protocol.Enter:
		add(enter, ev.At, w)
	case out.Enter:
		add(enter, out.Release, w)
	}
	add(ask, out.Ask, w)
	add(raise, out.Raise, want{try: m.Try, read: out.Read, round: uint32(m.Raises), number: out.RaiseTo})
}

// take takes a command to some masters off what is wanted, and returns what it was. A release comes together
// with an enter, and before everything that was wanted later.
func (m *machine) take(k kind, at protocol.Set) (w want, wanted bool) {
	for i := range m.wants {
		switch x := &m.wants[i]; {
		case x.kind == k && at&^x.at == 0:
			w = *x
			if x.at &^= at; x.at == 0 {
				m.wants = slices.Delete(m.wants, i, i+1)
			}
			return w, true
		case k != enter || x.kind != release:
			return w, false
		}
	}
	return w, false
}

// sent is a command as it is sent.
type sent struct {
	kind
	args []any
}

func read(cmd *script.Command) sent {
	s := sent{args: cmd.Words(nil, false)[4:]} // behind the key
	switch {
	case cmd.Releases():
		s.kind = release
	case cmd.Grants(), cmd.Vouches() && s.args[1] == "":
		s.kind = ask
	case cmd.Vouches():
		if _, token := s.args[2].(int64); token { // a hold count is an int
			s.kind = raise
		}
	}
	return s
}

// entry is what a command says of who enters the queue.
type entry struct {
	since, short, round int64
	polls               bool
}

// entry reads the last argument of an ask that queues, or of a release that enters somebody, but for the mode, and the
// proposal before it.
func (s *sent) entry() (e entry, ok bool) {
	n := len(s.args)
	if s.args[n-1] == any(script.SharedHolder) {
		n--
	}
	text, ok := s.args[n-1].([]byte)
	if !ok {
		return e, false
	}
	proposal, _ := s.args[n-2].(int64)
	var round string
	var ago int64
	_, _ = fmt.Sscan(string(text), &round, &e.short, &ago)
	round, e.polls = strings.CutSuffix(round, "p")
	e.round, _ = strconv.ParseInt(round, 10, 64)
	e.since = proposal - ago
	return e, true
}

// as checks that a command of t does what is wanted.
func (s *sent) as(t *try, w want, at protocol.Set) {
	m := t.machine
	if w.try != t.n {
		m.found("%+v is sent for try %d", w, t.n)
	}
	token, _ := s.args[1].(int64)
	switch s.kind {
	case release:
		if yields := s.args[1] == ""; at&w.yield != 0 && !yields || at&^w.yield != 0 && yields || !yields && token < w.read {
			m.found("%+v is sent as %v", w, s.args)
		}
	case raise:
		if s.args[2] != any(w.number) {
			m.found("%+v is sent as %v", w, s.args)
		}
	case ask:
		e, queues := s.entry()
		asks := protocol.AskOnce
		switch {
		case s.args[1] == "":
			asks = protocol.QueueOnly
		case queues:
			asks = protocol.AskOrQueue
		}
		proposal, _ := s.args[2].(int64)
		if asks != w.asks || asks != protocol.QueueOnly && token != m.Want.Lease.Milliseconds() || proposal <= w.read && w.read < script.MaxToken {
			m.found("%+v is sent as %v", w, s.args)
		}
		if queues {
			t.enters(w, e)
		}
	}
}

// enters checks that an owner enters the queue, or stays there, as wanted: with the same stamp in each round.
func (t *try) enters(w want, e entry) {
	if from := e.round - int64(w.round); !t.counted {
		t.counted, t.from = true, from
	}
	if t.since == 0 {
		t.machine.since = e.since
	}
	if e != (entry{t.since, w.short, t.from + int64(w.round), w.polls}) {
		t.found("%+v is sent as %+v, of rounds from %d on", w, e, t.from)
	}
}
