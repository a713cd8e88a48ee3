package redlockadmin

import (
	"context"
	"time"

	"example.com/redlock/multilock"
	"example.com/redlock/multilock/inspect"
	"example.com/redlock/node/script"
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
	Token     int64         // fencing counter, 0 when the master has none
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
		look, err := inspect.Lock(ctx, m.Clients, name)
		who := clientsOf(ctx, m, look)
		if !in.Held {
			in.Held, in.Holder, in.Client, in.HeldFor = look.Holder != "", look.Holder, who[look.Holder], look.For
		}
		in.Remaining = max(in.Remaining, look.Left)
		in.Readers = append(in.Readers, readers(look.Readers, who)...)
		for _, v := range look.Views {
			in.Masters = append(in.Masters, MasterState{
				Master: v.Master, Holder: v.Holder, Count: v.Count, Remaining: v.Left, Token: v.Token, Guard: v.Guard, Err: v.Err,
				Readers: readers(v.Readers, who), Queue: waiters(v.Queue, who),
			})
		}
		return err
	})
	return in, err
}

// clientsOf returns the clients of all owners in look, by owner.
func clientsOf(ctx context.Context, m *multilock.Masters, look inspect.Inspection) map[string]*redlock.ClientInfo {
	owners := []string{look.Holder}
	for _, v := range look.Views {
		for _, r := range v.Readers {
			owners = append(owners, r.Owner)
		}
		for _, s := range v.Slots {
			owners = append(owners, s.Owner)
		}
		for _, w := range v.Queue {
			owners = append(owners, w.Entry.Owner)
		}
	}
	who := make(map[string]*redlock.ClientInfo)
	for owner, client := range m.Clients.Find(ctx, owners) {
		who[owner] = info(client)
	}
	return who
}

func readers(all []script.Reader, who map[string]*redlock.ClientInfo) (list []Reader) {
	for _, r := range all {
		list = append(list, Reader{Owner: r.Owner, Client: who[r.Owner], Remaining: r.Left})
	}
	return list
}

func waiters(queue []inspect.Waiter, who map[string]*redlock.ClientInfo) (list []Waiter) {
	for _, w := range queue {
		list = append(list, Waiter{Owner: w.Entry.Owner, Client: who[w.Entry.Owner], Shared: w.Entry.Mode == script.Shared, Slot: w.Slot})
	}
	return list
}

// ForceUnlock frees name on every master that answers, whoever has it, and reports whether somebody
// had it: a writer, or all readers. These learn of it at their next renewal, or, with a fixed lease, when they unlock
// or that ends; until then, both they and the next owner believe that they have the lock. A key that holds anything but a lock is left alone, and that
// master counts among those that did not answer. A name that moves between sets of masters is freed in both sets.
//
// Cost: one round trip to the slowest master.
func (a *Admin) ForceUnlock(ctx context.Context, name string) (freed bool, err error) {
	err = a.client.At(name, func(m *multilock.Masters) error {
		one, err := inspect.Force(ctx, m.All, name)
		freed = freed || one
		return err
	})
	return freed, err
}
