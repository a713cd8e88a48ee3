package multilock

import (
	"context"
	"sync"

	"example.com/redlock/node"
)

// poll collects the answers to one command. The first answer that settles it ends the
// wait; later ones are kept until the poll itself is garbage, but nobody looks at them.
type poll struct {
	settled func() bool // looks at the fields below

	mu      sync.Mutex
	answers []node.Answer
	in      Set // whose answers have come
	count   int
	over    bool
	done    chan struct{} // closed when over
}

func (p *poll) init(n int, settled func() bool) {
	p.settled = settled
	p.answers = make([]node.Answer, n)
	p.done = make(chan struct{})
}

// Answer implements [node.Receiver].
func (p *poll) Answer(i int, a node.Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.answers[i] = a
	p.in |= 1 << i
	p.count++
	if p.count == len(p.answers) || p.settled() {
		p.over = true
		close(p.done)
	}
}

// wait blocks until the poll is settled or ctx ends, and freezes it: what comes later
// changes nothing any more.
func (p *poll) wait(ctx context.Context) error {
	select {
	case <-p.done:
		return nil
	default:
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.over {
			return nil
		}
		p.over = true
		return ctx.Err()
	}
}

// tally counts the answers by outcome.
func (p *poll) tally() (done, refused, failed int) {
	for i, a := range p.answers {
		switch {
		case !p.in.has(i):
		case a.Outcome == node.Done:
			done++
		case a.Outcome == node.Refused:
			refused++
		default:
			failed++
		}
	}
	return done, refused, failed
}
