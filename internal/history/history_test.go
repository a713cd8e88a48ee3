package history_test

import (
	"bytes"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/history"
)

// sample has an event of each kind, with something in each field that belongs to it.
func sample() *history.History {
	run := history.Run{
		Title: "t", Seed: 7, Began: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Masters: []string{"m1"},
		Lease: time.Second, MaxLease: 2 * time.Second, Guard: -1, NodeTimeout: time.Millisecond, Replay: "make",
	}
	return &history.History{Run: run, Events: []history.Event{
		{What: history.RunBegan, Run: &run},
		{At: 1, What: history.Started, Who: "c1", Skew: time.Hour},
		{At: 2, What: history.Called, Who: "c1", Call: 1, Do: history.Acquire, Names: []string{"s"}, Deadline: 90},
		{At: 3, What: history.Fault, ID: 1, Fault: "flushall", On: []string{"m1"}, Forgets: true},
		{At: 4, What: history.Mended, ID: 1},
		{At: 5, What: history.Granted, Who: "c1", Call: 1, Hold: 1, Name: "s", Slot: 2, Shared: true, Token: 9, Until: 80},
		{At: 5, What: history.Returned, Who: "c1", Call: 1},
		{At: 6, What: history.Alive, Who: "c1", Hold: 1, Until: 81},
		{At: 7, What: history.Stopped, Who: "c1"},
		{At: 8, What: history.Continued, Who: "c1"},
		{At: 9, What: history.Stall, Who: "c1", From: 7},
		{At: 10, What: history.Accepted, Who: "c1", Do: history.Writing, Hold: 1, Name: "s", Token: 9, Value: 3, Base: 2},
		{At: 11, What: history.Lost, Who: "c1", Hold: 1, Text: "gone"},
		{At: 12, What: history.Called, Who: "c1", Call: 2, Do: history.Unlock, Hold: 1},
		{At: 13, What: history.Returned, Who: "c1", Call: 2, Err: history.NoLock},
		{At: 14, What: history.Over},
		{At: 15, What: history.Audited, Who: "c1", Goroutines: 1, Sockets: 2, Heap: 3},
		{At: 16, What: history.Exited, Who: "c1"},
		{At: 17, What: history.Audited, Who: "m1", Left: []string{"s"}},
	}}
}

func TestReadWhatWasWritten(t *testing.T) {
	want := sample()
	var file bytes.Buffer
	n, err := want.WriteTo(&file)
	if err != nil || n != int64(file.Len()) {
		t.Fatalf("WriteTo = %d, %v; it wrote %d bytes", n, err, file.Len())
	}
	events, err := history.Read(&file)
	check.OK(t, err)
	got, err := history.Merge(events)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Merge(Read) = %+v, %v; want %+v", got, err, want)
	}
}

func TestErrorsNameTheirLine(t *testing.T) {
	for _, test := range []struct{ name, line string }{
		{"no JSON", "what?"},
		{"a torn line before the last", `{"at":1,"wh`},
		{"two events, of which the first was torn at its very end", `{"at":1,"what":"over"}{"at":1,"what":"over"}`},
		{"a field that is not known", `{"at":1,"what":"alive","colour":"red"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := `{"at":1,"what":"over"}` + "\n" + test.line + "\n" + `{"at":2,"what":"over"}` + "\n"
			_, err := history.Read(strings.NewReader(in))
			if err == nil || !strings.Contains(err.Error(), "line 2") {
				t.Errorf("Read: %v, want an error of line 2", err)
			}
		})
	}
}

// TestMerge: parts are put in the order of time, and what one part has at one instant stays as it was.
func TestMerge(t *testing.T) {
	run := history.Event{What: history.RunBegan, Run: &history.Run{Seed: 3}}
	at := func(at time.Duration, id int) history.Event {
		return history.Event{At: at, What: history.Fault, ID: id}
	}
	h, err := history.Merge([]history.Event{at(2, 1), at(5, 2), at(5, 3), at(5, 4)}, []history.Event{run, at(5, 5), at(3, 6)})
	check.OK(t, err)
	var ids []int
	for _, e := range h.Events {
		ids = append(ids, e.ID)
	}
	if want := []int{0, 1, 6, 2, 3, 4, 5}; !reflect.DeepEqual(ids, want) || h.Run.Seed != 3 {
		t.Errorf("Merge: %v, seed %d; want %v, 3", ids, h.Run.Seed, want)
	}
	if _, err := history.Merge([]history.Event{at(1, 1)}); err == nil {
		t.Error("Merge without a run: no error")
	}
}

// writes notes each Write.
type writes struct {
	all [][]byte
	err error
}

func (w *writes) Write(line []byte) (int, error) {
	w.all = append(w.all, bytes.Clone(line))
	return len(line), w.err
}

// TestRecorder: each event is one write of one line, however many callers there are, and they are in the
// order of their times.
func TestRecorder(t *testing.T) {
	var out writes
	var now time.Duration
	rec := history.NewRecorder(&out, "c1", func() time.Duration { now++; return now }) // under the recorder's mutex
	const callers, each = 8, 50
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range each {
				rec.Add(history.Event{What: history.Alive, Hold: 1})
			}
		})
	}
	all.Wait()
	if len(out.all) != callers*each || rec.Err() != nil {
		t.Fatalf("%d writes, want %d; %v", len(out.all), callers*each, rec.Err())
	}
	for i, line := range out.all {
		events, err := history.Read(bytes.NewReader(line))
		if err != nil || len(events) != 1 || events[0].At != time.Duration(i+1) || events[0].Who != "c1" {
			t.Fatalf("write %d: %v, %v", i, events, err)
		}
	}
}

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
