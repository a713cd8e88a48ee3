package node

import (
	"slices"

	"example.com/redlock/clock"
)

// Ready returns nil if the master would grant a hold, as far as is known without asking it: it is
// connected, and there is no [GuardedError] and no [UnsteadyError]. Otherwise it returns the
// reason.
//
// A connection that is closed is known at once. Anything else, such as a master that hangs, is known
// at the next check and Config.Timeout at most: one second while something is held, up to 18 while the
// client is idle; see [Activity].
//
// Cost: nothing is sent.
func (n *Node) Ready() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.closing:
		return ErrClosed
	case n.state != up:
		return n.reason
	case n.link.err != nil:
		return n.link.err
	case n.clockCheck.unsteady():
		return &UnsteadyError{Ahead: n.clockCheck.ahead}
	}
	if left := n.link.guardLeft(); left > 0 {
		return n.link.guardedError(left)
	}
	return nil
}

// Notify sends on c whenever the result of Ready may have changed, until StopNotify: the master
// came up, an attempt to connect failed, or its clock is steady again. It never blocks to send
// to c: what c has no room for is dropped. The end of a guard is not notified, since the error
// of Ready tells when that is.
func (n *Node) Notify(c chan<- struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.notified = append(n.notified, c)
}

// StopNotify undoes Notify.
func (n *Node) StopNotify(c chan<- struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i := slices.Index(n.notified, c); i >= 0 {
		n.notified = slices.Delete(n.notified, i, i+1)
	}
}

func (n *Node) notifyLocked() {
	for _, c := range n.notified {
		wake(c) // or it was notified, and has yet to look
	}
}

// Process returns the run id of the process that the master is, and since when it has been one, as far
// as it says; an empty id while the master is not up.
func (n *Node) Process() (run string, since clock.Instant) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.state != up || n.link.err != nil {
		return "", since
	}
	return n.link.id.run, n.link.began
}

// Met reports whether the master is up, or down: the first attempt to connect is over.
func (n *Node) Met() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state != connecting
}
