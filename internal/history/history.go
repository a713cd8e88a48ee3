package history

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// History is all events of a run, in the order of time.
type History struct {
	Run    Run
	Events []Event
}

// Read reads a history, or the part of it that one process wrote. It leaves out a last line that is not complete: its
// writer was killed.
func Read(in io.Reader) ([]Event, error) {
	var events []Event
	lines := bufio.NewReader(in)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return nil, err
		}
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.DisallowUnknownFields()
		var e Event
		err = decoder.Decode(&e)
		if err == nil && decoder.More() {
			err = errors.New("there is more than one event")
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		events = append(events, e)
	}
}

// ErrNoRun says that no event tells what was set up.
var ErrNoRun = errors.New("a history needs an event of kind run")

// Merge puts parts of a history in the order of time. Events of one part that have the same time stay in their order.
func Merge(parts ...[]Event) (*History, error) {
	h := &History{Events: slices.Concat(parts...)}
	slices.SortStableFunc(h.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	for _, e := range h.Events {
		if e.What == RunBegan && e.Run != nil {
			h.Run = *e.Run
			return h, nil
		}
	}
	return nil, ErrNoRun
}

// Write writes the history as Read reads it.
func (h *History) Write(out io.Writer) error {
	buffer := bufio.NewWriter(out)
	lines := json.NewEncoder(buffer)
	for i := range h.Events {
		if err := lines.Encode(&h.Events[i]); err != nil {
			return err
		}
	}
	return buffer.Flush()
}

// Recorder writes the events of one process, each with one Write: so a process that is killed loses nothing that it has
// recorded, and lines of processes that append to the same file do not mix.
type Recorder struct {
	who string
	now func() time.Duration

	mu  sync.Mutex
	out io.Writer
	err error
}

// NewRecorder returns the recorder of the process who. now is the time since the run began.
func NewRecorder(out io.Writer, who string, now func() time.Duration) *Recorder {
	return &Recorder{who: who, now: now, out: out}
}

// Now returns the time since the run began.
func (r *Recorder) Now() time.Duration { return r.now() }

// Add records an event. If it has no time, it gets the present one; if it has no Who, that of the recorder.
func (r *Recorder) Add(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.At == 0 {
		e.At = r.now() // under the mutex, so that lines are in the order of their times
	}
	if e.Who == "" {
		e.Who = r.who
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = r.out.Write(append(line, '\n'))
	}
	if r.err == nil {
		r.err = err
	}
}

// Err returns the first error of Add: after it the history has gaps.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}
