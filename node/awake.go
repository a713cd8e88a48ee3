package node

import (
	"runtime"
	"sync"
	"time"

	"example.com/redlock/clock"
)

// awake is a time limit for somebody else. It does not count the time in which this process did not run, for
// want of CPU or because it was stopped: what it waits for may have come then, and nobody had time to look.
//
// The limit passes in steps. One that ends late shows that the process was short of time, and is repeated;
// but no more than awakeSteps are, so that the limit is one on any machine.
type awake struct {
	end  func()
	step time.Duration

	mu    sync.Mutex
	timer *time.Timer // nil once it has ended
	due   clock.Instant
	left  int // steps
	again int // so many more may be repeated
}

// awakeSteps is how many steps a time limit has.
const awakeSteps = 4

// afterAwake calls end in a goroutine of its own once d has passed for this process.
func afterAwake(d time.Duration, end func()) *awake {
	a := &awake{end: end, step: d / awakeSteps, left: awakeSteps, again: awakeSteps}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due = clock.Now().Add(a.step)
	a.timer = time.AfterFunc(a.step, a.tick)
	return a
}

// AfterAwake calls end in a goroutine of its own once d has passed for this process, unless stop is called before. It takes
// twice as long at most.
func AfterAwake(d time.Duration, end func()) (stop func()) { return afterAwake(d, end).stop }

// restart begins the limit anew, unless it has ended.
func (a *awake) restart() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer != nil {
		a.left, a.again, a.due = awakeSteps, awakeSteps, clock.Now().Add(a.step)
		a.timer.Reset(a.step)
	}
}

// stop keeps the limit from ending. It may have ended before, and end may still run.
func (a *awake) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}

// why returns the reason of err, if it is one: the end of the limit, if that came first.
func (a *awake) why(err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil && a.left == 0 {
		return ErrTimeout
	}
	return err
}

func (a *awake) tick() {
	now := afterOthers()
	a.mu.Lock()
	if a.timer == nil { // it was stopped meanwhile
		a.mu.Unlock()
		return
	}
	if late(now, a.due, a.step) && a.again > 0 {
		a.again--
	} else {
		a.left--
	}
	over := a.left == 0
	if over {
		a.timer = nil
	} else {
		a.due = now.Add(a.step)
		a.timer.Reset(a.step)
	}
	a.mu.Unlock()
	if over {
		a.end()
	}
}

// afterOthers lets the goroutines run that could have run by now, and returns the time. A timer's own goroutine
// is run before all others, so without that it would not see how long they wait.
func afterOthers() clock.Instant {
	runtime.Gosched()
	return clock.Now()
}

// late reports whether what was due then comes so late that the process was short of time during the
// step before.
func late(now, due clock.Instant, step time.Duration) bool {
	return now.Sub(due) > max(step/4, 10*time.Millisecond)
}
