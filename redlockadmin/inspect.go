package redlockadmin

import (
	"cmp"
	"context"
	"slices"
	"time"

	"example.com/redlock/multilock"
	"example.com/redlock/multilock/clients"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
	"example.com/redlock/quorum"
	"example.com/redlock/redlock"
)

// Inspection is what the masters say of a name.
type Inspection struct {
	Name      string
	Held      bool                // a majority of the masters name the same holder
	Holder    string              // that holder, "uuid:rN", or "shared": readers; "uuid:kN" may only keep it, see redlock.Config.Keep
	Client    *redlock.ClientInfo // of that holder; nil if it has no record
	Remaining time.Duration       // until a majority is free, if nothing is renewed; 0 when it is, or when too few answered
	HeldFor   time.Duration       // how long the holder has had it; 0 if that is not known, as of readers
	Readers   []Reader            // those that a majority names, by the time left
	Masters   []MasterState       // in the order of Config
}

// MasterState is what one master says of a name.
type MasterState struct {
	Master    string        // host and port
	Holder    string        // empty if it is free there; "shared" if readers have it
	Count     int           // hold count; 0 for readers
	Remaining time.Duration // until it is free there; the largest Duration if it never expires
	Token     int64         // fencing counter, 0 when the master has none; ahead of the token of a holder "uuid:kN"
	Guard     time.Duration // above 0: the master restarted, and grants no hold for this long, by the longest guard of those who lock
	Err       error         // why there is no answer

	Readers []Reader // at most 32, those with the most time left
	Queue   []Waiter // at most 32, in order
}

// Reader is a reader of a name, as a master reports it.
type Reader struct {
	Owner     string
	Client    *redlock.ClientInfo // whose owner it is; nil if it has no record
	Remaining time.Duration       // until its lease ends
}

// Waiter is a waiter as a master knows it, by its owner: in the queue for a name, or for a slot of a semaphore.
type Waiter struct {
	Owner  string
	Client *redlock.ClientInfo // whose owner it is; nil if it has no record
	Shared bool                // it waits to read
	Slot   int                 // of a semaphore: for which slot it waits. A caller may wait for a few, as an owner of each
}

// Inspect says who has name and who waits for it, without taking it. If too few masters answered, the Inspection has
// the answers that came. It waits for all of them, up to redlock.Config.NodeTimeout.
//
// A name that moves between sets of masters is looked up in both sets: it is held if it is in one of them, and the
// readers and the masters are those of both, one set after the other. A reader of both sets is there twice, with an
// owner in each.
//
// Cost: one round trip to the slowest master, and one more where a client is met for the first time, as well as at a
// client's first Inspect.
func (a *Admin) Inspect(ctx context.Context, name string) (Inspection, error) {
	in := Inspection{Name: name}
	err := a.client.At(name, func(m *multilock.Masters) error {
		one, err := look(ctx, m.Clients, name, name)
		var who owners
		who.add(one.Holder, &one.Client)
		who.addReaders(one.Readers)
		for _, s := range one.Masters {
			who.addReaders(s.Readers)
			who.addWaiters(s.Queue)
		}
		who.find(ctx, m.Clients)
		if !in.Held {
			in.Held, in.Holder, in.Client, in.HeldFor = one.Held, one.Holder, one.Client, one.HeldFor
		}
		in.Remaining = max(in.Remaining, one.Remaining)
		in.Readers, in.Masters = append(in.Readers, one.Readers...), append(in.Masters, one.Masters...)
		return err
	})
	return in, err
}

func (o *owners) addReaders(all []Reader) {
	for i := range all {
		o.add(all[i].Owner, &all[i].Client)
	}
}

func (o *owners) addWaiters(all []Waiter) {
	for i := range all {
		o.add(all[i].Owner, &all[i].Client)
	}
}

