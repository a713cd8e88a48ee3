package multilock

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/clients"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
	"example.com/redlock/quorum"
)

// What callers are told of attempts and rounds that did not succeed.

var (
	errUnconfirmed = poll.Case(poll.ErrNoQuorum, "redlock: too few masters confirmed, the release goes on in the background")
	errLeft        = poll.Case(poll.ErrNoQuorum, "redlock: too few masters confirmed, and those that refused the release are not asked again: it ends with its lease there")
	errLate        = errors.New("granted, but too late: the lease was used up")
	errTokens      = errors.New("agreed on a fencing token, too few others did")
	errForeign     = errors.New("held by another owner")
)

// reason returns why the lock is not held, by what each master said last: nil if that is
// not known, or it is held. cut is the context error of a wait that was cut short; with it, masters
// that have not answered are a reason too.
func (d *driver) reason(cut error) *poll.MajorityError {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reasonLocked(cut)
}

func (d *driver) reasonLocked(cut error) *poll.MajorityError {
	s := &d.state
	switch s.State {
	case attempt.Idle, attempt.Held, attempt.Kept:
		return nil
	case attempt.Asking:
		if cut == nil {
			return nil
		}
	case attempt.Waiting:
		if in := d.ballot.In.Len(); quorum.Vote(len(d.m.All.Nodes), 0, in) != quorum.Lost {
			return nil // a release entered it, and too few masters have said anything
		}
	case attempt.Ended:
		switch s.Why {
		case attempt.GivenUp, attempt.Released:
			return nil
		case attempt.Late, attempt.Expired:
			return d.lostLocked(&d.ballot, poll.ErrNoQuorum, cut, d.late())
		}
	}
	if s.State == attempt.Settling && !s.Want.Wait || s.Why == attempt.NoToken {
		return d.lostLocked(&d.raise.ballot, poll.ErrNoQuorum, cut, errTokens)
	}
	if granted, _, _ := d.ballot.Tally(); d.m.All.Majority(granted) && d.tooShort() {
		return d.lostLocked(&d.ballot, poll.ErrNoQuorum, cut, d.late())
	}
	return d.refusedLocked(cut)
}

// lostLocked is [poll.Masters.Lost] for the lock.
func (d *driver) lostLocked(b *poll.Ballot, state, cut, late error) *poll.MajorityError {
	op, name := called(d.key)
	return d.m.All.Lost(op, name, b, state, cut, late)
}

// refusedLocked is [poll.Masters.Refused] for what the masters said last.
func (d *driver) refusedLocked(cut error) *poll.MajorityError {
	op, name := called(d.key)
	return d.m.All.Refused(op, name, &d.ballot, cut)
}

// tooShort reports whether the lease is used up before the masters' answers come.
func (d *driver) tooShort() bool { return attempt.TooShort(d.state.Want.Lease, d.m.All.RoundTrip()) }

// late says why a grant came too late.
func (d *driver) late() error {
	if !d.tooShort() {
		return errLate
	}
	return fmt.Errorf("%w: %v is too short for a round trip, which takes up to %v", errLate, d.state.Want.Lease, d.m.All.RoundTrip().Round(time.Millisecond))
}

// watchLocked asks to be told when the lock is free, if one of Redisson's clients has it: their
// releases hand it off to nobody.
func (d *driver) watchLocked(a script.Answer) {
	if d.watching || !d.state.Want.Wait || d.state.State >= attempt.Held || a.Outcome != script.Refused || a.Holder == "" ||
		a.Holder == script.SharedHolder || clients.Of(a.Holder) != "" {
		return
	}
	d.watching = true
	d.m.watch(d.key)
}

// unwatchLocked undoes watchLocked.
func (d *driver) unwatchLocked() {
	if !d.watching {
		return
	}
	d.watching = false
	d.m.unwatch(d.key)
}

// failedLocked notes why a renewal or a hold count was not confirmed, and what came of the renewal that was due.
func (r *round) failedLocked() {
	d := r.d
	state := poll.ErrNoQuorum
	switch r.result {
	case attempt.Confirmed:
		state = nil
	case attempt.Denied:
		state = poll.ErrLost
	}
	if state != nil {
		_, name := called(d.key)
		r.err = d.m.All.Lost(r.op, name, &r.ballot, state, nil, nil)
	}
	if r.command == attempt.Extend && r.trace != nil {
		r.trace.settledLocked(r)
	}
	if h := d.hold; h != nil && (r.err == nil || r.due) {
		h.failed = r.err
	}
	if r.due && d.hold != nil && d.state.State == attempt.Held { // else it is forgotten, or will be in a moment
		d.m.reportRenewalLocked(d.hold)
	}
}

// refused reports whether every master has answered, and those that did not confirm the release have refused
// it for good.
func refused(b *poll.Ballot) bool {
	for i := range b.N {
		a := b.At(i)
		if !b.In.Has(i) || a.Outcome == script.Unsent || a.Outcome == script.Unknown || server.Resends(a.Err) {
			return false
		}
	}
	return true
}

// releasedLocked returns nil once a majority of the masters is known not to have the hold, or to have the new hold
// count, unless so many of them lacked it before that somebody else may have had the lock: ErrLost.
//
// ErrNoQuorum says that too few answered: the release is repeated in the background. cut is the error of a context that
// ended first, which the error matches then.
func (r *round) releasedLocked(cut error) error {
	state := errUnconfirmed
	switch {
	case r.result == attempt.Denied:
		state = poll.ErrLost
	case r.result == attempt.Confirmed:
		return nil
	case cut != nil:
		state = poll.ErrNotAwaited
	case refused(&r.ballot):
		state = errLeft
	}
	_, name := called(r.d.key)
	b := r.ballot
	b.Answers = slices.Clone(b.Answers)
	return r.d.m.All.Lost("unlock", name, &b, state, cut, nil)
}
