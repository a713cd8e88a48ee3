package node

import (
	"fmt"
	"sync"
)

// Registry holds the run ids of the processes that nodes lead to, and so finds the same server
// under two names. The zero value is ready to use.
type Registry struct {
	mu    sync.Mutex
	nodes map[string]*Node // by run id
}

// add notes that n leads to the process run, or returns an error when another node does.
func (r *Registry) add(n *Node, run string) error {
	if r == nil || run == "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if other := r.nodes[run]; other != nil && other != n {
		return fmt.Errorf("%w as %s", ErrSameServer, other.cfg.Name)
	}
	r.removeLocked(n)
	if r.nodes == nil {
		r.nodes = make(map[string]*Node)
	}
	r.nodes[run] = n
	return nil
}

func (r *Registry) remove(n *Node) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removeLocked(n)
}

func (r *Registry) removeLocked(n *Node) {
	for run, other := range r.nodes {
		if other == n {
			delete(r.nodes, run)
		}
	}
}
