// Package inspect asks the masters what they have of a lock or a semaphore, lists all that are held, and frees
// them by force: what operators look at and do. It serves package redlock: its API is not stable.
package inspect

import (
	"cmp"
	"context"
	"slices"
	"time"

	"example.com/redlock/multilock/clients"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

// View is what one master says of a lock or a semaphore.
type View struct {
	Master  string
	Holder  string // empty: nobody; script.SharedHolder: readers
	Count   int
	Left    time.Duration
	Token   int64
	Readers []script.Reader
	Slots   []Slot // of a semaphore: those that somebody has
	Queue   []Waiter
	Guard   time.Duration // how long it grants no holds yet to those who take them: see [clients.Directory.Guard]
	Err     error         // why it says nothing
}

// Inspection is what the masters say of a lock or a semaphore.
type Inspection struct {
	Views  []View        // of each master, in their order
	Holder string        // whom a majority names, empty if none
	Left   time.Duration // until a majority is free, zero when it is or too few answered
	For    time.Duration // how long the holder has had it, by its fencing token; zero if that is not known

	Readers []script.Reader // those that a majority names
	Slots   []Slot          // of a semaphore: those that a majority gives to the same owner
}

// Lock asks each master who has the lock at key, and waits for all of them, for
// about the node timeout at most. The error is a [*poll.MajorityError] when fewer than a
// majority answered; the Inspection has what the others said.
//
// Cost: one script call on each master.
func Lock(ctx context.Context, d *clients.Directory, key string) (Inspection, error) {
	return lock(ctx, d, key, key)
}

// lock is Lock for a lock that belongs to name.
func lock(ctx context.Context, d *clients.Directory, name, key string) (Inspection, error) {
	in, _, err := inspect(ctx, d, name, script.Inspect(key))
	if err != nil {
		return in, err
	}
	var holders []string
	var left []time.Duration
	for _, v := range in.Views {
		if v.Err == nil {
			holders, left = append(holders, v.Holder), append(left, v.Left)
		}
	}
	in.Holder, _ = quorum.Holder(len(d.All.Nodes), holders)
	in.Left, _ = quorum.FreeAfter(len(d.All.Nodes), left)
	in.For = d.HeldFor(in.granted())
	said := make(map[string][]time.Duration) // by reader, for how long it reads
	for _, v := range in.Views {
		for _, r := range v.Readers {
			said[r.Owner] = append(said[r.Owner], r.Left)
		}
	}
	for owner, left := range said {
		if need := quorum.Majority(len(d.All.Nodes)); len(left) >= need {
			slices.SortFunc(left, func(a, b time.Duration) int { return cmp.Compare(b, a) })
			in.Readers = append(in.Readers, script.Reader{Owner: owner, Left: left[need-1]})
		}
	}
	slices.SortFunc(in.Readers, func(a, b script.Reader) int {
		return cmp.Or(cmp.Compare(a.Left, b.Left), cmp.Compare(a.Owner, b.Owner))
	})
	return in, nil
}

// granted returns when the holder got the lock, by the masters' clocks: its fencing token says so. It is
// the zero time if that is not known, or readers have it.
func (in *Inspection) granted() time.Time {
	var tokens []int64
	for _, v := range in.Views {
		if v.Holder == in.Holder {
			tokens = append(tokens, v.Token)
		}
	}
	if clients.Of(in.Holder) == "" || len(tokens) == 0 {
		return time.Time{} // a lock of Redisson's leaves the counter as it is
	}
	return clients.Granted(tokens)
}

// inspect sends cmd, which is about name, and returns what each master says.
func inspect(ctx context.Context, d *clients.Directory, name string, cmd *script.Command) (Inspection, *poll.Ballot, error) {
	if !d.All.Begin() {
		return Inspection{}, nil, poll.ErrClosed
	}
	defer d.All.End()
	b, cut := d.All.Ask(cmd, nil).Wait(ctx)
	in := Inspection{Views: make([]View, len(d.All.Nodes))}
	answered, guard := 0, d.Guard(ctx)
	for i, n := range d.All.Nodes {
		a := b.Answers[i]
		v := View{
			Master: n.Name(),
			Holder: a.Holder, Count: a.Count, Left: a.Left, Token: a.Token,
			Guard: n.GuardOf(guard),
		}
		if a.Crowd != nil {
			v.Readers = a.Crowd.Readers
			for _, w := range a.Crowd.Waiters {
				v.Queue = append(v.Queue, Waiter{Entry: w})
			}
		}
		switch {
		case !b.In.Has(i):
			v.Err = &node.Error{Node: n.Name(), Err: poll.ErrPending}
		case a.Outcome != script.Done:
			v.Err = n.Error(a.Why())
		default:
			answered++
		}
		in.Views[i] = v
	}
	if !d.All.Majority(answered) {
		return in, b, d.All.Lost("inspect", name, b, poll.ErrNoQuorum, cut, nil)
	}
	return in, b, nil
}

// Force frees the lock at key on every master that answers, whoever has it, and reports whether
// somebody had it. The error is a [*poll.MajorityError] when fewer than a majority answered. It is not
// repeated: a repeat might take the lock from the next owner.
//
// Cost: one script call on each master.
func Force(ctx context.Context, m *poll.Masters, key string) (freed bool, err error) {
	return force(ctx, m, "force unlock", key, key)
}

// force is Force for a lock that belongs to name.
func force(ctx context.Context, m *poll.Masters, op, name, key string) (freed bool, err error) {
	if !m.Begin() {
		return false, poll.ErrClosed
	}
	defer m.End()
	token := int64(0)
	m.Greet(ctx)
	if m.KnowsTime() {
		token = m.Now().UnixMicro()
	}
	b, cut := m.Ask(script.Force(key, token), nil).Wait(ctx)
	done, refused, _ := b.Tally()
	if m.Majority(done + refused) {
		return done > 0, nil
	}
	for i, a := range b.Answers {
		if a.Outcome == script.Refused {
			b.Answers[i].Outcome = script.Done // nobody had it there, which is an answer
		}
	}
	return done > 0, m.Lost(op, name, b, poll.ErrNoQuorum, cut, nil)
}
