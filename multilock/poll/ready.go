package poll

import (
	"context"
	"errors"
	"time"

	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

// Reach waits until a majority of the masters would grant key, as far as is known without asking them. The error is a
// [*MajorityError] of op that says what each of the others lacks: when ctx has ended, and at once when waiting is in vain.
func (m *Masters) Reach(ctx context.Context, op, key string) error {
	return m.Await(ctx, func() error { return m.Unready(op, key) })
}

// Away waits until no majority of the masters would grant a lock, as far as is known without asking them, and is false if
// ctx ended before.
func (m *Masters) Away(ctx context.Context) bool {
	return m.Await(ctx, func() error {
		if m.Unready("lock", "") != nil {
			return nil
		}
		return m.Lost("lock", "", &Ballot{N: len(m.Nodes)}, ErrNoQuorum, nil, nil)
	}) == nil
}

// Await waits until nothing is lacking. It returns what is lacking when ctx has ended, or when waiting is
// in vain.
func (m *Masters) Await(ctx context.Context, lacking func() error) error {
	changed := make(chan struct{}, 1)
	for _, n := range m.Nodes {
		n.Notify(changed)
		defer n.StopNotify(changed)
	}
	for {
		if m.Closed() {
			return ErrClosed
		}
		err := lacking()
		why, passes := errors.AsType[*MajorityError](err)
		if !passes || why.Hopeless {
			return err
		}
		if ctx.Err() != nil {
			return why.With(Ended(ctx))
		}
		var guard <-chan time.Time
		if why.Guard > 0 {
			guard = time.After(why.Guard)
		}
		select {
		case <-changed:
		case <-guard:
		case <-m.closing:
			return ErrClosed
		case <-ctx.Done(): // what the masters lack now is what counts
		}
	}
}

// Unready says why op on key finds no majority of the masters ready, nil if one is.
func (m *Masters) Unready(op, key string) error {
	b := Ballot{N: len(m.Nodes)}
	for i, n := range m.Nodes {
		a := script.Answer{Outcome: script.Done}
		if err := n.Ready(); err != nil {
			a = script.Answer{Outcome: script.Unsent, Err: err}
		}
		b.Put(i, a)
	}
	if ready, _, _ := b.Tally(); m.Majority(ready) {
		return nil
	}
	return m.Lost(op, key, &b, ErrNoQuorum, nil, nil)
}

// Meet waits until the masters are connected, or are known to be down: all of them, or so many that a
// majority is or none can be, and after that until patience ends. It takes about a node timeout at most.
//
// Cost: nothing is sent.
func (m *Masters) Meet(ctx context.Context, patience <-chan struct{}) {
	changed := make(chan struct{}, 1)
	for _, n := range m.Nodes {
		n.Notify(changed)
		defer n.StopNotify(changed)
	}
	var enough <-chan struct{}
	for {
		up, down := 0, 0
		for _, n := range m.Nodes {
			switch {
			case !n.Met(): // asked first: it may go down between the two
			case n.Down():
				down++
			default:
				up++
			}
		}
		if quorum.Vote(len(m.Nodes), up, down) != quorum.Pending {
			enough = patience
		}
		if up+down == len(m.Nodes) || enough != nil && IsClosed(enough) {
			return
		}
		select {
		case <-changed:
		case <-enough:
			return
		case <-ctx.Done():
			return
		case <-m.closing:
			return
		}
	}
}

// Regain waits until no master is down, for limit at most.
//
// Cost: nothing is sent.
func (m *Masters) Regain(limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_ = m.Await(ctx, func() error {
		if m.down() > 0 {
			return m.Lost("", "", &Ballot{N: len(m.Nodes)}, ErrNoQuorum, nil, nil)
		}
		return nil
	})
}

// Gone reports whether so many masters are down that no majority is left. It is false once the client is closed.
func (m *Masters) Gone() bool {
	return !m.Closed() && quorum.Vote(len(m.Nodes), 0, m.down()) == quorum.Lost
}

// down returns how many masters are down.
func (m *Masters) down() (n int) {
	for _, one := range m.Nodes {
		if one.Down() {
			n++
		}
	}
	return n
}
