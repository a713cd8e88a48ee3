package poll

import (
	"context"
	"time"

	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

// Reach waits until a majority of the masters would grant key, as far as is known without asking them. The error is a
// [*MajorityError] of op that says what each of the others lacks: when ctx has ended, and at once when waiting does not help.
func (m *Masters) Reach(ctx context.Context, op, key string) error {
	return m.Await(ctx, func() *MajorityError { return m.Unready(op, key) })
}

// Await waits until nothing is lacking. It returns what is lacking when ctx has ended, or when waiting
// does not help.
func (m *Masters) Await(ctx context.Context, lacking func() *MajorityError) error {
	var why *MajorityError
	cut := m.until(ctx, func() (over bool, again time.Duration) {
		if why = lacking(); why == nil || why.Hopeless {
			return true, 0
		}
		return false, why.Guard
	})
	switch {
	case cut == ErrClosed:
		return cut
	case cut != nil:
		return why.With(cut)
	case why != nil:
		return why
	}
	return nil
}

// Away waits until no majority of the masters would grant a lock, as far as is known without asking them. It is false if
// ctx ends before.
func (m *Masters) Away(ctx context.Context) bool {
	return m.until(ctx, func() (away bool, again time.Duration) { return m.Unready("lock", "") != nil, 0 }) == nil
}

// Meet waits until a majority of the masters is connected, or so many are down that none can be, or ctx ends. Then it waits
// until each is connected or down, or patience ends. It takes about a node timeout at most.
//
// Cost: nothing is sent.
func (m *Masters) Meet(ctx, patience context.Context) {
	_ = m.until(ctx, func() (decided bool, again time.Duration) {
		up, down := m.met()
		return quorum.Vote(len(m.Nodes), up, down) != quorum.Pending, 0
	})
	_ = m.until(patience, func() (all bool, again time.Duration) {
		up, down := m.met()
		return up+down == len(m.Nodes), 0
	})
}

// Regain waits until no master is down, for limit at most.
//
// Cost: nothing is sent.
func (m *Masters) Regain(limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_ = m.until(ctx, func() (up bool, again time.Duration) { return m.down() == 0, 0 })
}

// until waits until is returns so. It calls is whenever a master has changed, and after the time again that is returned
// last, if that is not 0. When ctx ends, is decides once more.
func (m *Masters) until(ctx context.Context, is func() (so bool, again time.Duration)) error {
	changed := make(chan struct{}, 1)
	for _, n := range m.Nodes {
		defer n.Notify(changed)()
	}
	for {
		if m.Closed() {
			return ErrClosed
		}
		so, again := is()
		switch {
		case so:
			return nil
		case ctx.Err() != nil:
			return Ended(ctx)
		}
		var later <-chan time.Time
		if again > 0 {
			later = time.After(again)
		}
		select {
		case <-changed:
		case <-later:
		case <-m.closing:
		case <-ctx.Done():
		}
	}
}

// Unready says why op on key finds no majority of the masters ready, nil if one is.
func (m *Masters) Unready(op, key string) *MajorityError {
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

// Gone says why op on key finds no majority of the masters ready, if so many are down that none is left: nil if one is, or
// the client is closed.
func (m *Masters) Gone(op, key string) *MajorityError {
	if m.Closed() || quorum.Vote(len(m.Nodes), 0, m.down()) != quorum.Lost {
		return nil
	}
	return m.Unready(op, key)
}

// met returns how many masters are connected, and how many are known to be down.
func (m *Masters) met() (up, down int) {
	for _, n := range m.Nodes {
		switch {
		case !n.Met(): // asked first: it may go down between the two
		case n.Down():
			down++
		default:
			up++
		}
	}
	return up, down
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
