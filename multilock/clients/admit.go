package clients

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/internal/awake"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/multilock/terms"
	"example.com/redlock/node/script"
)

// longestLook is how long a first lock waits for what a minority of the masters tells, once a majority has, and for the
// client's other sets, once the one that it is for has told. What comes later is looked at as well.
const longestLook = 100 * time.Millisecond

// longestReturn is how long a process that was stopped, or cut off, waits for its masters before it looks: until each
// was tried once more. Others may be established whom only one of them knows.
const longestReturn = 2 * time.Second

// afterAwake is awake.After, except in tests. Where this process is short of CPU, its masters seem late. Clients that
// start together then would publish a list for each subset of the masters, read them all, and be later still.
var afterAwake = func(d time.Duration, end func()) (stop func()) { return awake.After(d, end).Stop }

// look is one attempt of a process to be established, on behalf of all callers that wait for that.
type look struct {
	done  chan struct{}
	of    *Directory           // which it waits for
	hurry func()               // has it wait no longer for its last masters, once a majority is connected
	heard map[*Directory]*step // what the masters of each set said last, once done
}

// Sets are those of a process, which is established at each by itself. It has one look at a time for all of them.
type Sets struct {
	all  []*Directory
	mu   sync.Mutex
	look *look // the last for a lock
}

// looking returns the look for the lock of d, which has begun.
func (s *Sets) looking(d *Directory) *look {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.look; l == nil || poll.IsClosed(l.done) && d.standing.First(clock.Now()) != terms.Ended {
		patience, hurry := context.WithCancel(context.Background())
		s.look = &look{done: make(chan struct{}), of: d, hurry: hurry}
		// Goroutines: one, which ends when the masters have answered, about two node timeouts later.
		go s.look.run(patience)
	}
	return s.look
}

// Admit lets a client that was asked for op on name take locks, or returns why it must not: others are
// established whose terms conflict with its own. See [terms.Standing].
//
// The error is a [*poll.MajorityError] where too few masters answered, or ctx ended before; at once where no majority is
// left, since a caller that waits asks again and again.
//
// Cost: one round trip for a client that is not established, one more if others have other terms; none else.
func (d *Directory) Admit(ctx context.Context, op, name string) error {
	for !d.Admitted() {
		if why := d.All.Gone(op, name); why != nil {
			return why
		}
		l := d.sets.looking(d)
		defer afterAwake(longestReturn, l.hurry)()
		if end, ok := ctx.Deadline(); ok {
			defer time.AfterFunc(time.Until(end)/2, l.hurry).Stop()
		}
		select {
		case <-l.done:
		case <-d.All.Closing():
			return poll.ErrClosed
		case <-ctx.Done():
			return d.All.Lost(op, name, &poll.Ballot{N: d.All.Len()}, poll.ErrNoQuorum, poll.Ended(ctx), nil)
		}
		r := l.heard[d]
		switch {
		case r != nil && r.rival != nil:
			return poll.Fail(op, name, d.explain(r.rival))
		case l.of == d && r == nil:
			return poll.ErrClosed
		case l.of == d && !d.All.Majority(r.facts.Told):
			return d.All.Lost(op, name, r.ballot, poll.ErrNoQuorum, nil, nil)
		}
	}
	return nil
}

// Admitted reports whether the client may take locks.
func (d *Directory) Admitted() bool {
	until := d.until.Load()
	return until != nil && clock.Until(*until) > 0 || !d.introduced()
}

// first returns the first step of a client that is asked for a lock.
func (d *Directory) first() terms.Do {
	d.sets.mu.Lock()
	defer d.sets.mu.Unlock()
	return d.standing.First(clock.Now())
}

// lapsed is [terms.Standing.Lapsed] for the client.
func (d *Directory) lapsed() bool {
	d.sets.mu.Lock()
	defer d.sets.mu.Unlock()
	return d.standing.Lapsed(clock.Now())
}

// run drives the standing of a process until it is established at the set that it was asked for, or refused.
func (l *look) run(patience context.Context) {
	defer l.hurry()
	defer close(l.done)
	if l.of.lapsed() {
		l.of.All.Regain(longestReturn)
	}
	next := map[*Directory]terms.Do{l.of: l.of.first()}
	for next[l.of] != terms.Ended {
		if l.step(patience, next); l.heard[l.of] == nil {
			return
		}
		for d, r := range l.heard {
			next[d] = d.heard(r, d == l.of)
		}
	}
	if r := l.heard[l.of]; r != nil && r.rival != nil {
		l.of.names(r.rival)
		l.of.sets.mu.Lock()
		l.of.tellLocked(r.rival)
		l.of.sets.mu.Unlock()
	}
}

