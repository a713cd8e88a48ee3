package node

import (
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/internal/tracer"
	"example.com/redlock/redlocktrace"
)

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
