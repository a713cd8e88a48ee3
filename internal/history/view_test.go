package history_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/history"
)

func TestView(t *testing.T) {
	v, err := sample().View()
	check.OK(t, err)
	if len(v.Calls) != 2 || len(v.Holds) != 1 || len(v.Faults) != 1 || len(v.Processes) != 1 || v.Over != 14 || v.End != 17 {
		t.Fatalf("View = %+v", v)
	}
	hold, call := v.Holds[0], v.Calls[0]
	if hold.By != call || call.Returned != 5 || call.Holds[0] != hold || hold.Unlock != v.Calls[1] || hold.Lost.At != 11 {
		t.Errorf("hold %+v, of call %+v", hold, call)
	}
	if hold.Alive() != 6 || hold.Until != 81 || hold.Key() != "s, slot 2" || hold.Downgraded != history.Never {
		t.Errorf("alive at %d, until %d, key %q, downgraded at %d; want 6, 81, slot 2 of s, never", hold.Alive(), hold.Until, hold.Key(), hold.Downgraded)
	}
	if v.Faults[0].Began != 3 || v.Faults[0].Ended != 4 {
		t.Errorf("the fault began at %v, and was mended at %v, want 3 and 4", v.Faults[0].Began, v.Faults[0].Ended)
	}
	var pauses []history.Span
	for _, p := range v.Pauses {
		pauses = append(pauses, history.Span{From: p.Began, To: p.Ended})
	}
	if want := []history.Span{{From: 7, To: 8}, {From: 7, To: 9}}; !reflect.DeepEqual(pauses, want) {
		t.Errorf("the process was stopped, and stalled, in %v, want %v", pauses, want)
	}
	p := v.Processes[0]
	if p.Skew != time.Hour || p.Began != 1 || p.Ended != 16 || p.Killed || v.Process("c1") != p {
		t.Errorf("process %+v", p)
	}
}

// TestViewOfWhatDidNotHappen: what has no end in the history ends never.
func TestViewOfWhatDidNotHappen(t *testing.T) {
	h := sample()
	h.Events = []history.Event{
		h.Events[0], h.Events[1],
		{At: 2, What: history.Called, Who: "c1", Call: 1, Do: history.Lock, Names: []string{"a"}},
		{At: 3, What: history.Granted, Who: "c1", Call: 1, Hold: 1, Name: "a", Until: 7},
		{At: 4, What: history.Called, Who: "c1", Call: 2, Do: history.Downgrade, Hold: 1},
		{At: 5, What: history.Fault, ID: 1, Fault: "cut"},
		{At: 6, What: history.Killed, Who: "c1"},
	}
	v, err := h.View()
	check.OK(t, err)
	hold := v.Holds[0]
	if v.Over != history.Never || v.Calls[0].Returned != history.Never || v.Calls[0].Result != nil || v.Faults[0].Ended != history.Never {
		t.Errorf("something ended that did not: %+v", v)
	}
	if hold.Unlock != nil || hold.Lost != nil || hold.Downgraded != 4 || hold.Alive() != 3 || hold.Key() != "a" {
		t.Errorf("hold %+v", hold)
	}
	if p := v.Processes[0]; !p.Killed || p.Ended != 6 {
		t.Errorf("process %+v", p)
	}
}

// TestViewRefusesContradictions: with the number of the event, and who did what.
func TestViewRefusesContradictions(t *testing.T) {
	for _, test := range []struct {
		name  string
		event history.Event
		want  string
	}{
		{"a call twice", history.Event{What: history.Called, Call: 1, Do: history.Lock, Names: []string{"a"}}, "a call 1 already"},
		{"a call of nothing", history.Event{What: history.Called, Call: 9, Do: history.Lock}, "call of nothing"},
		{"a call under no hold", history.Event{What: history.Called, Call: 9, Do: history.Unlock, Hold: 9}, "no hold 9"},
		{"a return twice", history.Event{What: history.Returned, Call: 1}, "no call 1 is under way"},
		{"a return without a call", history.Event{What: history.Returned, Call: 9}, "no call 9 is under way"},
		{"a grant without a call", history.Event{What: history.Granted, Call: 9, Hold: 9}, "call 9 is not there"},
		{"a grant twice", history.Event{What: history.Granted, Call: 1, Hold: 1}, "hold 1 is already"},
		{"a look at no hold", history.Event{What: history.Alive, Hold: 9}, "no hold 9"},
		{"a loss of no hold", history.Event{What: history.Lost, Hold: 9}, "no hold 9"},
		{"a mended fault that was none", history.Event{What: history.Mended, ID: 9}, "no fault 9"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := sample()
			test.event.At, test.event.Who = 20, "c1"
			h.Events = append(h.Events, test.event)
			_, err := h.View()
			for _, want := range []string{test.want, "event 20", "c1", string(test.event.What)} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("View: %v, want one with %q", err, want)
				}
			}
		})
	}
}

func TestOverlap(t *testing.T) {
	a := history.Span{From: 10, To: 20}
	for _, test := range []struct {
		other history.Span
		want  time.Duration
	}{
		{history.Span{From: 0, To: 10}, 0},
		{history.Span{From: 0, To: 12}, 2},
		{history.Span{From: 12, To: 15}, 3},
		{history.Span{From: 15, To: history.Never}, 5},
		{history.Span{From: 25, To: 30}, 0},
	} {
		if got, back := a.Overlap(test.other), test.other.Overlap(a); got != test.want || back != test.want {
			t.Errorf("%v and %v: %d and %d, want %d", a, test.other, got, back, test.want)
		}
	}
}
