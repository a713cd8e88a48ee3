package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/redlock/internal/history"
)

// Residue is the check that nothing is left behind.
const Residue = "residue"

// mostHeap is how many bytes of heap a client process may use after its client has closed.
const mostHeap = 64 << 20

// residue looks at what was found at the end: on each master, which must have nothing but what is kept on purpose, and in
// each client process that was not killed.
//
// A client that closes does not wait for answers that do not come, so it may leave what it had no time to release. What
// it does release reaches a master that answers. A master that was in trouble less than a lease ago may still have what
// ends with that lease: that is not judged. Nor is a queue, which is kept for 10 s, on a master that was harmed for longer
// than a lease, since clients give up releasing what they have there.
func residue(r *record) Check {
	check := Check{Name: Residue}
	found := func(e history.Event, format string, args ...any) {
		check.add(r, e.At, fmt.Sprintf(format, args...), e)
	}
	for _, p := range r.Processes {
		if p.Killed {
			continue
		}
		check.Looked++
		e, ok := r.audits[p.Who]
		switch {
		case !ok:
			found(r.last, "%s: nobody looked what is left of it", p.Who)
		case e.Goroutines > 0:
			found(e, "%s: %d goroutines are left", p.Who, e.Goroutines)
		case e.Sockets > 0:
			found(e, "%s: %d sockets are left open", p.Who, e.Sockets)
		case e.Heap > mostHeap:
			found(e, "%s: %d MiB are still in use", p.Who, e.Heap>>20)
		}
	}
	for _, name := range r.Run.Masters {
		check.Looked++
		e, ok := r.audits[name]
		switch {
		case !ok:
			found(r.last, "%s: nobody looked what is left on it", name)
		case len(e.Left) == 0:
		case r.busy(name, history.Span{From: e.At - r.Run.MaxLease, To: e.At}),
			!slices.ContainsFunc(e.Left, notQueue) && r.harmed(name, e.At-queueKept), r.closedLate(name, e.At):
			check.Unjudged++
		default:
			found(e, "%s: these keys are left: %s", name, strings.Join(e.Left, ", "))
		}
	}
	return check
}

// queueKept is how long masters keep a queue after the last who entered it.
const queueKept = 10 * time.Second

// notQueue reports whether key is something else than a queue.
func notQueue(key string) bool { return !strings.HasPrefix(key, "redlock_wait:") }

// harmed reports whether faults of a master followed each other for longer than a lease, with less than prompt
// in between, until some moment after since.
func (r *record) harmed(master string, since time.Duration) bool {
	var begun time.Duration
	to := -r.prompt()
	for _, t := range r.troubles {
		if t.What != history.Fault || !slices.Contains(t.On, master) {
			continue
		}
		if t.From > to+r.prompt() {
			begun = t.From
		}
		to = max(to, t.To)
		if to >= since && to-begun > r.Run.MaxLease {
			return true
		}
	}
	return false
}

// closedLate reports whether a client was closed less than a lease before at, and it or a master did not run meanwhile for
// as long as an answer may take.
func (r *record) closedLate(master string, at time.Duration) bool {
	return slices.ContainsFunc(r.Calls, func(c *history.Call) bool {
		span := history.Span{From: c.At, To: min(c.Returned, at)}
		return c.Do == history.CloseClient && span.To >= at-r.Run.MaxLease && r.away(span, c.Who, master) >= r.Run.NodeTimeout
	})
}

// busy reports whether there was a fault within span, or the master stalled. The stall of another master leaves nothing
// here.
func (r *record) busy(master string, span history.Span) bool {
	return slices.ContainsFunc(r.troubles, func(t trouble) bool {
		return t.who == "" && t.Meets(span) && (t.What != history.Stall || t.Who == master)
	})
}
