package multilock

import (
	"context"
	"time"

	"example.com/redlock/node"
	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

// View is what one master says of a lock.
type View struct {
	Master string
	Holder string // empty: nobody
	Count  int
	Left   time.Duration
	Token  int64
	Guard  time.Duration // how long it grants no holds yet
	Err    error         // why it says nothing
}

// Inspection is what the masters say of a lock.
type Inspection struct {
	Views  []View        // of each master, in their order
	Holder string        // whom a majority names, empty if none
	Left   time.Duration // until a majority is free, zero when it is or too few answered
}

// Inspect asks each master who has the lock at key, and waits for all of them, for
// about the node timeout at most. The error is a [*MajorityError] when fewer than a
// majority answered; the Inspection has what the others said.
//
// Cost: one script call on each master.
func (m *Masters) Inspect(ctx context.Context, key string) (Inspection, error) {
	if !m.begin() {
		return Inspection{}, ErrClosed
	}
	defer m.tries.Done()
	b, cut := m.ask(script.Inspect(key), nil).wait(ctx)
	in := Inspection{Views: make([]View, len(m.nodes))}
	var holders []string
	var left []time.Duration
	for i, n := range m.nodes {
		a := b.answers[i]
		v := View{
			Master: n.Name(),
			Holder: a.Holder, Count: a.Count, Left: a.Left, Token: a.Token,
			Guard: n.Guard(),
		}
		switch {
		case !b.in.Has(i):
			v.Err = &node.Error{Node: n.Name(), Err: errPending}
		case a.Outcome != script.Done:
			v.Err = n.Explain(a)
		default:
			holders = append(holders, a.Holder)
			left = append(left, a.Left)
		}
		in.Views[i] = v
	}
	if !m.majority(len(left)) {
		return in, m.lost("inspect", key, b, ErrNoQuorum, cut, nil)
	}
	in.Holder, _ = quorum.Holder(len(m.nodes), holders)
	in.Left, _ = quorum.FreeAfter(len(m.nodes), left)
	return in, nil
}

// Force frees the lock at key on every master that answers, whoever has it, and reports whether
// somebody had it. The error is a [*MajorityError] when fewer than a majority answered. It is not
// repeated: a repeat might take the lock from the next owner.
//
// Cost: one script call on each master.
func (m *Masters) Force(ctx context.Context, key string) (freed bool, err error) {
	if !m.begin() {
		return false, ErrClosed
	}
	defer m.tries.Done()
	m.greet(ctx)
	b, cut := m.ask(script.Force(key, m.Now().UnixMicro()), nil).wait(ctx)
	done, refused, _ := b.tally()
	if m.majority(done + refused) {
		return done > 0, nil
	}
	for i, a := range b.answers {
		if a.Outcome == script.Refused {
			b.answers[i].Outcome = script.Done // nobody had it there, which is an answer
		}
	}
	return done > 0, m.lost("force unlock", key, b, ErrNoQuorum, cut, nil)
}
