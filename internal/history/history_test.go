package history_test

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
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
		{At: 10, What: history.Wrote, Who: "c1", Hold: 1, Name: "s", Slot: 2, Token: 9},
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
	check.OK(t, want.Write(&file))
	events, err := history.Read(&file)
	check.OK(t, err)
	got, err := history.Merge(events)
	check.That(t, err == nil && reflect.DeepEqual(got, want), "Merge(Read) = %+v, %v; want %+v", got, err, want)
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
			check.That(t, err != nil && strings.Contains(err.Error(), "line 2"), "Read: %v, want an error of line 2", err)
		})
	}
}

// TestMerge: a history has a run. What does not say when its faults were over had them to its end.
func TestMerge(t *testing.T) {
	run, fault := history.Event{What: history.RunBegan, Run: &history.Run{Seed: 3}}, history.Event{What: history.Fault, ID: 1}
	if _, err := history.Merge([]history.Event{fault}); !errors.Is(err, history.ErrNoRun) {
		t.Errorf("Merge without a run = %v, want %v", err, history.ErrNoRun)
	}
	h, err := history.Merge([]history.Event{run, fault})
	check.OK(t, err)
	if v, err := h.View(); err != nil || v.Run.Seed != 3 || v.Over != history.Never {
		t.Errorf("View = %+v, %v, want a run of seed 3 whose faults are never over", v, err)
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
				check.That(t, err != nil && strings.Contains(err.Error(), want), "View: %v, want one with %q", err, want)
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

// TestStaleWrites: a write is stale if one of the same name, or of the same slot, had a larger token.
func TestStaleWrites(t *testing.T) {
	h := sample()
	for _, e := range []history.Event{{Token: 9}, {Token: 8}, {Token: 9}, {Token: 7, Slot: 1}, {Token: 6, Slot: 2}, {Token: 5, Slot: 1}} {
		e.At, e.What, e.Name = 20, history.Wrote, "a"
		h.Events = append(h.Events, e)
	}
	v, err := h.View()
	check.OK(t, err)
	var stale []int64
	for _, w := range v.Writes {
		if w.Stale {
			stale = append(stale, w.Token)
		}
	}
	if want := []int64{8, 5}; !slices.Equal(stale, want) {
		t.Errorf("the writes with tokens %v are stale, want %v", stale, want)
	}
}
