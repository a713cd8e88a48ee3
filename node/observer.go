package node

import (
	"slices"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/internal/tracer"
	"example.com/redlock/node/server"
	"example.com/redlock/redlocktrace"
)

// Observer uses a master. Its methods tell it what casts doubt on votes that the master gave before, ahead of any later answer
// of the master. They are called without a mutex of the node, and must not block.
type Observer interface {
	// Activity says how often to check the master. It is called about as often as that is done.
	Activity() Activity

	// Gained is called each time that the clock of master i turns out to have gained on ours, with
	// the most that it can have gained.
	Gained(i int, most time.Duration)

	// Doubted is called when what master i voted for so far may have ended, or be forgotten. Either its clock ran ahead, and
	// the first call of Gained follows; or it is up again, and another process than before, or one that was a replica since.
	Doubted(i int)

	// Steady is called when what the clock of master i has gained does not matter any more.
	Steady(i int)
}

// Observe makes to the observer, of which there is one. Until then the client counts as Holding.
func (n *Node) Observe(to Observer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.observer = to
}

// observedLocked appends to due that the observer is to be told something.
func (n *Node) observedLocked(due []delivery, tell func(to Observer, i int)) []delivery {
	to := n.observer
	if to == nil {
		return due
	}
	return append(due, delivery{tell: func() { tell(to, n.cfg.Index) }})
}

// traceChange tells the trace that the state of the master has changed. It goes along with a line in the log.
func (n *Node) traceChange(e redlocktrace.MasterChanged) {
	if t := n.cfg.Trace; t != nil {
		e.Client, e.Time, e.Master = t.Client, time.Now(), n.cfg.Name
		tracer.Tell(t, t.Trace.MasterChanged, e)
	}
}

// traceAnswer tells the trace that c, which runs a script, was answered.
func (n *Node) traceAnswer(c *call, answered clock.Instant, reply any) {
	t := n.cfg.Trace
	err, _ := reply.(error)
	tracer.Tell(t, t.Trace.Answered, redlocktrace.Answered{
		Client: t.Client, Time: time.Now(), Master: n.cfg.Name, Steps: c.cmd.Holds(), Took: answered.Sub(c.sent), Err: err,
	})
}

// Ready returns nil if the master would grant a hold, as far as is known without asking it: it is
// connected, and there is no [server.GuardedError] and no [server.UnsteadyError]. Otherwise it returns the
// reason.
//
// That a connection is closed is known at once. Anything else, such as a master that hangs, is known Config.Timeout after
// the next check at the latest, which comes within a second while something is held, and within 18 while the client is idle;
// see [Activity].
//
// Cost: nothing is sent.
func (n *Node) Ready() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	l, err := n.workingLocked()
	switch {
	case n.closing:
		return ErrClosed
	case err != nil:
		return err
	}
	return n.votelessLocked(l)
}

// votelessLocked returns why a vote over l does not count, nil if it does.
func (n *Node) votelessLocked(l *link) error {
	if n.clockCheck.unsteady() {
		return &server.UnsteadyError{Ahead: n.clockCheck.ahead}
	}
	if left := l.guardLeft(); left > 0 {
		return l.guardedError(left)
	}
	return nil
}

// workingLocked returns the connection to a master that is up, or why there is none.
func (n *Node) workingLocked() (*link, error) {
	switch {
	case n.state != up:
		return nil, n.reason
	case n.link.err() != nil:
		return nil, n.link.err()
	}
	return n.link, nil
}

func (n *Node) working() (*link, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.workingLocked()
}

// Notify sends on c whenever the result of Ready may have changed, until stop is called: the master
// came up, an attempt to connect failed, or its clock ran ahead or is steady again. If c has no room, nothing is sent. The
// end of a guard is not notified, since the error of Ready tells when that is.
func (n *Node) Notify(c chan<- struct{}) (stop func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.notified = append(n.notified, c)
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		i := slices.Index(n.notified, c)
		n.notified = slices.Delete(n.notified, i, i+1)
	}
}

func (n *Node) notifyLocked() {
	for _, c := range n.notified {
		wake(c)
	}
}

// Process is the process that serves as a master.
type Process struct {
	Run   string        // its run id
	Since clock.Instant // since when it has been a master, as far as it says
	DB    int           // number of the database, -1 if it does not say
}

// Process returns the process that the master is. Its Run is empty while the master is not up.
func (n *Node) Process() Process {
	l, err := n.working()
	if err != nil {
		return Process{DB: -1}
	}
	p := Process{Run: l.id.Run, Since: l.id.Told, DB: l.id.DB}
	if !l.id.Promoted {
		p.Since = p.Since.Add(-l.id.Uptime)
	}
	return p
}

// Met reports whether the master is up, or down: the first attempt to connect is over.
func (n *Node) Met() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state != connecting
}
