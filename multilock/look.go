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

// Look is what the masters say of a lock.
type Look struct {
	Views  []View        // of each master, in their order
	Holder string        // whom a majority names, empty if none
	Left   time.Duration // until a majority is free, zero when it is or too few answered
}

// ask sends cmd to every master, in a poll that none of them settles for the others.
func (m *Masters) ask(cmd *script.Command) *poll {
	p := new(poll)
	p.init(nil, len(m.nodes), everyone{})
	m.send(cmd, m.All(), p)
	return p
}

// Inspect asks each master who has the lock at key, and waits for all of them, for
// about the node timeout at most. The error is a [*MajorityError] when fewer than a
// majority answered; the Look has what the others said.
//
// Cost: one script call on each master.
func (m *Masters) Inspect(ctx context.Context, key string) (Look, error) {
	p := m.ask(script.Inspect(key))
	cut := p.wait(ctx)
	look := Look{Views: make([]View, len(m.nodes))}
	var holders []string
	var left []time.Duration
	for i, n := range m.nodes {
		a := p.answers[i]
		v := View{
			Master: n.Name(),
			Holder: a.Holder, Count: a.Count, Left: a.Left, Token: a.Token,
			Guard: n.Guard(),
		}
		switch {
		case !p.in.has(i):
			v.Err = &node.Error{Node: n.Name(), Err: errPending}
		case a.Outcome != script.Done:
			v.Err = n.Explain(a)
		default:
			holders = append(holders, a.Holder)
			left = append(left, a.Left)
		}
		look.Views[i] = v
	}
	if quorum.Vote(len(m.nodes), len(left), 0) != quorum.Won {
		if cut != nil {
			cut = Ended(ctx)
		}
		return look, m.lost("inspect", key, &p.ballot, ErrNoQuorum, cut, nil)
	}
	look.Holder, _ = quorum.Holder(len(m.nodes), holders)
	look.Left, _ = quorum.FreeAfter(len(m.nodes), left)
	return look, nil
}

// Force frees the lock at key on every master that answers, whoever has it, and reports
// whether somebody had it. The error is a [*MajorityError] when fewer than a majority
// answered. It is not repeated: the next owner might be the one to lose the lock.
//
// Cost: one script call on each master.
func (m *Masters) Force(ctx context.Context, key string) (freed bool, err error) {
	m.Greet(ctx)
	p := m.ask(script.Force(key, m.Now().UnixMicro()))
	cut := p.wait(ctx)
	done, refused, _ := p.tally()
	if quorum.Vote(len(m.nodes), done+refused, 0) == quorum.Won {
		return done > 0, nil
	}
	if cut != nil {
		cut = Ended(ctx)
	}
	for i, a := range p.answers {
		if a.Outcome == script.Refused {
			p.answers[i].Outcome = script.Done // nobody had it there, which is an answer
		}
	}
	return done > 0, m.lost("force unlock", key, &p.ballot, ErrNoQuorum, cut, nil)
}

// everyone is the vote of a poll that waits for all masters.
type everyone struct{}

func (everyone) decided() bool { return false }
