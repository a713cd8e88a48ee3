package multilock

import (
	"context"
	"sync"

	"example.com/redlock/node/script"
)

// ballot has the answers of n masters to one command.
type ballot struct {
	n       int
	in      Set             // whose answers have come
	answers []script.Answer // nil as long as nobody said more than yes: most locks are free
}

// newBallot makes a ballot that keeps all that the masters answer.
func (m *Masters) newBallot() ballot {
	return ballot{n: len(m.nodes), answers: make([]script.Answer, len(m.nodes))}
}

// put notes the answer of master i.
func (b *ballot) put(i int, a script.Answer) {
	if b.answers == nil && a.Outcome != script.Done {
		b.answers = make([]script.Answer, b.n)
		for j := range b.n {
			if b.in.Has(j) {
				b.answers[j].Outcome = script.Done
			}
		}
	}
	b.in |= 1 << i
	if b.answers != nil {
		b.answers[i] = a
	}
}

// at returns the answer of master i, which has come.
func (b *ballot) at(i int) script.Answer {
	if b.answers == nil {
		return script.Answer{Outcome: script.Done}
	}
	return b.answers[i]
}

// tally counts the answers by outcome.
func (b *ballot) tally() (done, refused, failed int) {
	for i := range b.n {
		if !b.in.Has(i) {
			continue
		}
		switch b.at(i).Outcome {
		case script.Done:
			done++
		case script.Refused:
			refused++
		default:
			failed++
		}
	}
	return done, refused, failed
}

// allTaken stands for the holders of all permits.
const allTaken = "all"

// holders returns who has the lock at the masters that refused it. Who has all permits of a semaphore
// counts as one.
func (b *ballot) holders() []string {
	holders := make([]string, 0, b.n)
	for i := range b.n {
		switch a := b.at(i); {
		case !b.in.Has(i) || a.Outcome != script.Refused:
		case a.Taken > 0:
			holders = append(holders, allTaken)
		default:
			holders = append(holders, a.Holder)
		}
	}
	return holders
}

// poll collects the answers to one command of an operation that is no part of the protocol. The
// first answer that settles it ends the wait; nobody looks at later ones.
type poll struct {
	settled func(*ballot) bool           // is shown each answer until it has seen enough; nil: all are awaited
	told    func(i int, a script.Answer) // is told of each answer, nil: nobody is

	mu     sync.Mutex
	ballot ballot
	over   bool
	done   chan struct{} // closed when over
}

// ask sends cmd to all masters in a poll.
func (m *Masters) ask(cmd *script.Command, settled func(*ballot) bool) *poll {
	p := m.newPoll(settled)
	m.send(cmd, m.All(), p)
	return p
}

func (m *Masters) newPoll(settled func(*ballot) bool) *poll {
	return &poll{settled: settled, ballot: m.newBallot(), done: make(chan struct{})}
}

// Answer implements [node.Receiver].
func (p *poll) Answer(i int, a script.Answer) {
	if p.told != nil {
		p.told(i, a)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.ballot.put(i, a)
	if p.settled != nil && p.settled(&p.ballot) || p.ballot.in.Len() == p.ballot.n {
		p.over = true
		close(p.done)
	}
}

// wait blocks until the poll is settled or ctx ends, and freezes it: what comes later changes
// nothing any more.
func (p *poll) wait(ctx context.Context) (b *ballot, cut error) {
	select {
	case <-p.done:
		return &p.ballot, nil
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.over {
			return &p.ballot, nil
		}
		p.over = true
		return &p.ballot, Ended(ctx)
	}
}
