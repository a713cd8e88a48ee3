package multilock

import (
	"context"
	"time"

	"example.com/redlock/node"
	"example.com/redlock/quorum"
)

// Ready waits until a majority of the masters would grant a lock, as far as is known without
// asking them: see [node.Node.Ready]. It returns nil then.
//
// Otherwise it returns a [*MajorityError] that says what each of the others lacks: when ctx has
// ended, when done is closed, and at once when waiting is in vain.
//
// Cost: nothing is sent.
func (m *Masters) Ready(ctx context.Context, done <-chan struct{}) error {
	changed := make(chan struct{}, 1)
	for _, n := range m.nodes {
		n.Notify(changed)
		defer n.StopNotify(changed)
	}
	for {
		b := m.readiness()
		if ready, _, _ := b.tally(); quorum.Vote(len(m.nodes), ready, 0) == quorum.Won {
			return nil
		}
		why := m.lost("ready", "", &b, ErrNoQuorum, nil, nil)
		if why.Hopeless() {
			return why
		}
		var guard <-chan time.Time
		if why.Guard > 0 {
			guard = time.After(why.Guard)
		}
		select {
		case <-changed:
		case <-guard:
		case <-done:
			return why
		case <-ctx.Done():
			return why.With(Ended(ctx))
		}
	}
}

// readiness is a ballot of the masters that are ready.
func (m *Masters) readiness() ballot {
	b := ballot{answers: make([]node.Answer, len(m.nodes)), in: m.All()}
	for i, n := range m.nodes {
		b.answers[i] = node.Answer{Outcome: node.Done}
		if err := n.Ready(); err != nil {
			b.answers[i] = node.Answer{Outcome: node.Unsent, Err: err}
		}
	}
	return b
}
