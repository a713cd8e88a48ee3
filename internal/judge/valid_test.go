package judge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/redlock/internal/history"
)

// lockServer is a lock that keeps all promises, with callers that use it as they like and record it.
type lockServer struct {
	t      *rapid.T
	now    time.Duration
	h      *history.History
	names  map[string]*served
	calls  map[string]int
	holds  map[string]int
	idle   []string // a process for each caller that does nothing
	tokens int64
}

// served is a name, with its fenced register.
type served struct {
	in    []*user
	queue []*user
	last  int64 // the token of the last writer
	value int64
	kept  int64 // the largest token that the register accepted
}

// user is a caller that waits for a name, or has it.
type user struct {
	name, who  string
	call, hold int
	shared     bool
	deadline   time.Duration // of the wait; 0: none
	token      int64
	until      time.Duration
}

func (s *lockServer) add(e history.Event) {
	s.now += time.Duration(rapid.IntRange(1, 2000).Draw(s.t, "ns"))
	e.At = s.now
	s.h.Events = append(s.h.Events, e)
}

// call records a call that returns at once.
func (s *lockServer) call(e history.Event, result history.Event) {
	s.calls[e.Who]++
	e.What, e.Call = history.Called, s.calls[e.Who]
	s.add(e)
	result.What, result.Who, result.Call = history.Returned, e.Who, e.Call
	s.add(result)
}

// free reports whether somebody may come in.
func (n *served) free(shared bool) bool {
	return len(n.in) == 0 || shared && !slices.ContainsFunc(n.in, func(u *user) bool { return !u.shared })
}

func (s *lockServer) grant(u *user) {
	n := s.names[u.name]
	n.in = append(n.in, u)
	u.token = n.last
	if !u.shared {
		s.tokens++
		u.token, n.last = s.tokens, s.tokens
	}
	s.holds[u.who]++
	u.hold, u.until = s.holds[u.who], s.now+lease
	s.add(history.Event{
		What: history.Granted, Who: u.who, Call: u.call, Hold: u.hold, Name: u.name,
		Shared: u.shared, Token: u.token, Until: u.until,
	})
	s.add(history.Event{What: history.Returned, Who: u.who, Call: u.call})
	s.look(u)
}

func (s *lockServer) look(u *user) {
	s.add(history.Event{What: history.Alive, Who: u.who, Hold: u.hold, Until: u.until})
}

// serve lets in who is next, and ends what has its time.
func (s *lockServer) serve() {
	for _, name := range []string{"a", "b"} {
		n := s.names[name]
		n.queue = slices.DeleteFunc(n.queue, func(u *user) bool {
			gone := u.deadline > 0 && s.now >= u.deadline
			if gone {
				s.add(history.Event{What: history.Returned, Who: u.who, Call: u.call, Err: history.Ended})
				s.idle = append(s.idle, u.who)
			}
			return gone
		})
		n.in = slices.DeleteFunc(n.in, func(u *user) bool {
			gone := s.now >= u.until
			if gone {
				s.add(history.Event{What: history.Lost, Who: u.who, Hold: u.hold})
				s.idle = append(s.idle, u.who)
			}
			return gone
		})
		for len(n.queue) > 0 && n.free(n.queue[0].shared) {
			u := n.queue[0]
			n.queue = n.queue[1:]
			s.grant(u)
		}
	}
}

