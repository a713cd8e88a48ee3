package multilock

import (
	"context"
	"errors"
	"time"

	"example.com/redlock/node/script"
)

// Ready waits until a majority of the masters would grant a lock, as far as is known without
// asking them: see [node.Node.Ready]. It returns nil then.
//
// Otherwise it returns a [*MajorityError] that says what each of the others lacks: when ctx has
// ended, and at once when waiting is in vain. It returns a [*ConflictError] if this client came second.
//
// Cost: nothing is sent, but the first time one command to each master.
func (m *Masters) Ready(ctx context.Context) error {
	err := m.await(ctx, func() error {
		if err := m.refusal(); err != nil {
			return err
		}
		if why := m.unready("ready", ""); why != nil {
			return why
		}
		return nil
	})
	if err != nil {
		return err
	}
	m.listen(ctx)
	return m.refusal()
}

// await waits until nothing is lacking. It returns what is lacking when ctx has ended, or when waiting is
// in vain.
func (m *Masters) await(ctx context.Context, lacking func() error) error {
	changed := make(chan struct{}, 1)
	for _, n := range m.nodes {
		n.Notify(changed)
		defer n.StopNotify(changed)
	}
	for {
		if m.over() {
			return ErrClosed
		}
		err := lacking()
		why, passes := errors.AsType[*MajorityError](err)
		if !passes || why.Hopeless() {
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
		case <-m.done:
			return ErrClosed
		case <-ctx.Done(): // what the masters lack now is what counts
		}
	}
}

// over reports whether the client is closed.
func (m *Masters) over() bool {
	select {
	case <-m.done:
		return true
	default:
		return false
	}
}

// unready says why op on key finds no majority of the masters ready, nil if one is.
func (m *Masters) unready(op, key string) *MajorityError {
	b := ballot{n: len(m.nodes)}
	for i, n := range m.nodes {
		a := script.Answer{Outcome: script.Done}
		if err := n.Ready(); err != nil {
			a = script.Answer{Outcome: script.Unsent, Err: err}
		}
		b.put(i, a)
	}
	if ready, _, _ := b.tally(); m.majority(ready) {
		return nil
	}
	return m.lost(op, key, &b, ErrNoQuorum, nil, nil)
}