// look says who has the lock at key, which is that of name or of a slot of it, by one set of masters. It looks up no clients.
func look(ctx context.Context, d *clients.Directory, name, key string) (in Inspection, err error) {
	if in.Masters, _, err = ask(ctx, d, name, script.Inspect(key)); err != nil {
		return in, err
	}
	n := len(in.Masters)
	var holders []string
	var left []time.Duration
	reads := make(map[string][]time.Duration) // by reader, for how long
	for _, s := range in.Masters {
		if s.Err == nil {
			holders, left = append(holders, s.Holder), append(left, s.Remaining)
		}
		for _, r := range s.Readers {
			reads[r.Owner] = append(reads[r.Owner], r.Remaining)
		}
	}
	in.Holder, _ = quorum.Holder(n, holders)
	in.Held = in.Holder != ""
	in.Remaining, _ = quorum.FreeAfter(n, left)
	if clients.Of(in.Holder) != "" { // a lock of Redisson's leaves the counter as it is
		var tokens []int64
		for _, s := range in.Masters {
			if s.Holder == in.Holder {
				tokens = append(tokens, s.Token)
			}
		}
		in.HeldFor = d.HeldFor(clients.Granted(tokens))
	}
	for owner, left := range reads {
		if need := quorum.Majority(n); len(left) >= need {
			slices.Sort(left)
			in.Readers = append(in.Readers, Reader{Owner: owner, Remaining: left[len(left)-need]})
		}
	}
	slices.SortFunc(in.Readers, func(a, b Reader) int {
		return cmp.Or(cmp.Compare(a.Remaining, b.Remaining), cmp.Compare(a.Owner, b.Owner))
	})
	return in, nil
}

// ask sends cmd, which is about name, and returns what each master says.
func ask(ctx context.Context, d *clients.Directory, name string, cmd *script.Command) ([]MasterState, *poll.Ballot, error) {
	if !d.All.Begin() {
		return nil, nil, poll.ErrClosed
	}
	defer d.All.End()
	b, cut := d.All.Ask(cmd, nil).Wait(ctx)
	all := make([]MasterState, d.All.Len())
	answered, guard := 0, d.Guard(ctx)
	for i, n := range d.All.Nodes {
		a, s := b.Answers[i], &all[i]
		*s = MasterState{
			Master: n.Name(),
			Holder: a.Holder, Count: a.Count, Remaining: a.Left, Token: a.Token,
			Guard: n.GuardOf(guard),
		}
		if a.Crowd != nil {
			for _, r := range a.Crowd.Readers {
				s.Readers = append(s.Readers, Reader{Owner: r.Owner, Remaining: r.Left})
			}
			for _, w := range a.Crowd.Waiters {
				s.Queue = append(s.Queue, Waiter{Owner: w.Owner, Shared: w.Mode == script.Shared})
			}
		}
		switch {
		case !b.In.Has(i):
			s.Err = &server.Error{Node: n.Name(), Err: poll.ErrPending}
		case a.Outcome != script.Done:
			s.Err = n.Error(a.Why())
		default:
			answered++
		}
	}
	if !d.All.Majority(answered) {
		return all, b, d.All.Lost("inspect", name, b, poll.ErrNoQuorum, cut, nil)
	}
	return all, b, nil
}

// ForceUnlock frees name on every master that answers, whoever has it, and reports whether somebody
// had it: a writer, or all readers. These learn of it at their next renewal, or, with a fixed lease, when they unlock
// or that ends; until then, both they and the next owner believe that they have the lock. A key that holds anything but a lock is left alone, and that
// master counts among those that did not answer. A name that moves between sets of masters is freed in both sets.
//
// Cost: one round trip to the slowest master.
func (a *Admin) ForceUnlock(ctx context.Context, name string) (freed bool, err error) {
	err = a.client.At(name, func(m *multilock.Masters) error {
		one, err := force(ctx, m.All, "force unlock", name, name)
		freed = freed || one
		return err
	})
	return freed, err
}

// force frees the lock at key, which is that of name or of a slot of it. It is not repeated: a repeat might take the
// lock from the next owner.
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
