package clients

import (
	"context"
	"math/rand/v2"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/multilock/terms"
	"example.com/redlock/node/script"
)

const (
	// longestLook is how long a first lock waits for the terms that a minority of the masters knows. Those
	// that are down do not count, and what comes later is looked at as well.
	longestLook = 100 * time.Millisecond

	// fresh is how old a look may be that saves a first lock one of its own.
	fresh = time.Second
)

// look is what a client does to be established, for all callers that wait for it.
type look struct {
	done  chan struct{}
	heard *poll.Ballot // what the masters said last, once done
	rival *terms.Rival // why the client was refused, nil if it was not
}

// Admit lets a client that was asked for the lock at key take locks, or returns why it must not: others are
// established whose terms conflict with its own. See [terms.Standing].
//
// The error is a [*poll.MajorityError] where too few masters answered.
//
// Cost: none for a client that is established. Else one round trip if others have the same terms, and two if
// not; one less if the client has looked in the last second.
func (d *Directory) Admit(ctx context.Context, key string) error {
	if d.Admitted() {
		return nil
	}
	d.mu.Lock()
	l := d.look
	if l == nil || poll.IsClosed(l.done) && d.standing.Ask(clock.Now()) == terms.Look {
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

// Look asks the masters how others use them, unless they told in the last second, and publishes nothing. It
// waits for a minority for longestLook at most.
func (d *Directory) Look(ctx context.Context) {
	if d.Begin() {
		defer d.End()
		d.Meet(ctx, longestLook)
		d.listen(ctx)
	}
}

// Ready waits until a majority of the masters would grant a lock, as far as is known without
// asking them: see [node.Node.Ready]. It returns nil then.
//
// Otherwise it returns a [*poll.MajorityError] that says what each of the others lacks: when ctx has
// ended, and at once when waiting does not help. If this client would be refused, it returns the ConflictError
// of package terms.
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
	if d.views.Load() == nil && d.introduced() && ctx.Err() == nil && d.Begin() {
		d.listen(ctx)
		d.End()
	}
	return d.refusal()
}

// listen asks the masters that are connected.
func (d *Directory) listen(ctx context.Context) {
	d.mu.Lock()
	asked := d.seenLocked(clock.Now())
	d.mu.Unlock()
	if asked == nil {
		d.ask(terms.Look, d.All())
		d.names()
	}
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

// present drives the client's standing until it is established or refused. What it publishes then is sent
// before any lock is asked for.
func (d *Directory) present(l *look) {
	defer close(l.done)
	if !d.Begin() {
		return
	}
	defer d.End()
	d.Meet(context.Background(), longestLook)
	among := d.All()
	for do := terms.Look; do != terms.Settle; {
		r := &terms.Round{Did: do}
		now := clock.Now()
		d.mu.Lock()
		if do == terms.Look {
			r.Views = d.seenLocked(now)
		}
		d.mu.Unlock()
		var applied string
		if r.Sent = now; r.Views == nil {
			applied, r.Views, l.heard = d.ask(do, among)
		} else {
			l.heard = &poll.Ballot{N: len(d.Nodes), In: d.All()}
		}
		among = 0
		for i, v := range r.Views {
			if v.Told {
				among |= 1 << i // a master that hangs is not waited for twice
			}
		}
		r.Back = longestLook + rand.N(longestLook+8*d.RoundTrip())
		r.Elsewhere = d.elsewhere()
		d.mu.Lock()
		r.Now = clock.Now()
		r.Own = d.ownTermsLocked(r.Now)
		if r.Text = d.text; do == terms.Look || r.Text == applied { // or it has met another master, and applies again
			do = d.standing.Heard(r)
			l.rival = d.standing.Rival()
		}
		if do == terms.Settle {
			d.settleLocked(r)
		}
		d.mu.Unlock()
		switch do {
		case terms.Withdraw:
			d.Send(script.Withdraw(d.standing.By), d.All(), poll.Nobody{})
			fallthrough
		case terms.Wait:
			if l.rival != nil {
				d.refused(l.rival)
			}
			return
		}
	}
}

// settleLocked publishes what an established client does.
func (d *Directory) settleLocked(r *terms.Round) {
	until := d.standing.Until()
	d.until.Store(&until)
	d.published = true
	if record := d.recordLocked(r.Own, 0, 1); record != nil {
		d.Deliver(record, d.All(), poll.Receiver(d.denied), true) // in the same write as the terms
	}
	for i, n := range d.Nodes {
		n.Send(d.publishLocked(r.Own, i), d.receiver(r.Own, d.text, r.Now), i)
		n.Noted(true)
	}
}

// ask sends a look or an application to the masters that are connected, and returns what they told once those
// in among have, or a majority has a while ago, and the text that was published.
func (d *Directory) ask(do terms.Do, among poll.Set) (string, []terms.View, *poll.Ballot) {
	enough, cancel := context.WithCancel(context.Background())
	defer cancel()
	waits := false
	p := d.NewPoll(func(b *poll.Ballot) bool {
		switch {
		case !d.Majority(told(b)):
		case among&^b.In == 0:
			return true
		case !waits:
			waits = true
			time.AfterFunc(longestLook, cancel)
		}
		return false
	})
	now := clock.Now()
	d.mu.Lock()
	own, text, cmd := d.ownTermsLocked(now), d.text, d.lookLocked()
	d.mu.Unlock()
	if do == terms.Apply {
		cmd = own.Publish(script.Candidate, d.standing.By, "")
	}
	for i, n := range d.Nodes {
		if n.Met() {
			n.Send(cmd, p, i)
		} else {
			p.Answer(i, script.Answer{Outcome: script.Unsent, Err: n.Ready()})
		}
	}
	b, _ := p.Wait(enough)
	views := make([]terms.View, len(d.Nodes))
	for i := range views {
		if b.In.Has(i) {
			d.denied(i, b.At(i))
			views[i] = view(&own.Masters[i], b.At(i), now)
		}
	}
	d.mu.Lock()
	d.sawLocked(views, own, now)
	d.mu.Unlock()
	return text, views, b
}
