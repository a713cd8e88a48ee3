package poll

import (
	"context"
	"slices"
	"sync"

	"example.com/redlock/node/script"
)

// Ballot has the answers of n masters to one command.
type Ballot struct {
	N       int
	In      Set             // whose answers have come
	Answers []script.Answer // nil as long as nobody said more than yes: most locks are free
}

// Put notes the answer of master i.
func (b *Ballot) Put(i int, a script.Answer) {
	if b.Answers == nil && a.Outcome != script.Done {
		b.Answers = make([]script.Answer, b.N)
		for j := range b.N {
			if b.In.Has(j) {
				b.Answers[j].Outcome = script.Done
			}
		}
	}
	b.In |= 1 << i
	if b.Answers != nil {
		b.Answers[i] = a
	}
}

// At returns the answer of master i, which has come.
func (b *Ballot) At(i int) script.Answer {
	if b.Answers == nil {
		return script.Answer{Outcome: script.Done}
	}
	return b.Answers[i]
}

// Tally counts the answers by outcome.
func (b *Ballot) Tally() (done, refused, failed int) {
	for i := range b.N {
		if !b.In.Has(i) {
			continue
		}
		switch b.At(i).Outcome {
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
func (b *Ballot) holders() []string {
	holders := make([]string, 0, b.N)
	for i := range b.N {
		switch a := b.At(i); {
		case !b.In.Has(i) || a.Outcome != script.Refused:
		case a.Taken > 0:
			holders = append(holders, allTaken)
		default:
			holders = append(holders, a.Holder)
		}
	}
	return holders
}

// Poll takes the answers of the masters to one command that asks for no vote. It goes on until all have
// answered, whether or not anybody waits.
type Poll struct {
	Done chan struct{} // closed when it is settled

	settled func(b *Ballot) bool

	mu     sync.Mutex
	ballot Ballot
	over   bool // it is settled
}

// NewPoll makes a poll, to which the answers are yet to be sent. settled is asked at each answer, with the mutex of the
// poll held, whether it is settled; nil: when all have answered, as it is in any case.
func (m *Masters) NewPoll(settled func(b *Ballot) bool) *Poll {
	ballot := Ballot{N: len(m.Nodes), Answers: make([]script.Answer, len(m.Nodes))} // which keeps all that they answer
	return &Poll{Done: make(chan struct{}), settled: settled, ballot: ballot}
}

// Ask sends cmd to all masters in a poll, which settled ends; nil: all are awaited.
func (m *Masters) Ask(cmd *script.Command, settled func(b *Ballot) bool) *Poll {
	p := m.NewPoll(settled)
	m.Send(cmd, m.Set(), p)
	return p
}

// Answer implements [node.Receiver].
func (p *Poll) Answer(i int, a script.Answer) {
	p.mu.Lock()
	p.ballot.Put(i, a)
	settled := p.settled != nil && p.settled(&p.ballot)
	if !p.over && (settled || p.ballot.In.Len() == p.ballot.N) {
		p.over = true
		close(p.Done)
	}
	p.mu.Unlock()
}

// Wait blocks until the poll is settled or ctx ends, and returns the answers that have come by then.
func (p *Poll) Wait(ctx context.Context) (b *Ballot, cut error) {
	select {
	case <-p.Done:
	case <-ctx.Done():
		cut = Ended(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		cut = nil
	}
	copied := p.ballot
	copied.Answers = slices.Clone(copied.Answers)
	return &copied, cut
}
