package multilock

import (
	"container/heap"
	"sync"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/attempt"
)

// watchdog sends the renewals of a client's holds when they are due. One goroutine serves all of
// them; those that are due at about the same time, for the same lease, share a script call.
//
// A master does nothing else while it runs a script. So renewals of many holds are spread
// over the time between two of them, and some are made early for that: holds that were
// taken in a burst do not fall due in a burst again.
type watchdog struct {
	m     *Masters
	began time.Time
	wake  chan struct{} // told when an earlier renewal is due than the goroutine waits for
	stop  chan struct{}
	done  chan struct{} // closed when the goroutine has ended

	mu   sync.Mutex
	heap schedule
	// By the time since began.
	next time.Duration // when the goroutine looks again
	rest time.Duration // until when the masters have time for others
	pace time.Duration // until when nothing is renewed that is not due
}

// Masters are given batch holds at a time (some 0.2 ms of work), a gap apart, as long as that is
// enough.
const (
	batch = 24
	gap   = time.Millisecond
)

// atOnce returns how many holds are renewed in one script call, of n that are watched:
// more than a batch only where batches with gaps between them take most of the time that
// there is.
func atOnce(n int, lease time.Duration) int {
	return max(batch, int(2*gap*time.Duration(n)/attempt.RenewEvery(lease)))
}

// leeway is how early a renewal may be made that shares a script call with one that is due.
func leeway(lease time.Duration) time.Duration { return lease / 60 }

// suspendWatch is how long a suspend may go unnoticed after it.
const suspendWatch = time.Second

// suspended is clock.Suspended, but for tests.
var suspended = clock.Suspended

func newWatchdog(m *Masters) *watchdog {
	w := &watchdog{m: m, began: time.Now(), wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	// Goroutines: one, which close ends and waits for.
	go w.run()
	return w
}

func (w *watchdog) close() {
	close(w.stop)
	<-w.done
}

// schedule makes the renewal of what d holds due when its attempt says so. Where renewals are spread, it may be made
// earlier, but not before half of the time until then has passed. d.mu is held.
func (w *watchdog) schedule(d *driver) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v := &d.renewal
	if !d.state.Due {
		if v.index != unscheduled {
			heap.Remove(&w.heap, v.index)
		}
		return
	}
	if v.index != unscheduled && v.at == d.state.RenewAt {
		return
	}
	left := d.m.left(d.state.RenewAt)
	v.at, v.lease, v.early, v.due = d.state.RenewAt, d.state.Lease, left-left/2, w.now()+left
	if v.index == unscheduled {
		heap.Push(&w.heap, d)
	} else {
		heap.Fix(&w.heap, v.index)
	}
	// Most holds are given back before they are due. The goroutine is not woken for them,
	// but to begin early where they have just become many.
	if v.due < w.next || len(w.heap) == batch+1 {
		poke(w.wake)
	}
}

func (w *watchdog) run() {
	defer close(w.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	asleep := w.m.asleep()
	for {
		if so := w.m.asleep(); so-asleep >= time.Millisecond {
			w.catchUp(so - asleep)
			asleep = so
			w.m.wakeHolds()
		} else {
			asleep = min(asleep, so) // it falls where the wall clock tells it, and is set back
		}
		w.m.reportLosses(lossesFor)
		due, lease, next := w.take()
		if len(due) > 0 {
			w.m.renew(lease, due)
			continue
		}
		timer.Reset(min(next, suspendWatch))
		select {
		case <-timer.C:
		case <-w.wake:
		case <-w.stop:
			return
		}
	}
}

// now is the time since the watchdog began.
func (w *watchdog) now() time.Duration { return time.Since(w.began) }

// catchUp makes up for a suspend, in which the time of timers stood still.
func (w *watchdog) catchUp(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.heap {
		h.renewal.due -= d
	}
}

// take returns the drivers whose holds are to be renewed now, to lease; or, if there are none, the time until the next.
func (w *watchdog) take() (due []*driver, lease, next time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	if len(w.heap) == 0 {
		w.next = now + time.Hour
		return nil, 0, time.Hour
	}
	n, first := len(w.heap), &w.heap[0].renewal
	spread := n > batch
	at := first.due
	if spread {
		at = min(at, max(first.from(), w.pace))
	}
	w.next = max(at, w.rest)
	if next := w.next - now; next > 0 {
		return nil, 0, next
	}
	lease = first.lease
	size := atOnce(n, lease)
	for len(w.heap) > 0 && len(due) < size {
		v := &w.heap[0].renewal
		early := v.due-now <= leeway(lease) || spread && v.from() <= now
		if v.lease != lease || !early {
			break
		}
		due = append(due, heap.Pop(&w.heap).(*driver))
	}
	k := time.Duration(len(due))
	w.rest = now + gap*k/time.Duration(size)
	w.pace = now + attempt.RenewEvery(lease)*k/time.Duration(n)
	return due, lease, 0
}

// renewal is the next renewal of a hold. Watchdog.mu guards it.
type renewal struct {
	at    clock.Instant // as the hold has it
	lease time.Duration
	early time.Duration // how much before it is due it may be made
	due   time.Duration // since the watchdog began
	index int           // in the heap
}

// from returns from when it may be made.
func (r *renewal) from() time.Duration { return r.due - r.early }

// unscheduled is the index of what is not in the heap.
const unscheduled = -1

// schedule is a heap of drivers by their next renewals, the earliest first.
type schedule []*driver

func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].renewal.due < s[j].renewal.due }

func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].renewal.index, s[j].renewal.index = i, j
}

func (s *schedule) Push(v any) {
	d := v.(*driver)
	d.renewal.index = len(*s)
	*s = append(*s, d)
}

func (s *schedule) Pop() any {
	last := len(*s) - 1
	d := (*s)[last]
	d.renewal.index = unscheduled
	(*s)[last] = nil
	*s = (*s)[:last]
	return d
}
