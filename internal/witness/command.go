package witness

import (
	"fmt"
	"strconv"
	"strings"

	"example.com/redlock/multilock/attempt"
	"example.com/redlock/node/script"
)

// want is a command that a machine wants sent.
type want struct {
	kind
	try  uint32
	at   attempt.Set // those masters that it was not sent to yet
	read int64       // the largest fencing counter that the machine knows

	round  attempt.Round
	yields bool // of a release: it hands the lock to nobody
	polls  bool // of an ask
}

// kind is what a command does.
type kind string

const (
	release kind = "release"
	enter   kind = "enter" // into the queue, by a release
	ask     kind = "ask"
	raise   kind = "raise"
	renew   kind = "renew"
	count   kind = "count"
)

// kinds are what rounds do.
var kinds = map[attempt.Command]kind{
	attempt.Ask: ask, attempt.Register: ask, attempt.Follow: enter, attempt.Raise: raise, attempt.Extend: renew, attempt.Count: count, attempt.Release: release,
}

// want notes what a step at ev wants sent, which began in the try before.
func (m *machine) want(before uint32, ev *attempt.Event, out *attempt.Effects) {
	w := want{kind: kinds[out.Round.Command], try: m.state.Try, at: out.Send, read: m.state.Token, round: out.Round, polls: !ev.Told}
	old := want{kind: release, try: before, at: out.Release, read: m.state.Token}
	away := old
	away.at, away.yields = out.Yield, true
	for _, one := range []want{w, old, away} {
		if one.at != 0 {
			m.wants = append(m.wants, one)
		}
	}
}

// take takes a command to some masters off what is wanted, and returns what it was: it must be the first.
func (m *machine) take(k kind, at attempt.Set) (w want, wanted bool) {
	if len(m.wants) == 0 || m.wants[0].kind != k || at&^m.wants[0].at != 0 {
		return w, false
	}
	w = m.wants[0]
	if m.wants[0].at &^= at; m.wants[0].at == 0 {
		m.wants = m.wants[1:]
	}
	return w, true
}

// sent is a command as it is sent.
type sent struct {
	kind
	args []any
}

func read(cmd *script.Command) sent {
	s := sent{kind: count, args: cmd.Words(nil, false)[4:]} // behind the key
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

// entry reads the last argument of an ask that queues, or of a release that enters somebody, but for the mode, and the proposal before it.
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
func (s *sent) as(t *try, w want) {
	m := t.machine
	if w.try != t.n {
		m.found("%+v is sent for try %d", w, t.n)
	}
	token, _ := s.args[1].(int64)
	wrong := false
	switch s.kind {
	case release:
		wrong = w.yields != (s.args[1] == "") || !w.yields && token < w.read
	case raise:
		wrong = s.args[2] != any(w.round.Token)
	case count:
		wrong = s.args[2] != any(int(w.round.Count)) || token != w.round.Lease.Milliseconds()
	case enter:
		e, queues := s.entry()
		if wrong = !queues; queues {
			t.enters(w, e)
		}
	case ask:
		e, queues := s.entry()
		registers := s.args[1] == ""
		proposal, _ := s.args[2].(int64)
		wrong = registers != (w.round.Command == attempt.Register) || queues != m.state.Want.Wait ||
			!registers && token != m.state.Want.Lease.Milliseconds() || proposal <= w.read && w.read < script.MaxToken
		if queues {
			t.enters(w, e)
		}
	}
	if wrong {
		m.found("%+v is sent as %v", w, s.args)
	}
}

// enters checks that an owner enters the queue, or stays there, as wanted: with the same stamp in each round.
func (t *try) enters(w want, e entry) {
	round, short := int64(w.round.Number), w.round.Lease.Milliseconds()
	if from := e.round - round; !t.counted {
		t.counted, t.from = true, from
	}
	if t.since == 0 {
		t.machine.since = e.since
	}
	if e != (entry{t.since, short, t.from + round, w.polls}) {
		t.found("%+v is sent as %+v, of rounds from %d on", w, e, t.from)
	}
}
