package multilock

import (
	"hash/maphash"
	"math/rand/v2"
	"time"

	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
	"example.com/redlock/redlocktrace"
)

// round is one command of a driver to all masters. It takes the answers.
type round struct {
	d       *driver
	owner   string
	try     uint32 // 0, of the release of an owner that was given up: the attempt knows nothing of it
	number  uint32
	command attempt.Command
	shared  bool        // it was sent for a reader
	at      Set         // the masters that it was sent to
	trace   *roundTrace // nil: it is not traced

	// Of those that do not ask for the lock. The mutex of the driver guards it.
	ballot poll.Ballot
	op     string              // what it is for, of a renewal and of a hold count
	due    bool                // it is the renewal that is due
	result attempt.Result      // Pending until it is settled
	err    *poll.MajorityError // why it was not confirmed, of a renewal and of a hold count
	done   chan struct{}       // closed when it is settled, nil: nobody waits for it
	ends   *Hold               // that a release follows, nil: nobody had it
	next   *round              // that a release enters into the queue, nil if none is
	healed Set                 // masters where a renewal has set the hold again
}

// roundLocked makes the round that a step wants sent, and puts its command into the outbox: into msg, which says what else
// is to be done at that moment. The command of a renewal, which several holds share, is sent by [renewals].
func (d *driver) roundLocked(out *attempt.Effects, msg message) *round {
	want := &out.Round
	r := &round{d: d, owner: d.owner.ID, try: d.state.Try, number: want.Number, command: want.Command, shared: want.Shared, at: out.Send}
	if d.trace != nil {
		r.trace = d.trace.askedLocked(d, out)
	}
	switch want.Command {
	case attempt.Ask, attempt.Register:
		msg.cmd = d.askLocked(want)
	case attempt.Follow:
		return r // the release is sent for it
	case attempt.Raise:
		d.raise = r
		r.begin(script.Done) // the others have the number
		msg.cmd = d.owner.Raise(d.state.Want.Lease, want.Token)
	case attempt.Extend:
		r.op, r.due = "renew", want.Renewal
		r.begin(script.Unsent)
		return r
	case attempt.Count:
		d.count = r
		r.begin(script.Unsent)
		if r.op, msg.cmd = "enter", d.owner.Enter(want.Lease, int(want.Count)); want.Lease == 0 {
			r.op, msg.cmd = "unlock", d.owner.Leave(int(want.Count))
		}
	case attempt.Release:
		r.ends = msg.hold
		r.begin(script.Refused) // the others are known not to have the lock
		msg.ahead, msg.cmd = true, d.owner.Release(d.tokenLocked(), d.since)
	}
	msg.at, msg.to = out.Send, r
	d.postLocked(msg)
	return r
}

// begin begins the ballot of a round: masters that it is not sent to count as if they had answered others.
func (r *round) begin(others script.Outcome) {
	r.ballot.N = len(r.d.m.All.Nodes)
	for i := range r.ballot.N {
		if !r.at.Has(i) {
			r.ballot.Put(i, script.Answer{Outcome: others})
		}
	}
}

// tokenLocked is the token of a release: at least what was proposed, so that the next token is larger.
func (d *driver) tokenLocked() int64 { return max(d.m.All.Now().UnixMicro(), d.state.Last()) }

// entryLocked is the caller's entry in the queue. A client that may not hear of a hand-off polls.
func (d *driver) entryLocked(r *attempt.Round) script.QueueEntry {
	entry := script.QueueEntry{
		Round: uint64(r.Number), Since: d.since, Lease: r.Lease, Proposal: d.m.All.Now().UnixMicro(), Polls: !d.m.hearsAll(),
	}
	if d.state.Token < script.MaxToken { // or the master that said so would have the last word
		entry.Proposal = max(entry.Proposal, d.state.Token+1)
	}
	if d.state.Want.Keep {
		entry.Proposal += attempt.Range - 1
	}
	return entry
}

// askLocked returns the command of an Ask or a Register.
func (d *driver) askLocked(r *attempt.Round) *script.Command {
	entry := d.entryLocked(r)
	switch {
	case r.Command == attempt.Register:
		return d.owner.Register(entry)
	case d.state.Want.Wait:
		return d.owner.AcquireOrRegister(d.state.Want.Lease, entry)
	}
	d.ballot = poll.Ballot{N: len(d.m.All.Nodes)} // each try is judged by its own answers
	return d.owner.Acquire(d.state.Want.Lease, entry.Proposal)
}

// newOwnerLocked makes an owner for the next try.
func (d *driver) newOwnerLocked() *script.Owner {
	id := d.m.owners.make(d, d.state.Want.Keep)
	o := script.NewOwner(d.key, id)
	if d.state.Want.Shared {
		o = script.NewReader(d.key, id)
	}
	return o.CountFrom(rand.Uint64N(1 << 52))
}

