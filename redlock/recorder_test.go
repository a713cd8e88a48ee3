package redlock_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktrace"
)

// recorder notes the events of a client.
type recorder struct {
	mu     sync.Mutex
	events []any
	said   map[string]bool // fields that were not zero, see fieldsOf; nil: nobody asks
}

// trace returns a Trace whose functions note their events.
func (r *recorder) trace() *redlocktrace.Trace {
	t := new(redlocktrace.Trace)
	for _, f := range reflect.ValueOf(t).Elem().Fields() {
		f.Set(reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.events = append(r.events, args[0].Interface())
			if r.said != nil {
				for name, at := range fieldsOf(args[0].Type()) {
					r.said[name] = r.said[name] || !args[0].FieldByIndex(at).IsZero()
				}
			}
			return nil
		}))
	}
	return t
}

// take returns the events since the last take.
func (r *recorder) take() []any {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events
	r.events = nil
	return events
}

// steps are the events of calls and holds, a line for each.
func (r *recorder) steps() []string {
	var lines []string
	for _, e := range r.take() {
		if text := line(e); text != "" {
			lines = append(lines, text)
		}
	}
	return lines
}

// turns are the steps of one call after the other, without rounds and votes, whose number depends on how long a wait is.
func (r *recorder) turns() []string {
	calls := make(map[string][]string)
	for _, text := range r.steps() {
		if id, rest, _ := strings.Cut(text, ": "); !roundOrVote.MatchString(rest) {
			calls[id] = append(calls[id], rounds.ReplaceAllString(text, ""))
		}
	}
	var lines []string
	for _, id := range slices.Sorted(maps.Keys(calls)) {
		lines = append(lines, calls[id]...)
	}
	return lines
}

var (
	roundOrVote = regexp.MustCompile(`^asks |^\d+\.\d+ `)
	rounds      = regexp.MustCompile(` \d+\.\d+|, \d+ tries, \d+ rounds`)
)

// line shows what the tests look at of an event of a call or a hold. It is empty for other events.
func line(e any) string {
	call := func(c redlocktrace.Call, what string, args ...any) string {
		return fmt.Sprintf("%d: ", c.ID) + strings.TrimSpace(fmt.Sprintf(what, args...))
	}
	round := func(r redlocktrace.Round) string { return fmt.Sprintf("%d.%d %s", r.Try, r.Number, r.Ask) }
	switch e := e.(type) {
	case redlocktrace.CallStarted:
		how := "tries"
		if e.Wait {
			how = "waits for"
		}
		return call(e.Call, "%s %s %q", how, e.Kind, e.Name)
	case redlocktrace.Waiting:
		ahead := ""
		if e.Ahead >= 0 {
			ahead = fmt.Sprintf(", %d ahead", e.Ahead)
		}
		return call(e.Call, "waiting behind %d%s, %s", e.Behind, ahead, why(e.Err))
	case redlocktrace.Asked:
		entered := ""
		if len(e.Entered) > 0 {
			entered = ", entered by a release at " + places(e.Entered)
		}
		return call(e.Call, "asks %s at %s%s", round(e.Round), places(e.Masters), entered)
	case redlocktrace.Voted:
		if e.Vote == redlocktrace.VoteHandedOff {
			return call(e.Call, "handed off %d.%d by %s", e.Try, e.Number, place(e.Master))
		}
		by := ""
		if strings.HasPrefix(e.Holder, e.Client) {
			by = " by its own client"
		}
		return call(e.Call, "%s %s %s%s", round(e.Round), place(e.Master), e.Vote, by)
	case redlocktrace.Decided:
		back := ""
		if len(e.Released) > 0 {
			back = ", given back at " + places(e.Released)
		}
		return call(e.Call, "decided %s: %d granted, %d refused, %d failed, %d needed%s", e.Decision, e.Granted, e.Refused, e.Failed, e.Need, back)
	case redlocktrace.CallDone:
		entered := ""
		if e.Entered > 0 {
			entered = fmt.Sprintf(", entered %d", e.Entered)
		}
		return call(e.Call, "%s, %d tries, %d rounds%s", e.Outcome, e.Tries, e.Rounds, entered)
	case redlocktrace.Renewed:
		healed := ""
		if len(e.Healed) > 0 {
			healed = ", healed at " + places(e.Healed)
		}
		return call(e.Call, "%s %s%s", e.For, e.Result, healed)
	case redlocktrace.HoldEnded:
		return call(e.Call, "%s after %v", e.End, e.Held.Round(20*time.Millisecond)) // which of the answers decides may be chance
	case redlocktrace.Released:
		next := ""
		if e.Next > 0 {
			next = fmt.Sprintf(", enters %d", e.Next)
		}
		if e.Err != nil {
			next += ", " + why(e.Err)
		}
		return call(e.Call, "released%s", next)
	}
	return ""
}

