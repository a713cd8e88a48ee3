package wire

import (
	"sync"
	"time"
)

// path is one direction of a wire: what all its connections meet on it.
type path struct {
	mu  sync.Mutex
	now *conditions
}

// conditions are what a path is like. They do not change; others take their place.
type conditions struct {
	cut           bool
	delay, jitter time.Duration
	loss          float64
	over          chan struct{} // closed when others have taken their place
}

// change gives the path other conditions: those of before, as set changes them.
func (p *path) change(set func(*conditions)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var next conditions
	before := p.now
	if before != nil {
		next = *before
	}
	set(&next)
	next.over = make(chan struct{})
	p.now = &next
	if before != nil {
		close(before.over)
	}
}

func (p *path) conditions() *conditions {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}
