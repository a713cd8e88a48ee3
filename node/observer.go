package node

import (
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/internal/tracer"
	"example.com/redlock/redlocktrace"
)

// Observer is told what casts doubt on the votes that a master gave before. Its methods are called
// before anything that the master answered later is delivered, without a mutex of the node, and must
// not block.
type Observer interface {
	// Gained is called each time that the clock of master i turns out to have gained on ours, with
	// the most that it can have gained.
	Gained(i int, most time.Duration)

	// RanAhead is called the first time, before Gained: what the master voted for so far may have
	// ended, and from now on it has no vote.
	RanAhead(i int)

	// Steady is called when what the clock of master i has gained does not matter any more.
	Steady(i int)

	// Restarted is called when another process than before serves as master i, and is up: it may have
	// forgotten what the one before it had.
	Restarted(i int)
}

// Observe has the node tell to of master i, from now on.
func (n *Node) Observe(to Observer, i int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.observer, n.place = to, i
}

// observedLocked appends to due that the observer is to be told something.
func (n *Node) observedLocked(due []delivery, tell func(to Observer, i int)) []delivery {
	to, i := n.observer, n.place
	if to == nil {
		return due
	}
	return append(due, delivery{tell: func() { tell(to, i) }})
}

// traceChange tells the trace that the state of the master has changed. It is called where the log is
// told.
func (n *Node) traceChange(e redlocktrace.MasterChanged) {
	if t := n.cfg.Trace; t != nil {
		e.Client, e.Time, e.Master = t.Client, time.Now(), n.cfg.Name
		tracer.Tell(t, t.MasterChanged, e)
	}
}

// traceAnswer tells the trace that c, which runs a script, was answered with err or a reply.
func (n *Node) traceAnswer(c *call, answered clock.Instant, err error) {
	t := n.cfg.Trace
	tracer.Tell(t, t.Answered, redlocktrace.Answered{
		Client: t.Client, Time: time.Now(), Master: n.cfg.Name, Steps: c.cmd.Holds(), Took: answered.Sub(c.sent), Err: err,
	})
}
