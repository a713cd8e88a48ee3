// Package tracer calls the functions of a redlocktrace.Trace, one after the other, in a goroutine of
// its own. So whoever tells of an event may hold any lock, and a slow function delays nobody.
package tracer

import (
	"time"

	"example.com/redlock/internal/queue"
	"example.com/redlock/redlocktrace"
)

// maxEvents bounds those that wait to be told: some hundred locks. What says how things stand, and may not be said again
// for days, has as much room once more.
const maxEvents = 10_000

// Tracer has the events of a client that are still to be told. A nil Tracer is that of a client that
// is not traced: check for nil before an event is made, so that none costs anything.
type Tracer struct {
	Trace  redlocktrace.Trace
	Client string // uuid: the first part of the client's owners

	events *queue.Queue
}

// New makes a Tracer of a new client of these masters for t, nil if t is. Close waits for its functions
// for as long as patience.
func New(t *redlocktrace.Trace, client string, masters []string, patience time.Duration) *Tracer {
	if t == nil {
		return nil
	}
	tr := &Tracer{Trace: *t, Client: client}
	tr.events = queue.New(patience, func(n int) func() {
		return tr.changed(redlocktrace.ClientChanged{State: redlocktrace.ClientMissed, Missed: n})
	})
	tr.events.Add(tr.changed(redlocktrace.ClientChanged{State: redlocktrace.ClientStarted, Masters: masters}), maxEvents)
	return tr
}

// Tell has f called with e, after the events before it. If f is nil, nothing happens.
func Tell[E any](t *Tracer, f func(E), e E) {
	if f == nil {
		return
	}
	room := maxEvents
	switch any(f).(type) {
	case func(redlocktrace.MasterChanged), func(redlocktrace.SetsOverlap):
		room *= 2
	}
	t.events.Add(func() { f(e) }, room)
}

// changed returns what tells of a change of the client.
func (t *Tracer) changed(e redlocktrace.ClientChanged) func() {
	e.Client, e.Time = t.Client, time.Now()
	return func() {
		if t.Trace.ClientChanged != nil {
			t.Trace.ClientChanged(e)
		}
	}
}

// Close tells that the client is closed, and returns once all events are told, or when a function takes
// too long. What comes later is not told. It is called once.
func (t *Tracer) Close() {
	if t != nil {
		t.events.Close(t.changed(redlocktrace.ClientChanged{State: redlocktrace.ClientClosed}))
	}
}