// why names the state that an error matches.
func why(err error) string {
	for _, state := range []error{redlock.ErrTaken, redlock.ErrGuarded, redlock.ErrNoQuorum, redlock.ErrLost} {
		if errors.Is(err, state) {
			return strings.TrimPrefix(state.Error(), "redlock: ")
		}
	}
	return fmt.Sprint(err)
}

// place is a master by its number.
func place(name string) string { return strings.Replace(name, "pool ", "m", 1) }

func places(names []string) string {
	short := make([]string, len(names))
	for i, name := range names {
		short[i] = place(name)
	}
	return strings.Join(short, " ")
}

func expectLines(t *testing.T, what string, got, want []string) {
	t.Helper()
	check.That(t, slices.Equal(got, want), "%s told\n\t%s\nwant\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
}

// ballotPaper is one master's part in a round.
type ballotPaper struct {
	call uint64
	redlocktrace.Round
	master string
}

// sound matches the events of a call, with a letter for each but votes: it begins to try or to wait, asks, and fails,
// enters another hold, or wins one, which is renewed, ends, and is released, twice if it was kept in between.
var sound = regexp.MustCompile(`^(T[ADGH]*|W[wADGH]*)(F|NG*|CR*ELK?)$`)

// expectSound checks the events of a client, from New until after Close: each thing that begins ends once, and nothing
// happens out of order.
func (r *recorder) expectSound(t *testing.T) {
	t.Helper()
	events := r.take()
	told, rounds, holders := make(map[uint64]string), make(map[uint64]int), make(map[uint64]string)
	owners := make(map[string]string) // of each try
	papers := make(map[ballotPaper]int)
	for i, e := range events {
		client, _ := e.(redlocktrace.ClientChanged)
		ok := (client.State == redlocktrace.ClientStarted) == (i == 0) && (client.State == redlocktrace.ClientClosed) == (i == len(events)-1)
		id, letter := callOf(e).ID, ""
		switch e := e.(type) {
		case redlocktrace.CallStarted:
			letter = map[bool]string{false: "T", true: "W"}[e.Wait]
		case redlocktrace.Waiting:
			letter = "w"
		case redlocktrace.Asked:
			letter, rounds[id] = "A", rounds[id]+1
			try := fmt.Sprint(id, ".", e.Try)
			ok = ok && cmp.Or(owners[try], e.Owner) == e.Owner
			owners[try] = e.Owner
			for _, m := range e.Masters {
				papers[ballotPaper{id, e.Round, m}]++
			}
		case redlocktrace.Voted:
			if e.Vote == redlocktrace.VoteHandedOff {
				letter = "H"
				break
			}
			paper := ballotPaper{id, e.Round, e.Master} // of a question that is open
			ok = ok && papers[paper] == 1
			delete(papers, paper)
		case redlocktrace.Decided:
			letter = map[bool]string{false: "D", true: "G"}[e.Decision == redlocktrace.DecisionGaveUp]
		case redlocktrace.CallDone:
			ok = ok && rounds[id] == e.Rounds && (e.Err == nil) == (e.Outcome == redlocktrace.OutcomeAcquired) && (e.Waited == 0 || strings.Contains(told[id], "w"))
			switch entered := told[e.Entered]; {
			case e.Err != nil:
				letter = "F"
			case e.Entered > 0:
				letter = "N"
				ok = ok && strings.Contains(entered, "C") && !strings.Contains(entered, "E") && holders[e.Entered] == e.Owner
			default:
				letter, holders[id] = "C", e.Owner
			}
		case redlocktrace.Renewed:
			letter = "R"
		case redlocktrace.HoldEnded:
			letter = "E"
			ok = ok && holders[id] == e.Owner
		case redlocktrace.Released:
			letter = map[bool]string{false: "L", true: "K"}[e.Why != ""]
		}
		if told[id] += letter; !ok {
			t.Errorf("event %d of %d, %T %+v, does not go with those before it: %s", i, len(events), e, e, told[id])
		}
	}
	delete(told, 0) // events of the client and its masters
	for id, letters := range told {
		check.That(t, sound.MatchString(letters), "call %d tells %s when the client is closed, want %v", id, letters, sound)
	}
	for paper, n := range papers {
		t.Errorf("%d votes are missing: %+v", n, paper)
	}
}

// callOf returns the call that an event is about, the zero Call if it is about none.
func callOf(e any) redlocktrace.Call {
	if v := reflect.ValueOf(e).FieldByName("Call"); v.IsValid() {
		return v.Interface().(redlocktrace.Call)
	}
	return redlocktrace.Call{}
}

// expectToldAll checks that each function of a Trace was called, and each field of the events was set once.
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

// fieldsOf returns the indices of an event's fields, by the name of the struct that declares them and their own.
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
