package history_test

import (
	"bytes"
	"reflect"
	"strings"
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
