package tracer

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlocktrace"
)

// slow is a Trace whose first CallStarted blocks until it is let go.
func slow() (t *redlocktrace.Trace, told *[]any, let chan struct{}) {
	told, let = new([]any), make(chan struct{})
	return &redlocktrace.Trace{
		CallStarted: func(e redlocktrace.CallStarted) {
			<-let
			*told = append(*told, e.ID)
		},
		ClientChanged: func(e redlocktrace.ClientChanged) {
			if e.State != redlocktrace.ClientStarted {
				*told = append(*told, fmt.Sprint(e.State, e.Missed))
			}
		},
	}, told, let
}

// start tells of calls with these IDs.
func start(tr *Tracer, from, to uint64) {
	for id := from; id < to; id++ {
		Tell(tr, tr.Trace.CallStarted, redlocktrace.CallStarted{Call: redlocktrace.Call{ID: id}})
	}
}

// What says how things stand is told although there is no room: whoever keeps it would be wrong until it changes again.
func TestSlowFunctionMissesNoState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trace, told, let := slow()
		trace.MasterChanged = func(e redlocktrace.MasterChanged) { *told = append(*told, e.State) }
		trace.SetsOverlap = func(e redlocktrace.SetsOverlap) { *told = append(*told, e.Other) }
		tr := New(trace, "uuid", nil, time.Second)
		start(tr, 0, 1)
		synctest.Wait() // it hangs
		start(tr, 1, maxEvents+8)
		Tell(tr, trace.MasterChanged, redlocktrace.MasterChanged{State: redlocktrace.StateDown})
		Tell(tr, trace.SetsOverlap, redlocktrace.SetsOverlap{Other: "other"})
		close(let)
		synctest.Wait()
		want := []any{"missed7", redlocktrace.StateDown, "other"}
		if n := len(*told) - len(want); n != maxEvents+1 || !slices.Equal((*told)[n:], want) {
			t.Errorf("told %d events, the last of them %v, want %d and %v", len(*told), (*told)[max(0, n):], maxEvents+1+len(want), want)
		}
		tr.Close()
	})
}

// Close waits for a function, but not forever, and nothing is told after it.
func TestCloseOfASlowFunction(t *testing.T) {
	for _, tt := range []struct {
		name  string
		slow  time.Duration
		takes time.Duration
		told  int
	}{
		{"in time", 900 * time.Millisecond, 900 * time.Millisecond, 3},
		{"too slow", time.Minute, time.Second, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				trace, told, let := slow()
				tr := New(trace, "uuid", nil, time.Second)
				start(tr, 1, 3)
				time.AfterFunc(tt.slow, func() { close(let) })
				begun := time.Now()
				tr.Close()
				if took := time.Since(begun); took != tt.takes {
					t.Errorf("Close took %v, want %v", took, tt.takes)
				}
				start(tr, 3, 4)
				time.Sleep(time.Hour)
				synctest.Wait()
				check.That(t, len(*told) == tt.told, "told %v, want %d events", *told, tt.told)
			})
		})
	}
}
