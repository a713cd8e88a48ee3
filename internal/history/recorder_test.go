package history_test

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"example.com/redlock/internal/history"
)

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
