package multilock

import (
	"context"
	"time"

	"example.com/redlock/node"
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

// question is a poll that every master is to answer.
type question struct {
	poll
}

func (m *Masters) ask(cmd *node.Command) *question {
	q := new(question)
	q.init(len(m.nodes), func() bool { return false })
	m.send(cmd, m.all(), q)
	return q
}

// Inspect asks each master who has the lock at key, and waits for all of them, for
// about the node timeout at most. The error is a [*MajorityError] when fewer than a
// majority answered; the views are good in any case.
//
// Cost: one script call on each master.
func (m *Masters) Inspect(ctx context.Context, key string) ([]View, error) {
	q := m.ask(node.Inspect(key))
	cut := q.wait(ctx)
	views := make([]View, len(m.nodes))
	for i, n := range m.nodes {
		a := q.answers[i]
		views[i] = View{
			Master: n.Name(),
			Holder: a.Holder, Count: a.Count, Left: a.Left, Token: a.Token,
			Guard: n.Guard(),
		}
		if !q.in.has(i) {
			views[i].Err = &node.Error{Node: n.Name(), Err: errPending}
		} else if a.Outcome != node.Done {
			views[i].Err = n.Explain(a)
		}
	}
	if done, _, _ := q.tally(); quorum.Vote(len(m.nodes), done, 0) == quorum.Won {
		return views, nil
	}
	if cut != nil {
		cut = Ended(ctx)
	}
	return views, m.lost("inspect", key, &q.poll, ErrNoQuorum, cut, nil)
}

// Force frees the lock at key on every master that answers, whoever has it, and reports
// whether somebody had it. The error is a [*MajorityError] when fewer than a majority
// answered. It is not repeated: the next owner might be the one to lose the lock.
//
// Cost: one script call on each master.
func (m *Masters) Force(ctx context.Context, key string) (freed bool, err error) {
	q := m.ask(node.Force(key))
	cut := q.wait(ctx)
	done, refused, _ := q.tally()
	if quorum.Vote(len(m.nodes), done+refused, 0) == quorum.Won {
		return done > 0, nil
	}
	if cut != nil {
		cut = Ended(ctx)
	}
	return done > 0, m.lost("force unlock", key, &q.poll, ErrNoQuorum, cut, nil)
}
