package judge

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/redlock/internal/history"
)

// story is a history as tests write it, one event a line:
//
//	1.5 c1 call 1 lock a
//	1.6 c1 grant 1 a token=7 until=3.5
//
// That is the time in seconds, who, what, and what belongs to it; the hold that call 1 is granted is hold 1.
// A violation must consist of exactly the lines that begin with ">".
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
		Locker: "redlock", Masters: []string{"m1", "m2", "m3"},
		Lease: lease, MaxLease: 2 * lease, Guard: guard, NodeTimeout: 200 * time.Millisecond,
		Tokens: true, Signal: true,
	}
	h := &history.History{Run: *run, Events: []history.Event{{What: history.RunBegan, Run: run}}}
	var marked []history.Event
	for line := range strings.Lines(string(s)) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		shown := words[0] == ">"
		if shown {
			words = words[1:]
		}
		e := parse(t, words)
		h.Events = append(h.Events, e)
		if shown {
			marked = append(marked, e)
		}
	}
	return h, marked
}

// parse reads one line.
func parse(t *testing.T, words []string) history.Event {
	t.Helper()
	e := history.Event{At: seconds(t, words[0]), Who: words[1], What: history.What(words[2])}
	words = words[3:]
	next := func() string {
		word := words[0]
		words = words[1:]
		return word
	}
	switch e.What {
	case history.Called:
		e.Call, e.Do = number(t, next()), history.Do(next())
	case history.Returned, history.Queues, history.Stands:
		e.Call = number(t, next())
	case history.Granted:
		e.Call = number(t, next())
		e.Hold, e.Name = e.Call, next()
	case history.Alive, history.Lost:
		e.Hold = number(t, next())
	case history.Fault:
		e.ID, e.Fault = number(t, next()), next()
	case history.Mended:
		e.ID = number(t, next())
	case history.Accepted, history.Refused:
		e.Do, e.Name = history.Do(next()), next()
	}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "hold":
			e.Hold = number(t, value)
		case "since":
			e.Since = int64(number(t, value))
		case "token":
			e.Token = int64(number(t, value))
		case "value":
			e.Value = int64(number(t, value))
		case "base":
			e.Base = int64(number(t, value))
		case "text":
			e.Text = value
		case "permits":
			e.Permits = number(t, value)
		case "slot":
			e.Slot = number(t, value)
		case "until":
			e.Until = seconds(t, value)
		case "keep":
			e.Keep = seconds(t, value)
		case "deadline":
			e.Deadline = seconds(t, value)
		case "from":
			e.From = seconds(t, value)
		case "err":
			e.Err = history.Failure(value)
		case "shared":
			e.Shared = true
		case "forgets":
			e.Forgets = true
		case "on":
			e.On = strings.Split(value, ",")
		case "left":
			e.Left = strings.Split(value, ",")
		case "goroutines":
			e.Goroutines = number(t, value)
		case "sockets":
			e.Sockets = number(t, value)
		case "heap":
			e.Heap = int64(number(t, value))
		default:
			e.Names = append(e.Names, key)
		}
	}
	return e
}

func seconds(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s + "s")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// sentence is a doctored history, and what a check makes of it.
type sentence struct {
	name string
	story
	text       string // in the text of the one violation; "": there is none
	unpromised bool
}

// try runs a check on each story.
func try(t *testing.T, check func(*record) Check, cases []sentence) {
	t.Helper()
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			h, marked := test.read(t)
			r, err := newRecord(h)
			if err != nil {
				t.Fatal(err)
			}
			got := check(r)
			if test.text == "" {
				if len(got.Violations) != 0 || len(marked) != 0 {
					t.Fatalf("got violations, want none:\n%s", show(got.Violations))
				}
				return
			}
			if len(got.Violations) != 1 {
				t.Fatalf("got %d violations, want 1 with %q:\n%s", len(got.Violations), test.text, show(got.Violations))
			}
			v := got.Violations[0]
			if !strings.Contains(v.Text, test.text) || (v.Unpromised != "") != test.unpromised || v.Check != got.Name {
				t.Errorf("got\n%swant %q, unpromised %v", show(got.Violations), test.text, test.unpromised)
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
		fmt.Fprintf(&out, "%v %s: %s %s\n", v.At, v.Check, v.Text, v.Unpromised)
		for _, e := range v.Events {
			fmt.Fprintf(&out, "\t%v %s %s call=%d hold=%d %s token=%d\n", e.At, e.Who, e.What, e.Call, e.Hold, e.Do, e.Token)
		}
	}
	return out.String()
}
