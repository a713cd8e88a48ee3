package history

import (
	"encoding/json"
	"io"
	"sync"
	"time"
)

// Recorder writes the events of one process. Each is one Write, so that nothing is lost of what was
// recorded before the process is killed, and lines of processes that append to one file do not mix.
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

// Add records an event. Where it has no time it gets that of now, and where it has no Who the recorder's.
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
