package poll

import (
	"context"
	"sync"
	"time"

	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
)

// ScanTime bounds the search for keys on the masters.
const ScanTime = 10 * time.Second

// Tell sends cmds to master i, and returns its answers.
func (m *Masters) Tell(i int, cmds ...*script.Command) []script.Answer {
	answers := make([]script.Answer, len(cmds))
	var wg sync.WaitGroup
	for k, cmd := range cmds {
		wg.Add(1)
		m.Nodes[i].Send(cmd, Receiver(func(_ int, a script.Answer) {
			answers[k] = a
			wg.Done()
		}))
	}
	wg.Wait()
	return answers
}

// Everywhere does look to all masters at the same time, and waits for all. If fewer than a majority
// could be looked at, the error is a [*MajorityError] of op.
func (m *Masters) Everywhere(ctx context.Context, op, name string, look func(ctx context.Context, i int) script.Answer) error {
	if !m.Begin() {
		return ErrClosed
	}
	defer m.End()
	looking, cancel := context.WithTimeout(ctx, ScanTime)
	defer cancel()
	p := m.NewPoll(nil)
	for i := range m.Nodes {
		// Goroutines: one for each master, which ends with its last answer: at the latest a node
		// timeout after looking.
		go func() { p.Answer(i, look(looking, i)) }()
	}
	b, cut := p.Wait(context.WithoutCancel(ctx))
	if done, _, _ := b.Tally(); m.Majority(done) {
		return nil
	}
	if ctx.Err() != nil {
		cut = Ended(ctx)
	}
	return m.Lost(op, name, b, ErrNoQuorum, cut, nil)
}

// Scan asks master i for keys, part after part, until there are no more, found has enough, or ctx ends,
// which is an Unsent Answer.
func (m *Masters) Scan(ctx context.Context, i int, part func(cursor uint64) *script.Command, found func(keys []string) (more bool)) script.Answer {
	for cursor := uint64(0); ; {
		if ctx.Err() != nil {
			return script.Answer{Outcome: script.Unsent, Err: server.ErrTimeout}
		}
		a := m.Tell(i, part(cursor))[0]
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
