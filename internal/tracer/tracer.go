// Package tracer calls the functions of a redlocktrace.Trace, one after the other, in a goroutine of
// its own. So whoever tells of an event may hold any lock, and a slow function delays nobody.
package tracer

import (
	"sync"
	"sync/atomic"
	"time"

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

	patience time.Duration // of Close
	wake     chan struct{} // told when there are events
	done     chan struct{} // closed when all are told, after Close
	over     atomic.Bool   // none is told any more

	mu     sync.Mutex
	events []func()
	missed int  // dropped since the last event that was kept
	closed bool // none is kept any more
}

// New makes a Tracer of a new client of these masters for t, nil if t is. Close waits for its functions
// for as long as patience.
func New(t *redlocktrace.Trace, client string, masters []string, patience time.Duration) *Tracer {
	if t == nil {
		return nil
	}
	tr := &Tracer{
		Trace: *t, Client: client, patience: patience,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	Tell(tr, tr.Trace.ClientChanged, redlocktrace.ClientChanged{
		Client: client, Time: time.Now(), State: redlocktrace.ClientStarted, Masters: masters,
	})
	// Goroutines: one, which Close ends and waits for.
	go tr.run()
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
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
	case len(t.events) >= room:
		t.missed++
	default:
		t.keepLocked(func() { f(e) })
	}
}

// keepLocked has event told, after the word of those that were dropped before it.
func (t *Tracer) keepLocked(event func()) {
	if t.missed > 0 && t.Trace.ClientChanged != nil {
		e := redlocktrace.ClientChanged{Client: t.Client, Time: time.Now(), State: redlocktrace.ClientMissed, Missed: t.missed}
		t.events = append(t.events, func() { t.Trace.ClientChanged(e) })
	}
	t.missed = 0
	t.events = append(t.events, event)
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Close tells that the client is closed, and returns once all events are told, or when a function takes
// too long. What comes later is not told. It is called once.
func (t *Tracer) Close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	if f := t.Trace.ClientChanged; f != nil { // even if there is no room
		e := redlocktrace.ClientChanged{Client: t.Client, Time: time.Now(), State: redlocktrace.ClientClosed}
		t.keepLocked(func() { f(e) })
	}
	t.closed = true
	close(t.wake)
	t.mu.Unlock()
	select {
	case <-t.done:
	case <-time.After(t.patience):
		t.over.Store(true)
	}
}

func (t *Tracer) run() {
	defer close(t.done)
	for range t.wake { // also what is left of it after Close
		t.tell()
	}
}

// tell calls what is to be called by now.
func (t *Tracer) tell() {
	t.mu.Lock()
	events := t.events
	t.events = nil
	t.mu.Unlock()
	for _, event := range events {
		if t.over.Load() {
			return
		}
		event()
	}
}
