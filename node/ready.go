package node

import "slices"

// Ready returns nil when the master would grant a hold, as far as is known without asking it:
// it is connected, no [GuardedError] and no [UnsteadyError] stand against it. Otherwise it
// returns what it lacks.
//
// A master that died is known to be down within about a heartbeat and Config.Timeout.
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
	case n.pace.unsteady():
		return &UnsteadyError{Ahead: n.pace.ahead}
	}
	if left := n.link.guard(); n.link.young && left > 0 {
		return n.link.guarded(left)
	}
	return nil
}

// Notify sends to to, without blocking, when it is worth while to ask Ready again, until
// StopNotify: the master came up, an attempt to connect has failed, its clock is steady again.
// That a guard has passed is not told: when it does is in the error.
func (n *Node) Notify(to chan<- struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.watchers = append(n.watchers, to)
}

// StopNotify undoes Notify.
func (n *Node) StopNotify(to chan<- struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i := slices.Index(n.watchers, to); i >= 0 {
		n.watchers = slices.Delete(n.watchers, i, i+1)
	}
}

// changed tells those who asked to be told. n.mu is held.
func (n *Node) changed() {
	for _, to := range n.watchers {
		select {
		case to <- struct{}{}:
		default: // told already, and has yet to look
		}
	}
}
