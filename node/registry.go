package node

import (
	"fmt"
	"maps"
	"sync"

	"example.com/redlock/clock"
	"example.com/redlock/node/server"
)

// Registry holds the run ids of the processes that nodes lead to, and so finds the same server
// under two names. The zero value is ready to use.
//
// When addresses move, another node may come to lead to a process. It is refused until the longest lease has passed: votes
// that the process gave over the old connection may still count, and with one to the new node it would have two.
type Registry struct {
	mu       sync.Mutex
	links    map[string]registered // by run id
	nameless map[*Node]bool        // those whose process has not said its run id
	warned   bool                  // that there are several
}

// registered is the node that leads to a process, or did last.
type registered struct {
	node *Node
	left bool          // it does no more
	ends clock.Instant // then: when its votes have ended
}

// add notes that n leads to the process run, or returns an error when another node does, or votes that
// it got there may still count.
func (r *Registry) add(n *Node, run string) error {
	if run == "" {
		r.addNameless(n)
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.nameless, n)
	maps.DeleteFunc(r.links, func(_ string, l registered) bool { return l.left && clock.Until(l.ends) <= 0 })
	if l, ok := r.links[run]; ok && l.node != n {
		return fmt.Errorf("%w as %s", server.ErrSameServer, l.node.cfg.Name)
	}
	if r.links == nil {
		r.links = make(map[string]registered)
	}
	r.links[run] = registered{node: n}
	return nil
}

// addNameless notes that n leads to a process that does not say which it is. With a guard it grants nothing. Without
// one it votes, as its user has asked for: fixed addresses need no check. But an address that moves, or a server that is
// named twice, would have several votes, unnoticed. So the log says once that nobody checks.
func (r *Registry) addNameless(n *Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.nameless == nil {
		r.nameless = make(map[*Node]bool)
	}
	r.nameless[n] = true
	if masters := len(r.nameless); masters > 1 && n.cfg.Guard <= 0 && !r.warned {
		r.warned = true
		n.cfg.Logger.Warn("redlock: masters do not say who they are, so that one server under several names would have several votes, unnoticed: permit INFO",
			"masters", masters, "master", n.cfg.Name)
	}
}

// left notes that the connection of n to the process run has ended.
func (r *Registry) left(n *Node, run string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if lease := n.cfg.MaxLease; r.links[run].node == n && lease > 0 { // else it is not known when its votes end
		r.links[run] = registered{node: n, left: true, ends: clock.Now().Add(lease + clock.Drift(lease))}
	}
}

// remove takes out a node that has closed, with its client.
func (r *Registry) remove(n *Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.links, func(_ string, l registered) bool { return l.node == n })
	delete(r.nameless, n)
}
