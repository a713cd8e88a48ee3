// Package queue calls functions one after the other, in a goroutine of their own. So whoever adds one may hold any lock,
// and one that is slow, or blocks, delays nobody.
package queue

import (
	"sync"
	"time"
)

// Queue has the functions that are still to be called. Make it with New.
type Queue struct {
	patience time.Duration      // of Close
	missed   func(n int) func() // makes the one that says how many were dropped

	mu      sync.Mutex
	calls   []func()
	dropped int           // since the last that was kept
	closed  bool          // none is kept any more
	over    chan struct{} // closed once all are called; nil: nothing is to be called
}

// New makes a Queue. Where functions were dropped, the one that missed returns is called in their place: n is how many
// they were. Close waits for as long as patience.
func New(patience time.Duration, missed func(n int) func()) *Queue {
	return &Queue{patience: patience, missed: missed}
}

// Add has call called after those before it. If so many wait already that there is no room, it is dropped.
func (q *Queue) Add(call func(), room int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
	case len(q.calls) >= room:
		q.dropped++
	default:
		q.keepLocked(call)
	}
}

// keepLocked has these called, after the word of those that were dropped before them.
func (q *Queue) keepLocked(calls ...func()) {
	if q.dropped > 0 {
		q.calls = append(q.calls, q.missed(q.dropped))
		q.dropped = 0
	}
	q.calls = append(q.calls, calls...)
	if q.over != nil || len(q.calls) == 0 {
		return
	}
	// The goroutine closes a channel of its own: what is added outside a synctest bubble is called outside, and must
	// touch no channel of the bubble.
	q.over = make(chan struct{})
	// Goroutines: one, while there is something to call. Close waits for it.
	go q.run(q.over)
}

// Close has these called at last, even if there is no room, and returns once all are called, or when that takes too
// long. What is not called by then never is. It is called once.
func (q *Queue) Close(last ...func()) {
	q.mu.Lock()
	q.keepLocked(last...)
	q.closed = true
	over := q.over
	q.mu.Unlock()
	if over == nil {
		return
	}
	select {
	case <-over:
	case <-time.After(q.patience):
		q.mu.Lock()
		q.calls = nil
		q.mu.Unlock()
	}
}

func (q *Queue) run(over chan<- struct{}) {
	called := false
	defer func() {
		if called {
			close(over)
		} else { // a function has ended the goroutine, as those of package testing do
			go q.run(over)
		}
	}()
	for call := q.next(); call != nil; call = q.next() {
		call()
	}
	called = true
}

// next takes the function that is called next, nil if there is none.
func (q *Queue) next() (call func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.calls) == 0 {
		q.over = nil
		return nil
	}
	call, q.calls[0] = q.calls[0], nil
	q.calls = q.calls[1:]
	return call
}
