// Package awake has time limits for somebody else, which do not count the time in which this process did not run: for want
// of CPU, or because it was stopped. What is waited for may have come then, and nobody had time to look.
//
// # Concurrency
//
// A Limit may be used by any number of goroutines.
package awake

import (
	"runtime"
	"sync"
	"time"

	"example.com/redlock/clock"
)

// Limit is a time limit. Make it with After.
//
// It passes in steps. A step that ends late shows that the process was short of time, and is repeated; but no more than
// [steps] are, so that a limit of d ends after 2d on any machine.
type Limit struct {
	end  func()
	step time.Duration

	mu    sync.Mutex
	timer *time.Timer // nil once it has ended
	due   clock.Instant
	left  int // steps
	again int // so many more may be repeated
}

// steps is how many steps a limit has.
const steps = 4

// After calls end in a goroutine of its own once d has passed for this process, and 2d by any clock at the latest.
func After(d time.Duration, end func()) *Limit {
	l := &Limit{end: end, step: d / steps, left: steps, again: steps}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due = clock.Now().Add(l.step)
	l.timer = time.AfterFunc(l.step, l.tick)
	return l
}

// Restart begins the limit anew, unless it has ended.
func (l *Limit) Restart() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.left, l.again, l.due = steps, steps, clock.Now().Add(l.step)
		l.timer.Reset(l.step)
	}
}

// Stop keeps the limit from ending. It may have ended before, and end may still run.
func (l *Limit) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}

// Over reports whether the limit has ended, rather than been stopped.
func (l *Limit) Over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.left == 0
}

func (l *Limit) tick() {
	now := Now()
	l.mu.Lock()
	if l.timer == nil { // it was stopped meanwhile
		l.mu.Unlock()
		return
	}
	if Late(now, l.due, l.step) && l.again > 0 {
		l.again--
	} else {
		l.left--
	}
	over := l.left == 0
	if over {
		l.timer = nil
	} else {
		l.due = now.Add(l.step)
		l.timer.Reset(l.step)
	}
	l.mu.Unlock()
	if over {
		l.end()
	}
}

// Now lets the goroutines run that could have run by now, and returns the time then. The goroutine of a timer runs before
// all others, so without that it would not see how long they wait.
func Now() clock.Instant {
	runtime.Gosched()
	return clock.Now()
}

// Late reports whether a timer that was due then fires so late, after a step of that length, that the process was short
// of time.
func Late(now, due clock.Instant, step time.Duration) bool {
	return now.Sub(due) > max(step/4, 10*time.Millisecond)
}