// act has one caller do something.
func (s *lockServer) act() {
	name := rapid.SampledFrom([]string{"a", "b"}).Draw(s.t, "name")
	n := s.names[name]
	pick := rapid.IntRange(0, 9).Draw(s.t, "act")
	switch {
	case pick < 4 && len(s.idle) > 0:
		u := &user{name: name, who: s.idle[0], shared: rapid.Bool().Draw(s.t, "shared")}
		do := map[bool]history.Do{true: history.RLock, false: history.Lock}[u.shared]
		if pick == 0 {
			do = map[bool]history.Do{true: history.TryRLock, false: history.TryLock}[u.shared]
		} else if rapid.Bool().Draw(s.t, "patient") {
			u.deadline = s.now + time.Duration(rapid.IntRange(1, 500).Draw(s.t, "patience"))*time.Millisecond
		}
		s.calls[u.who]++
		u.call = s.calls[u.who]
		s.add(history.Event{What: history.Called, Who: u.who, Call: u.call, Do: do, Names: []string{name}, Deadline: u.deadline})
		switch {
		case pick > 0:
			n.queue = append(n.queue, u)
		case len(n.queue) == 0 && n.free(u.shared):
			s.grant(u)
		default:
			s.add(history.Event{What: history.Returned, Who: u.who, Call: u.call, Err: history.Taken})
			return
		}
		s.idle = s.idle[1:]
	case pick < 6 && len(n.in) > 0:
		u := n.in[0]
		n.in = n.in[1:]
		s.call(history.Event{Who: u.who, Do: history.Unlock, Hold: u.hold}, history.Event{})
		s.idle = append(s.idle, u.who)
	case pick < 8 && len(n.in) > 0:
		u := n.in[len(n.in)-1]
		s.look(u)
		if u.token < n.kept {
			return
		}
		s.call(history.Event{Who: u.who, Do: history.Reading, Hold: u.hold, Names: []string{name}}, history.Event{Value: n.value})
		if !u.shared {
			n.value, n.kept = n.value+1, u.token
			s.add(history.Event{What: history.Accepted, Who: u.who, Do: history.Writing, Name: name, Token: u.token, Value: n.value})
			s.call(history.Event{Who: u.who, Do: history.Writing, Hold: u.hold, Names: []string{name}, Token: u.token, Value: n.value}, history.Event{})
		}
		s.look(u)
	}
}

// drawHistory draws a history in which everything is as promised.
func drawHistory(t *rapid.T) *history.History {
	run := history.Run{Lease: lease, MaxLease: lease, Guard: -1, NodeTimeout: 200 * time.Millisecond, Tokens: true, Signal: true}
	s := &lockServer{
		t: t, h: &history.History{Run: run}, names: map[string]*served{"a": {}, "b": {}},
		calls: map[string]int{}, holds: map[string]int{}, idle: []string{"c1", "c2", "c3", "c1", "c2", "c3"},
	}
	s.add(history.Event{What: history.RunBegan, Run: &run})
	s.now += 10 * time.Second // what the beginning disturbs is not judged
	for range rapid.IntRange(1, 150).Draw(t, "steps") {
		s.now += time.Duration(rapid.IntRange(0, 25).Draw(t, "ms")) * time.Millisecond
		s.serve()
		s.act()
	}
	for range 1000 { // until all have ended
		s.now += 20 * time.Millisecond
		s.serve()
	}
	return s.h
}

func TestValidHistoriesPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		report, err := Judge(drawHistory(t))
		if err != nil {
			t.Fatal(err)
		}
		if found := report.Violations(); len(found) > 0 {
			var text strings.Builder
			_, _ = report.WriteTo(&text)
			t.Fatal(text.String())
		}
	})
}

// TestSwappedTokensAreFound: the tokens of two writers who had a name one after the other.
func TestSwappedTokensAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t)
		var grants []*history.Event
		for i := range h.Events {
			if e := &h.Events[i]; e.What == history.Granted && e.Name == "a" && !e.Shared {
				grants = append(grants, e)
			}
		}
		if len(grants) < 2 {
			return
		}
		i := rapid.IntRange(0, len(grants)-2).Draw(t, "swapped")
		grants[i].Token, grants[i+1].Token = grants[i+1].Token, grants[i].Token
		report, err := Judge(h)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range report.Checks {
			if c.Name == Order && c.Verdict() != Failed {
				t.Error(fmt.Sprint(c))
			}
		}
	})
}
