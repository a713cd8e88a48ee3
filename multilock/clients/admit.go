package clients

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/multilock/terms"
	"example.com/redlock/node/script"
)

// longestLook is how long a first lock waits for the terms that a minority of the masters knows, and those of the
// client's other sets. Masters that are down do not count, and what comes later is looked at as well.
const longestLook = 100 * time.Millisecond

// look is what a client does to be established, for all callers that wait for it.
type look struct {
	done  chan struct{}
	heard *poll.Ballot // what the masters said last, once done
	rival *rival       // why the client was refused, nil if it was not
}

// Admit lets a client that was asked for the lock at key take locks, or returns why it must not: others are
// established whose terms conflict with its own. See [terms.Standing].
//
// The error is a [*poll.MajorityError] where too few masters answered.
//
// Cost: two round trips for a client that is not established; none else.
func (d *Directory) Admit(ctx context.Context, key string) error {
	if d.Admitted() {
		return nil
	}
	d.mu.Lock()
	l := d.look
	if l == nil || poll.IsClosed(l.done) && d.standing.MayLook(clock.Now()) {
		l = &look{done: make(chan struct{})}
		d.look = l
		// Goroutines: one, which ends when the masters have answered, about two node timeouts later.
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
	case l.rival != nil:
		return poll.Fail("lock", key, d.explain(l.rival, true))
	case l.heard == nil:
		return poll.ErrClosed
	case !d.Majority(told(l.heard)):
		return d.Lost("lock", key, l.heard, poll.ErrNoQuorum, nil, nil)
	}
	return nil
}

// Admitted reports whether the client may take locks.
func (d *Directory) Admitted() bool {
	until := d.until.Load()
	return until != nil && clock.Until(*until) > 0 || !d.introduced()
}

// present drives the client's standing until it is established or refused. What it publishes then is sent
// before any lock is asked for.
func (d *Directory) present(l *look) {
	defer close(l.done)
	if !d.Begin() {
		return
	}
	defer d.End()
	among := d.All()
	for do := terms.Look; do < terms.Settle; {
		r := &terms.Round{Did: do, Of: d.Len(), Sent: clock.Now(), Pause: longestLook + rand.N(time.Second-longestLook)}
		var asked string
		if asked, l.heard = d.ask(do, among); do == terms.Look {
			among = 0
			for i := range l.heard.N {
				if l.heard.In.Has(i) {
					among |= 1 << i // a master that hangs is not waited for twice
				}
			}
		}
		r.Told = told(l.heard)
		d.mu.Lock()
		r.Now = clock.Now()
		own := d.ownTermsLocked(r.Now)
		if own.Text() != asked && do == terms.Apply {
			d.mu.Unlock() // it has met another master, and applies again
			continue
		}
		l.rival = d.compareLocked(r.Now)
		r.Refused = l.rival != nil
		next := d.standing.Heard(r)
		if next == terms.Settle {
			d.settleLocked(own)
		}
		d.mu.Unlock()
		if next == terms.Wait && do == terms.Apply {
			for _, o := range d.all() {
				o.Send(script.Withdraw(script.Candidate(d.by)), o.All(), poll.Nobody{})
			}
		}
		do = next
	}
	if l.rival != nil {
		d.names(l.rival)
		d.mu.Lock()
		d.tellLocked(l.rival)
		d.mu.Unlock()
	}
}

// settleLocked publishes what an established client does.
func (d *Directory) settleLocked(own *terms.Terms) {
	until, _ := d.standing.Until()
	d.until.Store(&until)
	now := clock.Now()
	if record := d.recordLocked(own, 0, 1); record != nil {
		d.published = true
		d.Deliver(record, d.All(), poll.Receiver(d.denied), true) // in the same write as the terms
	}
	for i, n := range d.Nodes {
		n.Send(d.publish(own, d.by, terms.Life(d.id.Lease), i), d.receiver(own, now, true), i)
		n.Noted(true)
	}
}

// ask asks the masters, and meanwhile those of the client's other sets, which it does not wait for long. It returns
// the text of the client's terms, and what its masters told once those in among have, or a majority has a while ago.
func (d *Directory) ask(do terms.Do, among poll.Set) (text string, b *poll.Ballot) {
	late, cancel := context.WithTimeout(context.Background(), longestLook)
	defer cancel()
	var asked sync.WaitGroup
	for _, o := range d.all() {
		if o != d && o.Begin() {
			asked.Go(func() {
				defer o.End()
				o.hear(late, do, d.by, o.All())
			})
		}
	}
	text, b = d.hear(context.Background(), do, d.by, among)
	asked.Wait()
	return text, b
}

// hear asks the masters for client by, which is this one, or that of another set of the process.
func (d *Directory) hear(ctx context.Context, do terms.Do, by string, among poll.Set) (string, *poll.Ballot) {
	if do == terms.Look {
		d.Meet(ctx, longestLook)
	}
	enough, cancel := context.WithCancel(ctx)
	defer cancel()
	waits := false
	p := d.NewPoll(func(b *poll.Ballot) bool {
		if d.Majority(told(b)) && !waits {
			waits = true
			time.AfterFunc(longestLook, cancel)
		}
		return waits && among&^b.In == 0
	})
	asked := clock.Now()
	d.mu.Lock()
	own := d.ownTermsLocked(asked)
	over := by == d.by && d.standing.Over(asked, d.id.Lease)
	d.mu.Unlock()
	cmd := script.LookAtUses()
	if over {
		cmd = script.Withdraw(by)
	}
	for i, n := range d.Nodes {
		if do == terms.Apply {
			cmd = d.publish(own, script.Candidate(by), terms.Moment, i)
		}
		if n.Met() {
			n.Send(cmd, p, i)
		} else {
			p.Answer(i, script.Answer{Outcome: script.Unsent, Err: n.Ready()})
		}
	}
	b, _ := p.Wait(enough)
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.Nodes {
		if b.In.Has(i) {
			d.toldLocked(i, b.At(i), own, asked)
		}
	}
	d.compareLocked(clock.Now())
	return own.Text(), b
}

// told returns how many masters have told of others, or refused to.
func told(b *poll.Ballot) (n int) {
	for i := range b.N {
		if a := b.At(i); b.In.Has(i) && (a.Outcome == script.Done || a.Outcome == script.Failed) {
			n++
		}
	}
	return n
}