// step carries out the next step at the set that the look waits for, and at those others at which the process is not
// established, which it does not wait for long.
func (l *look) step(patience context.Context, next map[*Directory]terms.Do) {
	late, cancel := context.WithCancel(context.Background())
	defer cancel()
	var asked sync.WaitGroup
	var mu sync.Mutex
	l.heard = make(map[*Directory]*step)
	l.of.sets.mu.Lock()
	all := slices.Clone(l.of.sets.all)
	l.of.sets.mu.Unlock()
	for _, d := range all {
		if d.Admitted() && d != l.of || !d.All.Begin() {
			continue
		}
		ctx, with, do := late, late, next[d]
		if d == l.of {
			ctx, with = context.Background(), patience
		} else if d.lapsed() || do == terms.Join && d.first() == terms.Ended || do == terms.Ended {
			do = terms.Look // a lapsed one gives its masters time to come back in a look of its own
		}
		asked.Go(func() {
			defer d.All.End()
			r := d.hear(ctx, do, with)
			if d == l.of {
				time.AfterFunc(longestLook, cancel)
			}
			mu.Lock()
			l.heard[d] = r
			mu.Unlock()
		})
	}
	asked.Wait()
}

// step is what became of a step at the masters of one set.
type step struct {
	facts  terms.Step
	text   string // that was published
	ballot *poll.Ballot
	rival  *rival // why the client is refused, nil if it is not
}

// hear asks the masters of one set how others use them, and publishes its terms unless it only looks. It waits until
// all have told, or a majority has a while ago; and before that for the masters that are being connected, but with
// patience only once it is decided whether a majority is.
func (d *Directory) hear(ctx context.Context, do terms.Do, patience context.Context) *step {
	if do != terms.Stay { // terms name the masters that are connected: those of all are the same for many clients
		d.All.Meet(ctx, patience)
	}
	enough, cancel := context.WithCancel(ctx)
	defer cancel()
	waits := false
	p := d.All.NewPoll(func(b *poll.Ballot) bool {
		if d.All.Majority(told(b)) && !waits {
			waits = true
			time.AfterFunc(longestLook, cancel)
		}
		return false
	})
	now := clock.Now()
	d.sets.mu.Lock()
	own := d.ownTermsLocked(now)
	text := d.text
	d.published = d.published || do != terms.Look
	d.sets.mu.Unlock()
	for i, n := range d.All.Nodes {
		cmd := script.LookAtUses()
		if do != terms.Look {
			cmd = d.publish(text, i, do == terms.Join)
		}
		if n.Met() {
			n.Send(cmd, p)
		} else {
			p.Answer(i, script.Answer{Outcome: script.Unsent, Err: n.Ready()})
		}
	}
	r := &step{facts: terms.Step{Sent: now, Of: d.All.Len(), Again: do == terms.Look}, text: text}
	r.ballot, _ = p.Wait(enough)
	d.sets.mu.Lock()
	defer d.sets.mu.Unlock()
	r.facts.Told = told(r.ballot)
	for i := range d.All.Nodes {
		if r.ballot.In.Has(i) && d.toldLocked(i, r.ballot.At(i), own, now) && len(d.views[i].Uses) > 0 {
			r.facts.Again = r.facts.Again || do == terms.Join
		}
	}
	return r
}

// heard evaluates a step, and returns the next one. A client that is established by it publishes its record as well, which
// is written together with the lock that follows if gathered is true. A client that is refused takes back what it
// published.
func (d *Directory) heard(r *step, gathered bool) terms.Do {
	if !d.All.Begin() {
		return terms.Ended // or a record would come behind what takes it back
	}
	defer d.All.End()
	d.sets.mu.Lock()
	defer d.sets.mu.Unlock()
	r.facts.Now, r.facts.Pause = clock.Now(), longestLook+rand.N(time.Second-longestLook)
	own := d.ownTermsLocked(r.facts.Now)
	r.rival = d.compareLocked(r.facts.Now)
	r.facts.Refused = r.rival != nil
	r.facts.Again = r.facts.Again || d.text != r.text
	free := !d.holdsLocked() && d.standing.Free(r.facts.Now)
	next := d.standing.Heard(&r.facts)
	switch {
	case d.standing.Established(r.facts.Now):
		until := d.standing.Until()
		d.until.Store(&until)
		if record := d.recordLocked(own, 0, 1); record != nil {
			d.All.Deliver(record, d.All.Set(), poll.Receiver(d.denied), gathered)
		}
		for _, n := range d.All.Nodes {
			n.Noted(true)
		}
	case r.facts.Refused && free:
		d.All.Send(script.Withdraw(d.by), d.All.Set(), poll.Nobody)
	}
	return next
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
