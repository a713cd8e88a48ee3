// Package inspect asks the masters what they have of a lock or a semaphore, lists all that are held, and frees
// them by force: what operators look at and do. It serves package redlock: its API is not stable.
package inspect

import (
	"cmp"
	"context"
	"maps"
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
	Slots   []script.Slot // of a semaphore
	Queue   []script.Waiter
	Guard   time.Duration // how long it grants no holds yet
	Err     error         // why it says nothing
}

// Inspection is what the masters say of a lock or a semaphore.
type Inspection struct {
	Views  []View        // of each master, in their order
	Holder string        // whom a majority names, empty if none
	Left   time.Duration // until a majority is free, zero when it is or too few answered
	For    time.Duration // how long the holder has had it, by its fencing token; zero if that is not known

	Readers []script.Reader // those that a majority names
	Slots   []script.Slot   // of a semaphore: those that a majority gives to the same owner
}

// Lock asks each master who has the lock at key, and waits for all of them, for
// about the node timeout at most. The error is a [*poll.MajorityError] when fewer than a
// majority answered; the Inspection has what the others said.
//
// Cost: one script call on each master.
func Lock(ctx context.Context, d *clients.Directory, key string) (Inspection, error) {
	in, err := inspect(ctx, d, key, script.Inspect(key))
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
	in.Holder, _ = quorum.Holder(len(d.Nodes), holders)
	in.Left, _ = quorum.FreeAfter(len(d.Nodes), left)
	in.For = d.HeldFor(in.granted())
	readers := func(v View) []script.Reader { return v.Readers }
	for owner, by := range agreed(d.Masters, in, readers, func(r script.Reader) string { return r.Owner }) {
		left := longest(d.Masters, by, func(r script.Reader) time.Duration { return r.Left })
		in.Readers = append(in.Readers, script.Reader{Owner: owner, Left: left})
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

// agreed returns what a majority of the masters says each of, by what it is about.
func agreed[K comparable, S any](m *poll.Masters, in Inspection, of func(View) []S, about func(S) K) map[K][]S {
	said := make(map[K][]S)
	for _, v := range in.Views {
		for _, s := range of(v) {
			said[about(s)] = append(said[about(s)], s)
		}
	}
	maps.DeleteFunc(said, func(_ K, by []S) bool { return !m.Majority(len(by)) })
	return said
}

// longest returns how long a majority of the masters, at least, goes on saying what those in by say.
func longest[S any](m *poll.Masters, by []S, left func(S) time.Duration) time.Duration {
	slices.SortFunc(by, func(a, b S) int { return cmp.Compare(left(b), left(a)) })
	return left(by[quorum.Majority(len(m.Nodes))-1])
}

// Permits is Lock for the semaphore at key.
//
// Cost: one script call on each master.
func Permits(ctx context.Context, d *clients.Directory, key string) (Inspection, error) {
	in, err := inspect(ctx, d, key, script.InspectPermits(key))
	if err != nil {
		return in, err
	}
	type place struct {
		slot  int
		owner string
	}
	slots := func(v View) []script.Slot { return v.Slots }
	for _, by := range agreed(d.Masters, in, slots, func(s script.Slot) place { return place{s.Slot, s.Owner} }) {
		slot := slices.MaxFunc(by, func(a, b script.Slot) int { return cmp.Compare(a.Token, b.Token) })
		slot.Left = longest(d.Masters, by, func(s script.Slot) time.Duration { return s.Left })
		in.Slots = append(in.Slots, slot)
	}
	slices.SortFunc(in.Slots, func(a, b script.Slot) int { return cmp.Compare(a.Slot, b.Slot) })
	return in, nil
}

// inspect sends cmd, and returns what each master says.
func inspect(ctx context.Context, d *clients.Directory, key string, cmd *script.Command) (Inspection, error) {
	if !d.Begin() {
		return Inspection{}, poll.ErrClosed
	}
	defer d.End()
	b, cut := d.Ask(cmd, nil).Wait(ctx)
	in := Inspection{Views: make([]View, len(d.Nodes))}
	answered := 0
	for i, n := range d.Nodes {
		a := b.Answers[i]
		v := View{
			Master: n.Name(),
			Holder: a.Holder, Count: a.Count, Left: a.Left, Token: a.Token,
			Guard: n.Guard(),
		}
		if a.Crowd != nil {
			v.Readers, v.Queue = a.Crowd.Readers, a.Crowd.Waiters
		}
		if a.Permits != nil {
			v.Slots, v.Queue = a.Permits.Slots, a.Permits.Waiters
		}
		switch {
		case !b.In.Has(i):
			v.Err = &node.Error{Node: n.Name(), Err: poll.ErrPending}
		case a.Outcome != script.Done:
			v.Err = n.Explain(a)
		default:
			answered++
		}
		in.Views[i] = v
	}
	if !d.Majority(answered) {
		return in, d.Lost("inspect", key, b, poll.ErrNoQuorum, cut, nil)
	}
	return in, nil
}

// Force frees the lock at key on every master that answers, whoever has it, and reports whether
// somebody had it. The error is a [*poll.MajorityError] when fewer than a majority answered. It is not
// repeated: a repeat might take the lock from the next owner.
//
// Cost: one script call on each master.
func Force(ctx context.Context, m *poll.Masters, key string) (freed bool, err error) {
	return force(ctx, m, "force unlock", key, script.Force)
}

// ForcePermits is Force for a slot of the semaphore at key, or for all if that is below 0.
//
// Cost: one script call on each master.
func ForcePermits(ctx context.Context, m *poll.Masters, key string, slot int) (freed bool, err error) {
	return force(ctx, m, "force release", key, func(key string, token int64) *script.Command {
		if slot < 0 {
			return script.ForcePermits(key, token)
		}
		return script.ForceSlot(key, slot, token)
	})
}

func force(ctx context.Context, m *poll.Masters, op, key string, command func(string, int64) *script.Command) (freed bool, err error) {
	if !m.Begin() {
		return false, poll.ErrClosed
	}
	defer m.End()
	token := int64(0)
	m.Greet(ctx)
	if m.KnowsTime() {
		token = m.Now().UnixMicro()
	}
	b, cut := m.Ask(command(key, token), nil).Wait(ctx)
	done, refused, _ := b.Tally()
	if m.Majority(done + refused) {
		return done > 0, nil
	}
	for i, a := range b.Answers {
		if a.Outcome == script.Refused {
			b.Answers[i].Outcome = script.Done // nobody had it there, which is an answer
		}
	}
	return done > 0, m.Lost(op, key, b, poll.ErrNoQuorum, cut, nil)
}
