package multilock

import (
	"context"
	"slices"
	"sync"

	"example.com/redlock/node/script"
)

// ballot has the answers of the masters to one command.
type ballot struct {
	answers []script.Answer
	in      Set // whose answers have come
}

// poll collects the answers to one command. The first answer that settles it ends the
// wait; nobody looks at later ones.
type poll struct {
	vote vote

	mu sync.Mutex
	ballot
	count int
	over  bool
	done  chan struct{} // closed when over
}

// vote is what a poll decides.
type vote interface {
	decided() bool // looks at the ballot
}

// init makes p ready for n answers, in room if there is enough.
func (p *poll) init(room []script.Answer, n int, v vote) {
	p.vote = v
	p.answers = slices.Grow(room, n)[:n]
	p.done = make(chan struct{})
}

// Answer implements [node.Receiver].
func (p *poll) Answer(i int, a script.Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.answers[i] = a
	p.in |= 1 << i
	p.count++
	if p.count == len(p.answers) || p.vote.decided() {
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
func (b *ballot) tally() (done, refused, failed int) {
	for i, a := range b.answers {
		switch {
		case !b.in.has(i):
		case a.Outcome == script.Done:
			done++
		case a.Outcome == script.Refused:
			refused++
		default:
			failed++
		}
	}
	return done, refused, failed
}

// holders returns who has the lock at the masters that refused it.
func (b *ballot) holders() []string {
	holders := make([]string, 0, len(b.answers))
	for i, a := range b.answers {
		if b.in.has(i) && a.Outcome == script.Refused {
			holders = append(holders, a.Holder)
		}
	}
	return holders
}
