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
// ended, and at once when waiting is in vain. If this client came second, it returns the ConflictError of
// package terms.
//
// Cost: nothing is sent, but the first time one command to each master.
func (m *Masters) Ready(ctx context.Context) error {
	err := m.await(ctx, func() error {
		if err := m.refusal(); err != nil {
			return err
		}
		return m.unready("ready", "")
	})
	if err != nil {
		return err
	}
	m.listen(ctx)
	return m.refusal()
}

// Reach waits until a majority of the masters would grant key, as far as is known without asking them. The
// error is that of Ready.
func (m *Masters) Reach(ctx context.Context, key string) error {
	lacking := func() error { return m.unready("lock", key) }
	if lacking() == nil {
		return nil
	}
	return m.await(ctx, lacking)
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
		if isClosed(m.done) {
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

// unready says why op on key finds no majority of the masters ready, nil if one is.
func (m *Masters) unready(op, key string) error {
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

// outage has the reasons for too few masters that the log was told. It is nil as long as enough of
// them answer.
type outage map[string]bool

// report tells the log what the callers that wait for t wait for when that is not another owner,
// again when the reasons change, and, with a nil why, when it is over.
func (m *Masters) report(t target, why *MajorityError) {
	if why != nil && !errors.Is(why, ErrNoQuorum) {
		why = nil
	}
	m.mu.Lock()
	before, news := false, false
	if n := m.names[t]; n != nil {
		before, news = n.outage.heard(why)
	}
	m.mu.Unlock()
	switch {
	case why == nil && before:
		m.log.Info("redlock: quorum is back", "name", t.key)
	case !news:
	case why.Guard > 0:
		m.log.Warn("redlock: waiting for masters that restarted lately", "name", t.key, "left", why.Guard.Round(time.Millisecond), "error", why.Nodes)
	default:
		m.log.Warn("redlock: waiting for a quorum", "name", t.key, "error", why.Nodes)
	}
}

// heard notes the reasons of an outage, and its end, when why is nil. It reports whether there was
// an outage before, and whether a reason is new in it.
func (o *outage) heard(why *MajorityError) (before, news bool) {
	before = *o != nil
	if why == nil {
		*o = nil
		return before, false
	}
	if !before {
		*o = make(outage)
	}
	for _, reason := range why.Reasons() {
		news = news || !(*o)[reason]
		(*o)[reason] = true
	}
	return before, news || !before
}
