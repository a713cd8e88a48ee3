package multilock

import (
	"context"
	"time"

	"example.com/redlock/node"
	"example.com/redlock/node/script"
)

// scanTime bounds the search for keys on the masters.
const scanTime = 10 * time.Second

// reply takes the answer to one command of one master.
type reply chan script.Answer

// Answer implements [node.Receiver].
func (r reply) Answer(_ int, a script.Answer) { r <- a }

// tell sends cmds to master i, and returns its answers.
func (m *Masters) tell(i int, cmds ...*script.Command) []script.Answer {
	replies := make([]reply, len(cmds))
	for k, cmd := range cmds {
		replies[k] = make(reply, 1)
		m.nodes[i].Send(cmd, replies[k], i)
	}
	answers := make([]script.Answer, len(cmds))
	for k, r := range replies {
		answers[k] = <-r
	}
	return answers
}

// everywhere does look to all masters at the same time, and waits for all. If fewer than a majority
// could be looked at, the error is a [*MajorityError] of op.
func (m *Masters) everywhere(ctx context.Context, op, name string, look func(ctx context.Context, i int) script.Answer) error {
	if !m.begin() {
		return ErrClosed
	}
	defer m.tries.Done()
	looking, cancel := context.WithTimeout(ctx, scanTime)
	defer cancel()
	p := &poll{ballot: m.newBallot(), done: make(chan struct{})}
	for i := range m.nodes {
		// Goroutines: one for each master, which ends with its last answer: at the latest a node
		// timeout after looking.
		go func() { p.Answer(i, look(looking, i)) }()
	}
	b, cut := p.wait(context.WithoutCancel(ctx))
	if done, _, _ := b.tally(); m.majority(done) {
		return nil
	}
	if ctx.Err() != nil {
		cut = Ended(ctx)
	}
	return m.lost(op, name, b, ErrNoQuorum, cut, nil)
}

// scan asks master i for keys, part after part, until there are no more, found has enough, or ctx ends,
// which is an Unsent Answer.
func (m *Masters) scan(ctx context.Context, i int, part func(cursor uint64) *script.Command, found func(keys []string) (more bool)) script.Answer {
	for cursor := uint64(0); ; {
		if ctx.Err() != nil {
			return script.Answer{Outcome: script.Unsent, Err: node.ErrTimeout}
		}
		a := m.tell(i, part(cursor))[0]
		if a.Outcome != script.Done {
			return a
		}
		keys, next, err := script.Scanned(a.Reply)
		if err != nil {
			return script.Answer{Outcome: script.Failed, Err: err}
		}
		if !found(keys) || next == 0 {
			return script.Answer{Outcome: script.Done}
		}
		cursor = next
	}
}
