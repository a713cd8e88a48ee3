package judge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/history"
)

// story is a history as tests write it, a line for each process, master, or r, who does the harm:
//
//	c1: 1.0 lock a, 1.1 grant token=7 until=3, 1.4 alive, >2.9 unlock, 3.0 return
//	r: >1.2 fault flushall on=m1+m2 forgets, 1.2 mended
//
// An event is a time in seconds, what happened or is called, and what belongs to it. Calls, holds and faults are
// numbered in the order of the line, and a call's hold has its number. Without a number, what follows is about the
// last of them; and a hold is valid until when it was told last. What happens at one time is in the order of the
// lines. A line that names nobody goes on with the one before. A violation must consist of exactly the events with ">".
type story string

// lease and guard of the runs that stories are about.
const (
	lease = 2 * time.Second
	guard = 2 * time.Second
)

// read returns the history, and the events that are marked.
func (s story) read(t *testing.T) (*history.History, []history.Event) {
	t.Helper()
	run := &history.Run{
		Masters: []string{"m1", "m2", "m3"},
		Lease:   lease, MaxLease: 2 * lease, Guard: guard, NodeTimeout: 200 * time.Millisecond,
	}
	h := &history.History{Run: *run, Events: []history.Event{{What: history.RunBegan, Run: run}}}
	var marked []history.Event
	var l *lane
	lanes := map[string]*lane{}
	for line := range strings.Lines(string(s)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if who, rest, ok := strings.Cut(line, ": "); ok {
			if l, line = lanes[who], rest; l == nil {
				l = &lane{t: t, who: who, until: map[int]time.Duration{}}
				lanes[who] = l
			}
		}
		for event := range strings.SplitSeq(strings.TrimSuffix(line, ","), ", ") {
			event, shown := strings.CutPrefix(event, ">")
			e := l.parse(strings.Fields(event))
			h.Events = append(h.Events, e)
			if shown {
				marked = append(marked, e)
			}
		}
	}
	for _, events := range [][]history.Event{h.Events, marked} {
		slices.SortStableFunc(events, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	}
	return h, marked
}

// record returns what checks look at.
func (s story) record(t *testing.T) *record {
	t.Helper()
	h, _ := s.read(t)
	r, err := newRecord(h)
	check.OK(t, err)
	return r
}

// lane is the line of a story that is about one process.
type lane struct {
	t     *testing.T
	who   string
	calls int
	names []string // of the last call that asks for a hold
	hold  int      // the last one
	until map[int]time.Duration
	fault int // the last one
}

// parse reads one event.
func (l *lane) parse(words []string) history.Event {
	l.t.Helper()
	e := history.Event{At: seconds(l.t, words[0]), Who: l.who, What: history.What(words[1])}
	words = words[2:]
	next := func() (word string) {
		word, words = words[0], words[1:]
		return word
	}
	switch e.What {
	case history.Granted:
		e.Call, e.Name = l.calls, l.names[0]
	case history.Returned, history.Queues, history.Stands:
		e.Call = l.calls
	case history.Alive, history.Lost:
		e.Hold = l.hold
	case history.Fault:
		l.fault++
		e.ID, e.Fault = l.fault, next()
	case history.Mended:
		e.ID = l.fault
	case history.Wrote:
		e.Hold, e.Name = l.hold, next()
	case history.Audited, history.Stall, history.Over,
		history.Started, history.Stopped, history.Continued, history.Killed, history.Exited:
	default:
		l.calls++
		e.Call, e.Do, e.What = l.calls, history.Do(e.What), history.Called
		switch e.Do {
		case history.Unlock, history.Extend, history.Downgrade, history.Enter, history.Leave:
			e.Hold = l.hold
		}
	}
	for _, word := range words {
		l.detail(&e, word)
	}
	switch e.What {
	case history.Called:
		if len(e.Names) > 0 {
			l.names = e.Names
		}
	case history.Granted:
		if len(e.Names) > 0 {
			e.Name, e.Names = e.Names[0], nil
		}
		e.Hold = cmp.Or(e.Hold, e.Call)
		l.hold, l.until[e.Hold] = e.Hold, e.Until
	case history.Alive:
		l.until[e.Hold] = cmp.Or(e.Until, l.until[e.Hold])
		e.Until = l.until[e.Hold]
	}
	return e
}

// detail reads what belongs to an event: a field by its name in histories, or a name.
func (l *lane) detail(e *history.Event, word string) {
	l.t.Helper()
	key, text, _ := strings.Cut(word, "=")
	var value any
	switch key {
	case "shared", "forgets":
		value = true
	case "text", "err":
		value = text
	case "on", "left":
		value = strings.Split(text, "+")
	case "until", "keep", "deadline", "from":
		value = seconds(l.t, text)
	default:
		if text == "" {
			e.Names = append(e.Names, word)
			return
		}
		value = json.RawMessage(text) // a number
	}
	field, err := json.Marshal(map[string]any{key: value})
	if err == nil {
		err = json.Unmarshal(field, e)
	}
	check.OK(l.t, err, "%s", word)
}

func seconds(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s + "s")
	check.OK(t, err)
	return d
}

// unjudged is the text of a sentence in which something looks wrong that the check does not judge.
const unjudged = "not judged"

// sentence is a doctored history, and what a check makes of it.
type sentence struct {
	name string
	story
	text string // Tell of the one violation has it, behind "unpromised: " if nobody promised otherwise; "": there is none
}

// try runs a check on each story.
func try(t *testing.T, check func(*record) Check, cases []sentence) {
	t.Helper()
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			_, marked := test.read(t)
			got := check(test.record(t))
			if test.text == "" || test.text == unjudged {
				if len(got.Violations) != 0 || len(marked) != 0 || (got.Unjudged == 1) != (test.text == unjudged) {
					t.Fatalf("%d not judged, and violations, want none:\n%s", got.Unjudged, show(got.Violations))
				}
				return
			}
			if len(got.Violations) != 1 {
				t.Fatalf("got %d violations, want 1 with %q:\n%s", len(got.Violations), test.text, show(got.Violations))
			}
			text, unpromised := strings.CutPrefix(test.text, "unpromised: ")
			v := got.Violations[0]
			if !strings.Contains(Tell(v), text) || (v.Unpromised != "") != unpromised || v.Check != got.Name {
				t.Errorf("got\n%swant %q", show(got.Violations), test.text)
			}
			if !reflect.DeepEqual(v.Events, marked) {
				t.Errorf("got\n%swant the part\n%s", show(got.Violations), show([]history.Violation{{Events: marked}}))
			}
			if got.Looked == 0 {
				t.Error("it looked at nothing")
			}
		})
	}
}

func show(violations []history.Violation) string {
	var out strings.Builder
	for _, v := range violations {
		fmt.Fprint(&out, Tell(v))
	}
	return out.String()
}
