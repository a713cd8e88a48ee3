package redlock_test

import (
	"cmp"
	"fmt"
	"reflect"
	"testing"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlocktrace"
)

// ballotPaper is one master's part in a round.
type ballotPaper struct {
	call uint64
	redlocktrace.Round
	master string
}

// tracedCall is what the events of a call have told so far.
type tracedCall struct {
	waits, waiting, done, won, ended, released bool
	entered                                    bool // a hold of its owner
	owner                                      string
	rounds                                     int
	tries                                      map[int]string // their owners
}

// expectSound wants of the events of a client, from New until after Close, that each thing that begins ends
// once, and that nothing happens out of order.
func (r *recorder) expectSound(t *testing.T) {
	t.Helper()
	events := r.take()
	calls := make(map[uint64]*tracedCall)
	papers := make(map[ballotPaper]int)
	for i, e := range events {
		bad := func(format string, args ...any) {
			t.Helper()
			t.Errorf("event %d of %d, %T %+v: %s", i, len(events), e, e, fmt.Sprintf(format, args...))
		}
		client, _ := e.(redlocktrace.ClientChanged)
		if (client.State == redlocktrace.ClientStarted) != (i == 0) || (client.State == redlocktrace.ClientClosed) != (i == len(events)-1) {
			bad("want ClientStarted first and once, and ClientClosed last and once")
		}
		about, ok := callOf(e)
		if !ok {
			continue
		}
		c := calls[about.ID]
		if _, starts := e.(redlocktrace.CallStarted); starts != (c == nil) {
			bad("want CallStarted first and once")
			continue
		}
		switch e := e.(type) {
		case redlocktrace.CallStarted:
			calls[about.ID] = &tracedCall{waits: e.Wait, tries: make(map[int]string)}
		case redlocktrace.Waiting:
			if c.done || !c.waits {
				bad("of %+v", *c)
			}
			c.waiting = true
		case redlocktrace.Asked:
			if c.done {
				bad("of a call that is done")
			}
			if owner := cmp.Or(c.tries[e.Try], e.Owner); owner != e.Owner {
				bad("of a try of %s", owner)
			}
			c.tries[e.Try] = e.Owner
			c.rounds++
			for _, m := range e.Masters {
				papers[ballotPaper{about.ID, e.Round, m}]++
			}
		case redlocktrace.Voted:
			if e.Vote == redlocktrace.VoteHandedOff {
				if c.done {
					bad("of a call that is done")
				}
				continue
			}
			paper := ballotPaper{about.ID, e.Round, e.Master}
			if papers[paper] != 1 {
				bad("of %d questions that are open", papers[paper])
			}
			delete(papers, paper)
		case redlocktrace.Decided:
			if c.done && !(e.Decision == redlocktrace.DecisionGaveUp && c.entered) {
				bad("of a call that is done")
			}
		case redlocktrace.CallDone:
			if c.done || c.rounds != e.Rounds || (e.Err == nil) != (e.Outcome == redlocktrace.OutcomeAcquired) || !c.waiting && e.Waited != 0 {
				bad("of %+v", *c)
			}
			c.entered = e.Entered > 0
			c.done, c.won, c.owner = true, e.Err == nil && e.Entered == 0, e.Owner
			if got := calls[e.Entered]; e.Entered > 0 && (got == nil || !got.won || got.ended || got.owner != e.Owner) {
				bad("it entered no hold")
			}
		case redlocktrace.Renewed:
			if !c.won || c.ended {
				bad("of no hold")
			}
		case redlocktrace.HoldEnded:
			if !c.won || c.ended || c.owner != e.Owner {
				bad("of %+v", *c)
			}
			c.ended = true
		case redlocktrace.Released:
			if !c.ended || c.released != (e.Why != "") {
				bad("of %+v", *c)
			}
			c.released = true
		}
	}
	for id, c := range calls {
		check.That(t, c.done && c.won == c.ended && c.ended == c.released, "call %d is %+v when the client is closed", id, *c)
	}
	for paper, n := range papers {
		t.Errorf("%d votes are missing: %+v", n, paper)
	}
}

// callOf returns the call that an event is about, if it is about one.
func callOf(e any) (redlocktrace.Call, bool) {
	v := reflect.ValueOf(e).FieldByName("Call")
	if !v.IsValid() {
		return redlocktrace.Call{}, false
	}
	return v.Interface().(redlocktrace.Call), true
}

// expectToldAll wants each function of a Trace to have been called, and each field of the events to have said
// something.
func expectToldAll(t *testing.T, said map[string]bool) {
	t.Helper()
	for f := range reflect.TypeFor[redlocktrace.Trace]().Fields() {
		event := f.Type.In(0)
		check.Equal(t, event.Name(), f.Name, "the event of %s", f.Name)
		for name := range fieldsOf(event) {
			if !said[name] && name != "ClientChanged.Missed" { // see package tracer
				t.Errorf("no event has a %s", name)
			}
		}
	}
}

// fieldsOf returns where the fields of a struct are, by the names of the struct or an embedded one, and
// the field.
func fieldsOf(event reflect.Type) map[string][]int {
	at := make(map[string][]int)
	for _, f := range reflect.VisibleFields(event) {
		if !f.Anonymous {
			owner := event
			for _, i := range f.Index[:len(f.Index)-1] {
				owner = owner.Field(i).Type
			}
			at[owner.Name()+"."+f.Name] = f.Index
		}
	}
	return at
}
