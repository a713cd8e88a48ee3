package redlock

import (
	"container/heap"
	"sync"
	"time"

	"example.com/redlock/multilock"
)

// watchdog renews the holds of a client that have no fixed lease, and those that were
// passed on for a short one. One goroutine serves all of them; those that are due at about
// the same time, for the same lease, share a script call.
type watchdog struct {
	masters *multilock.Masters
	wake    chan struct{} // told when an earlier renewal is due than the goroutine waits for
	stop    chan struct{}
	done    chan struct{} // closed when the goroutine has ended

	mu   sync.Mutex
	heap schedule
}

// maxBatch bounds the holds in one script call, which blocks its master while it runs.
const maxBatch = 256

// renewEvery is the time between two renewals of a hold.
func renewEvery(lease time.Duration) time.Duration { return lease / 3 }

// renewAgain is the time until the next renewal after one that failed.
func renewAgain(lease time.Duration) time.Duration { return lease / 10 }

// together is how much earlier than due a renewal goes along with others.
func together(lease time.Duration) time.Duration { return lease / 60 }

// topUp is how long a hold that was passed on keeps its short lease. A critical section
// that is shorter costs no renewal.
const topUp = 20 * time.Millisecond

func newWatchdog(masters *multilock.Masters) *watchdog {
	w := &watchdog{
		masters: masters,
		wake:    make(chan struct{}, 1),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
	}
	// Goroutines: one, which close ends and waits for.
	go w.run()
	return w
}

func (w *watchdog) close() {
	close(w.stop)
	<-w.done
}

// watch has h renewed after d, once, unless that is due earlier. h then asks for the next
// renewal. h.mu is held.
func (w *watchdog) watch(h *held, d time.Duration) {
	due := time.Now().Add(d)
	w.mu.Lock()
	v := &h.visit
	v.lease = h.lease
	if v.index == unscheduled {
		v.due = due
		heap.Push(&w.heap, h)
	} else if due.Before(v.due) {
		v.due = due
		heap.Fix(&w.heap, v.index)
	}
	first := v.index == 0
	w.mu.Unlock()
	if first {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// forget takes h off the schedule.
func (w *watchdog) forget(h *held) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h.visit.index != unscheduled {
		heap.Remove(&w.heap, h.visit.index)
	}
}

func (w *watchdog) run() {
	defer close(w.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		batch, lease, next := w.take()
		if len(batch) > 0 {
			w.masters.Renew(lease, batch)
			continue
		}
		timer.Reset(next)
		select {
		case <-timer.C:
		case <-w.wake:
		case <-w.stop:
			return
		}
	}
}

// take returns the holds to renew now to lease, or how long to wait until one is due.
func (w *watchdog) take() (batch []multilock.Renewal, lease, next time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.heap) == 0 {
		return nil, 0, time.Hour
	}
	now := time.Now()
	first := &w.heap[0].visit
	if next := first.due.Sub(now); next > 0 {
		return nil, 0, next
	}
	lease = first.lease
	for len(w.heap) > 0 && len(batch) < maxBatch {
		if v := &w.heap[0].visit; v.lease != lease || v.due.Sub(now) > together(lease) {
			break
		}
		batch = append(batch, heap.Pop(&w.heap).(*held))
	}
	return batch, lease, 0
}

// visit is the next renewal of a hold. Watchdog.mu guards it.
type visit struct {
	lease time.Duration
	due   time.Time
	index int // in the heap
}

// unscheduled is the index of what is not in the heap.
const unscheduled = -1

// schedule is a heap of holds by their visits, the earliest first.
type schedule []*held

func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].visit.due.Before(s[j].visit.due) }

func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].visit.index, s[j].visit.index = i, j
}

func (s *schedule) Push(v any) {
	h := v.(*held)
	h.visit.index = len(*s)
	*s = append(*s, h)
}

func (s *schedule) Pop() any {
	last := len(*s) - 1
	h := (*s)[last]
	h.visit.index = unscheduled
	(*s)[last] = nil
	*s = (*s)[:last]
	return h
}
