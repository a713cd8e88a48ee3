// Package tracer calls the functions of a redlocktrace.Trace, one after the other, in a goroutine of
// its own. So whoever tells of an event may hold any lock, and a slow function delays nobody.
package tracer

import (
	"sync"
	"time"

	"example.com/redlock/quorum"
	"example.com/redlock/redlocktrace"
)

// Tracer has the events of a client that are still to be told. A nil Tracer is that of a client that
// is not traced: check for nil before an event is made, so that none costs anything.
type Tracer struct {
	redlocktrace.Trace
	Client string // uuid: the first part of the client's owners

	wake chan struct{} // told when there are events
	done chan struct{} // closed when all are told, after Close

	mu     sync.Mutex
	events []func()
	closed bool
}

// New makes a Tracer of a new client of these masters for t, nil if t is.
func New(t *redlocktrace.Trace, client string, masters []string) *Tracer {
	if t == nil {
		return nil
	}
	tr := &Tracer{Trace: *t, Client: client, wake: make(chan struct{}, 1), done: make(chan struct{})}
	Tell(tr, tr.ClientStarted, redlocktrace.ClientStarted{
		Client: client, Time: time.Now(), Masters: masters, Need: quorum.Majority(len(masters)),
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
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.events = append(t.events, func() { f(e) })
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Close tells that the client is closed, and returns once all events are told. What comes later is not
// told. It is called once.
func (t *Tracer) Close() {
	if t == nil {
		return
	}
	Tell(t, t.ClientClosed, redlocktrace.ClientClosed{Client: t.Client, Time: time.Now()})
	t.mu.Lock()
	t.closed = true
	close(t.wake)
	t.mu.Unlock()
	<-t.done
}

func (t *Tracer) run() {
	defer close(t.done)
	for range t.wake {
		t.tell()
	}
	t.tell() // what came between the last look and Close
}

// tell calls what is to be called by now.
func (t *Tracer) tell() {
	t.mu.Lock()
	events := t.events
	t.events = nil
	t.mu.Unlock()
	for _, e := range events {
		e()
	}
}
