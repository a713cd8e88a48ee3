package multilock

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

const (
	// longestLook is how long a first lock waits for the terms that a minority of the masters knows. Those
	// that are down do not count, and what comes later is looked at all the same.
	longestLook = 100 * time.Millisecond

	// lookAgain is how often a client that came second looks whether the first are still there, for its
	// callers' sake.
	lookAgain = time.Second
)

// look is a look at the terms of others, for a lock.
type look struct {
	begun clock.Instant
	done  chan struct{}
	heard *ballot // what became of it, once done
}

// Admit lets a client that was asked for the lock at key take locks, or returns why it must not: others
// came first, and their terms conflict with its own. It publishes its own terms and looks at those of
// others in one step, so that two clients cannot miss each other at a master that both use. A master
// that refuses to tell keeps nobody from a lock.
//
// The error is a [*MajorityError] where too few masters answered.
//
// Cost: for the first lock of a client one round trip, see longestLook; none for others.
func (m *Masters) Admit(ctx context.Context, key string) error {
	p := &m.presence
	if m.Admitted() {
		return nil
	}
	p.mu.Lock()
	if p.stands == user {
		p.mu.Unlock()
		return m.kept(key)
	}
	l := p.look
	if l == nil || isClosed(l.done) && (p.stands == onlooker || clock.Since(l.begun) > lookAgain) {
		l = &look{begun: clock.Now(), done: make(chan struct{})}
		p.look = l
		// Goroutines: one, which ends when the masters have answered, about a node timeout later.
		go m.present(l)
	}
	p.mu.Unlock()
	select {
	case <-l.done:
	case <-m.done:
		return ErrClosed
	case <-ctx.Done():
		return Fail("lock", key, Ended(ctx), ErrNoQuorum)
	}
	switch {
	case l.heard == nil:
		return ErrClosed
	case !m.majority(l.told()):
		return m.lost("lock", key, l.heard, ErrNoQuorum, nil, nil)
	}
	return m.kept(key)
}

// Admitted reports whether the client takes locks, and nobody came before it.
func (m *Masters) Admitted() bool { return m.presence.admitted.Load() || !m.introduced() }

// Look returns the ConflictError of package terms if others came first, as far as the masters have told. It asks
// those that have not, and publishes nothing.
func (m *Masters) Look(ctx context.Context) error {
	m.meet(ctx, longestLook)
	m.listen(ctx)
	return m.refusal()
}

// Refuse has the client take no lock until it is admitted anew: others came first at the masters of
// another set.
func (m *Masters) Refuse() {
	p := &m.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stands = refused
	p.admitted.Store(false)
	if o := p.rivalLocked(clock.Now()); o != nil {
		m.foundLocked(o)
	}
}

// kept says why the client takes no lock at key, nil if it does.
func (m *Masters) kept(key string) error {
	if err := m.refusal(); err != nil {
		return Fail("lock", key, err)
	}
	return nil
}

// told returns how many masters have told of others, or refused to.
func (l *look) told() (n int) {
	for i := range l.heard.n {
		if a := l.heard.at(i); l.heard.in.Has(i) && (a.Outcome == script.Done || a.Outcome == script.Failed) {
			n++
		}
	}
	return n
}

// present publishes the terms of this client before its first lock, and makes it a user unless it came
// second.
func (m *Masters) present(l *look) {
	defer close(l.done)
	if !m.begin() {
		return
	}
	defer m.tries.Done()
	m.meet(context.Background(), longestLook)
	p := &m.presence
	p.mu.Lock()
	again := p.stands == refused
	p.mu.Unlock()
	if again {
		if l.heard = m.hear(script.LookAtUses()); m.refusal() != nil {
			return
		}
	}
	p.mu.Lock()
	own := m.ownTermsLocked()
	p.since = clock.Now()
	publish, record := own.Publish(p.publisherLocked(m), 0), p.recordLocked(m, own, 0, 1)
	p.mu.Unlock()
	if record != nil {
		m.deliver(record, m.All(), receiver(m.denied), true) // in the same write as the terms
	}
	if l.heard = m.hear(publish); m.refusal() != nil {
		m.hear(script.LookAtUses()) // who it is
	}
	if !slices.ContainsFunc(own.Masters, func(at script.Master) bool { return at.Run == "" }) {
		for _, n := range m.nodes {
			n.Noted() // or each would be told the same again, soon after it was connected
		}
	}

	p.mu.Lock()
	rival := p.rivalLocked(clock.Now())
	switch {
	case rival != nil:
		p.stands = refused
		m.foundLocked(rival)
	case m.majority(l.told()):
		p.stands = user
		p.admitted.Store(true)
	}
	p.mu.Unlock()
	if rival != nil { // let the others know
		for i, n := range m.nodes {
			for _, note := range m.notes(i) {
				n.Send(note.Cmd, note.To, i)
			}
		}
	}
}

// hear sends a command that tells the terms of others to the masters that are connected, and returns
// what became of it once all have answered, or a majority has a while ago.
func (m *Masters) hear(cmd *script.Command) *ballot {
	enough, cancel := context.WithCancel(context.Background())
	defer cancel()
	var answers atomic.Int32
	p := m.newPoll(nil)
	p.told = func(i int, a script.Answer) {
		m.heard(i, a)
		if int(answers.Add(1)) == quorum.Majority(len(m.nodes)) {
			time.AfterFunc(longestLook, cancel)
		}
	}
	for i, n := range m.nodes {
		if n.Met() {
			n.Send(cmd, p, i)
		} else {
			p.Answer(i, script.Answer{Outcome: script.Unsent, Err: n.Ready()})
		}
	}
	b, _ := p.wait(enough)
	return b
}

// listen looks at the terms of others, unless that was done before or ctx has ended.
//
// Cost: the first time one round trip, see longestLook.
func (m *Masters) listen(ctx context.Context) {
	p := &m.presence
	p.mu.Lock()
	heard := slices.ContainsFunc(p.at[:], func(at presenceAt) bool { return at.heard })
	p.mu.Unlock()
	if heard || !m.introduced() || ctx.Err() != nil || !m.begin() {
		return
	}
	defer m.tries.Done()
	m.hear(script.LookAtUses())
}

// meet waits until the masters are connected, or are known to be down: all of them, or so many that a
// majority is or none can be, and after that for the grace. It takes about a node timeout at most.
//
// Cost: nothing is sent.
func (m *Masters) meet(ctx context.Context, grace time.Duration) {
	changed := make(chan struct{}, 1)
	for _, n := range m.nodes {
		n.Notify(changed)
		defer n.StopNotify(changed)
	}
	var enough <-chan time.Time
	for {
		up, down := 0, 0
		for _, n := range m.nodes {
			switch {
			case !n.Met(): // asked first: it may go down between the two
			case n.Down():
				down++
			default:
				up++
			}
		}
		decided := quorum.Vote(len(m.nodes), up, down) != quorum.Pending
		switch {
		case up+down == len(m.nodes), decided && grace == 0:
			return
		case decided && enough == nil:
			enough = time.After(grace)
		}
		select {
		case <-changed:
		case <-enough:
			return
		case <-ctx.Done():
			return
		case <-m.done:
			return
		}
	}
}