// releaseLocked releases what the owner old, which was given up, may have, and takes it out of the queues.
func (d *driver) releaseLocked(old *script.Owner, out *attempt.Effects) {
	at := out.Release | out.Yield
	if at == 0 {
		d.m.owners.forget(old.ID)
		return
	}
	r := &round{d: d, owner: old.ID, command: attempt.Release, at: at}
	r.begin(script.Refused)
	if out.Release != 0 {
		d.postLocked(message{cmd: old.Release(d.tokenLocked(), d.since), at: out.Release, to: r})
	}
	if out.Yield != 0 {
		d.postLocked(message{cmd: old.Yield(d.since), at: out.Yield, to: r})
	}
}

// Answer implements [node.Receiver].
func (r *round) Answer(i int, a script.Answer) {
	d := r.d
	asks := r.command.Asks()
	if asks && a.Outcome == script.Refused {
		d.m.releaseStray(i, d.key, a.Holder)
	}
	d.mu.Lock()
	if r.trace != nil && r.command != attempt.Extend {
		r.trace.voted(i, max(d.slot, 0), a)
	}
	if !asks {
		r.ballot.Put(i, a)
	}
	if r.try == d.state.Try {
		if asks && (a.Outcome != script.Refused || d.m.owners.find(a.Holder) != d) { // else an owner that it gave up, for a moment
			d.ballot.Put(i, a)
			d.watchLocked(a)
		}
		if len(a.Renewed) > 0 {
			r.healed |= 1 << i
		}
		d.advanceLocked(&attempt.Event{
			Kind: attempt.Answer, Master: i, Try: r.try, Round: r.number,
			Outcome: outcome(a), Holder: d.m.holder(a), Left: a.Left, Ahead: a.Rank, Token: a.Token,
			Hopeless: a.Err != nil && !server.Heals(a.Err),
		}, r, nil)
	}
	if !asks && r.ballot.In == d.m.All.Set() {
		d.answeredLocked(r)
	}
	waits := asks && d.state.Want.Wait && d.slot < 0
	d.mu.Unlock()
	d.flush()
	if r.next != nil {
		r.next.d.step(&attempt.Event{Kind: attempt.Followed, Master: i, Try: r.next.try, Outcome: outcome(a)})
	}
	if waits && a.Outcome == script.Refused {
		d.m.blockedBy(d.key, a.Holder)
	}
}

// answeredLocked is told that all masters have answered a round.
func (d *driver) answeredLocked(r *round) {
	if r.command == attempt.Release {
		d.m.owners.forget(r.owner)
	}
	if r.result == attempt.Pending { // the attempt does not remember it
		d.settleLocked(r, attempt.Failed)
	}
}

// settleLocked notes what a round came to, and wakes whoever waits for it.
func (d *driver) settleLocked(r *round, result attempt.Result) {
	r.result = result
	switch {
	case r.command == attempt.Count, r.command == attempt.Extend:
		r.failedLocked()
	case r.ends != nil && r.ends.trace != nil:
		e := redlocktrace.Released{Err: r.releasedLocked(nil)}
		if r.next != nil {
			e.Next = r.next.trace.call.about.ID
		}
		r.ends.trace.released(e)
	}
	if d.count == r {
		d.count = nil
	}
	if r.done != nil {
		close(r.done)
	}
}

// settledLocked returns a channel that is closed once the round is settled.
func (r *round) settledLocked() <-chan struct{} {
	switch {
	case r.result != attempt.Pending:
		return closedChan
	case r.done == nil:
		r.done = make(chan struct{})
	}
	return r.done
}

// outcome is the outcome of a as an attempt has it: both packages number outcomes alike.
func outcome(a script.Answer) attempt.Outcome { return attempt.Outcome(a.Outcome) }

var seed = maphash.MakeSeed()

// holder returns the number of the owner that a names.
func (m *Masters) holder(a script.Answer) attempt.Holder {
	if a.Outcome != script.Refused || a.Holder == "" {
		return attempt.Nobody
	}
	number := attempt.Holder(maphash.String(seed, a.Holder) | 1)
	number &^= attempt.Ours | attempt.Keeps
	if m.All.Ours(a.Holder) {
		number |= attempt.Ours
	}
	if script.Keeps(a.Holder) {
		number |= attempt.Keeps
	}
	return number
}

// handedOff counts a hand-off from master i. A hand-off to an owner that was given up does not count: the release of that
// owner was sent, and will free what was handed off. Nor does one that names no round of the owner: it is forged, by
// somebody who may publish and knows which owners wait.
func (d *driver) handedOff(i int, h script.HandOff) {
	d.mu.Lock()
	if d.owner != nil && h.Owner == d.owner.ID {
		if round := d.owner.Round(h); round > 0 && round <= uint64(d.state.Round) {
			if d.trace != nil && d.state.State < attempt.Held {
				d.trace.handedOffLocked(d, i, int(round), h)
			}
			d.stepLocked(&attempt.Event{
				Kind: attempt.HandedOff, Master: i, Try: d.state.Try, Round: uint32(round), Token: h.Token,
			})
		}
	}
	d.mu.Unlock()
	d.flush()
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
