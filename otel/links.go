package otelredlock

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"example.com/redlock/redlocktrace"
)

// What redlock.link says of a link from a call to a hold.
//
// A master names the holder to those who wait, so linkWaitedFor is certain. It does not say whose
// release passed the lock on. The last hold that ended in this program is taken to be that if it was
// the last that a master named to the caller, or nobody yet, as for a caller that stood in its client's line.
// That is wrong if another program held the lock in between for less than the time between two
// rounds. Holds of other programs have no span here: those are found by their owner, or by their
// token, the largest below that of the hold that follows.
const (
	linkWaitedFor   = "waited_for"
	linkHandedOffBy = "handed_off_by"
)

// mostLinks is how many holds a call is linked to for having waited for them.
const mostLinks = 16

// handOver is a hold that has ended.
type handOver struct {
	owner string
	token int64
	span  trace.SpanContext
}

// place is where one hold follows the other: a lock, or one permit of a semaphore.
type place struct {
	name   string
	permit bool
	slot   int
}

// passed has the last hold of each place that ended. Beyond mostPassed places, it forgets the oldest.
type passed struct {
	last  map[place]handOver
	order []place // the keys of last, the oldest first
}

const mostPassed = 1024

func (p *passed) add(at place, h handOver) {
	if _, known := p.last[at]; !known {
		if len(p.order) == mostPassed {
			delete(p.last, p.order[0])
			p.order = p.order[1:]
		}
		p.order = append(p.order, at)
	}
	p.last[at] = h
}

// linkWaitedFor links a call to the hold of owner, if it is one of this program.
func (r *recorder) linkWaitedFor(c *call, owner string) {
	if len(c.links) >= mostLinks || c.links[owner] {
		return
	}
	h := r.hold(owner)
	if h == nil {
		return
	}
	if c.links == nil {
		c.links = map[string]bool{}
	}
	c.links[owner] = true
	link(c.Span, h.SpanContext(), linkWaitedFor)
}

// linkHandedOff links a call to the hold whose release passed the lock on to it.
func (r *recorder) linkHandedOff(c *call, e *redlocktrace.Voted) {
	r.mu.Lock()
	last, ok := r.passed.last[place{e.Name, e.Kind == redlocktrace.KindPermit, e.Slot}]
	if h := r.holds[c.holder]; h != nil { // its client has yet to report that it ended
		last, ok = handOver{owner: c.holder, span: h.SpanContext()}, true
	}
	r.mu.Unlock()
	if !ok || last.token >= e.Token || c.holder != "" && c.holder != last.owner || c.passer == last.owner {
		return // in the last case, another master has handed it off before
	}
	c.passer = last.owner
	link(c.Span, last.span, linkHandedOffBy)
}

func link(from trace.Span, to trace.SpanContext, as string) {
	if to.IsValid() {
		from.AddLink(trace.Link{SpanContext: to, Attributes: []attribute.KeyValue{keyLink.String(as)}})
	}
}
