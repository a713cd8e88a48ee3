package clients

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/poll"
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
	heard *poll.Ballot // what became of it, once done
}

// Admit lets a client that was asked for the lock at key take locks, or returns why it must not: others
// came first, and their terms conflict with its own. It publishes its own terms and looks at those of
// others in one step, so that two clients cannot miss each other at a master that both use. A master
// that refuses to tell keeps nobody from a lock.
//
// The error is a [*poll.MajorityError] where too few masters answered.
//
// Cost: for the first lock of a client one round trip, see longestLook; none for others.
func (d *Directory) Admit(ctx context.Context, key string) error {
	if d.Admitted() {
		return nil
	}
	d.mu.Lock()
	if d.stands == user {
		d.mu.Unlock()
		return d.refusalOf(key)
	}
	l := d.look
	if l == nil || poll.IsClosed(l.done) && (d.stands == onlooker || clock.Since(l.begun) > lookAgain) {
		l = &look{begun: clock.Now(), done: make(chan struct{})}
		d.look = l
		// Goroutines: one, which ends when the masters have answered, about a node timeout later.
		go d.present(l)
	}
	d.mu.Unlock()
	select {
	case <-l.done:
	case <-d.Closing():
		return poll.ErrClosed
	case <-ctx.Done():
		return poll.Fail("lock", key, poll.Ended(ctx), poll.ErrNoQuorum)
	}
	switch {
	case l.heard == nil:
		return poll.ErrClosed
	case !d.Majority(l.told()):
		return d.Lost("lock", key, l.heard, poll.ErrNoQuorum, nil, nil)
	}
	return d.refusalOf(key)
}

// Admitted reports whether the client takes locks, and nobody came before it.
func (d *Directory) Admitted() bool { return d.admitted.Load() || !d.introduced() }

// Look returns the ConflictError of package terms if others came first, as far as the masters have told. It asks
// those that have not, and publishes nothing.
func (d *Directory) Look(ctx context.Context) error {
	d.Meet(ctx, longestLook)
	d.listen(ctx)
	return d.refusal()
}

// Ready waits until a majority of the masters would grant a lock, as far as is known without
// asking them: see [node.Node.Ready]. It returns nil then.
//
// Otherwise it returns a [*poll.MajorityError] that says what each of the others lacks: when ctx has
// ended, and at once when waiting is in vain. If this client came second, it returns the ConflictError of
// package terms.
//
// Cost: nothing is sent, but the first time one command to each master.
func (d *Directory) Ready(ctx context.Context) error {
	err := d.Await(ctx, func() error {
		if err := d.refusal(); err != nil {
			return err
		}
		return d.Unready("ready", "")
	})
	if err != nil {
		return err
	}
	d.listen(ctx)
	return d.refusal()
}

// Refuse has the client take no lock until it is admitted anew: others came first at the masters of
// another set.
func (d *Directory) Refuse() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stands = refused
	d.admitted.Store(false)
	if o := d.rivalLocked(clock.Now()); o != nil {
		d.foundLocked(o)
	}
}

// refusalOf says why the client takes no lock at key, nil if it does.
func (d *Directory) refusalOf(key string) error {
	if err := d.refusal(); err != nil {
		return poll.Fail("lock", key, err)
	}
	return nil
}

// told returns how many masters have told of others, or refused to.
func (l *look) told() (n int) {
	for i := range l.heard.N {
		if a := l.heard.At(i); l.heard.In.Has(i) && (a.Outcome == script.Done || a.Outcome == script.Failed) {
			n++
		}
	}
	return n
}

// present publishes the terms of this client before its first lock, and makes it a user unless it came
// second.
func (d *Directory) present(l *look) {
	defer close(l.done)
	if !d.Begin() {
		return
	}
	defer d.End()
	d.Meet(context.Background(), longestLook)
	d.mu.Lock()
	again := d.stands == refused
	d.mu.Unlock()
	if again {
		if l.heard = d.hear(script.LookAtUses()); d.refusal() != nil {
			return
		}
	}
	d.mu.Lock()
	own := d.ownTermsLocked()
	d.since = clock.Now()
	publish, record := own.Publish(d.publisherLocked(), 0), d.recordLocked(own, 0, 1)
	d.mu.Unlock()
	if record != nil {
		d.Deliver(record, d.All(), poll.Receiver(d.denied), true) // in the same write as the terms
	}
	if l.heard = d.hear(publish); d.refusal() != nil {
		d.hear(script.LookAtUses()) // who it is
	}
	if !slices.ContainsFunc(own.Masters, func(at script.Master) bool { return at.Run == "" }) {
		for _, n := range d.Nodes {
			n.Noted() // or each would be told the same again, soon after it was connected
		}
	}

	d.mu.Lock()
	rival := d.rivalLocked(clock.Now())
	switch {
	case rival != nil:
		d.stands = refused
		d.foundLocked(rival)
	case d.Majority(l.told()):
		d.stands = user
		d.admitted.Store(true)
	}
	d.mu.Unlock()
	if rival != nil { // let the others know
		for i, n := range d.Nodes {
			for _, note := range d.notes(i) {
				n.Send(note.Cmd, note.To, i)
			}
		}
	}
}

// hear sends a command that tells the terms of others to the masters that are connected, and returns
// what became of it once all have answered, or a majority has a while ago.
func (d *Directory) hear(cmd *script.Command) *poll.Ballot {
	enough, cancel := context.WithCancel(context.Background())
	defer cancel()
	var answers atomic.Int32
	p := d.NewPoll(nil)
	p.Told = func(i int, a script.Answer) {
		d.heard(i, a)
		if int(answers.Add(1)) == quorum.Majority(len(d.Nodes)) {
			time.AfterFunc(longestLook, cancel)
		}
	}
	for i, n := range d.Nodes {
		if n.Met() {
			n.Send(cmd, p, i)
		} else {
			p.Answer(i, script.Answer{Outcome: script.Unsent, Err: n.Ready()})
		}
	}
	b, _ := p.Wait(enough)
	return b
}

// listen looks at the terms of others, unless that was done before or ctx has ended.
//
// Cost: the first time one round trip, see longestLook.
func (d *Directory) listen(ctx context.Context) {
	d.mu.Lock()
	heard := slices.ContainsFunc(d.at[:], func(at there) bool { return at.heard })
	d.mu.Unlock()
	if heard || !d.introduced() || ctx.Err() != nil || !d.Begin() {
		return
	}
	defer d.End()
	d.hear(script.LookAtUses())
}
