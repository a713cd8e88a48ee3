package redlock

import (
	"context"
	"time"

	"example.com/redlock/multilock/inspect"
	"example.com/redlock/node/script"
)

// Inspection is what the masters say of a name.
type Inspection struct {
	Name    string
	Held    bool          // a majority of the masters name the same holder
	Holder  string        // that holder, "uuid:rN", or "shared": readers; "uuid:kN" may only keep it, see Config.Keep
	Client  *ClientInfo   // of that holder; nil if it has no record
	Left    time.Duration // until a majority is free, if nothing is renewed; 0 when it is, or when too few answered
	For     time.Duration // how long the holder has had it; 0 if that is not known, as of readers
	Readers []Reader      // those that a majority names, by the time left
	Masters []MasterState // in the order of Config
}

// MasterState is what one master says of a name.
type MasterState struct {
	Master string        // host and port
	Holder string        // empty if it is free there; "shared" if readers have it
	Count  int           // hold count; 0 for readers
	Left   time.Duration // until it is free there; the largest Duration if it never expires
	Token  int64         // fencing counter, 0 when the master has none
	Guard  time.Duration // above 0: the master restarted, and grants no hold for this long
	Err    error         // why there is no answer

	Readers []Reader // at most 32, those with the most time left
	Queue   []Waiter // at most 32, in order
}

// Reader is a reader of a name, as a master reports it.
type Reader struct {
	Owner  string
	Client *ClientInfo   // whose owner it is; nil if it has no record
	Left   time.Duration // until its lease ends
}

// Waiter is one entry in a master's queue for a name, or for a slot of a semaphore.
type Waiter struct {
	Owner  string
	Client *ClientInfo // whose owner it is; nil if it has no record
	Shared bool        // it waits to read
	Slot   int         // of a semaphore: for which slot it waits. A caller may wait for a few, as an owner of each
}

// Inspect says who has name and who waits for it, without taking it.
//
// The error is a [*MajorityError] that matches ErrNoQuorum when fewer than a majority of
// the masters answered; the Inspection then has what the others said. It waits for all
// of them, up to Config.NodeTimeout.
//
// Cost: one round trip to the slowest master, and about one more where a client is met for the first
// time.
func (c *Client) Inspect(ctx context.Context, name string) (Inspection, error) {
	in := Inspection{Name: name}
	if err := checkName(name); err != nil {
		return in, err
	}
	look, err := inspect.Lock(ctx, c.masters.Directory, name)
	who := c.clientsOf(ctx, look)
	in.Holder, in.Held, in.Left, in.For = look.Holder, look.Holder != "", look.Left, look.For
	in.Client = who[look.Holder]
	in.Readers = readers(look.Readers, who)
	in.Masters = make([]MasterState, len(look.Views))
	for i, v := range look.Views {
		in.Masters[i] = MasterState{
			Master: v.Master, Holder: v.Holder, Count: v.Count, Left: v.Left, Token: v.Token, Guard: v.Guard, Err: v.Err,
			Readers: readers(v.Readers, who), Queue: waiters(v.Queue, who),
		}
	}
	return in, err
}

// clientsOf returns the clients of all owners in look, by owner.
func (c *Client) clientsOf(ctx context.Context, look inspect.Inspection) map[string]*ClientInfo {
	owners := []string{look.Holder}
	for _, v := range look.Views {
		for _, r := range v.Readers {
			owners = append(owners, r.Owner)
		}
		for _, s := range v.Slots {
			owners = append(owners, s.Owner)
		}
		for _, w := range v.Queue {
			owners = append(owners, w.Owner)
		}
	}
	return c.masters.Find(ctx, owners)
}

func readers(all []script.Reader, who map[string]*ClientInfo) (list []Reader) {
	for _, r := range all {
		list = append(list, Reader{Owner: r.Owner, Client: who[r.Owner], Left: r.Left})
	}
	return list
}

func waiters(queue []inspect.Waiter, who map[string]*ClientInfo) (list []Waiter) {
	for _, w := range queue {
		list = append(list, Waiter{Owner: w.Owner, Client: who[w.Owner], Shared: w.Mode == script.Shared, Slot: w.Slot})
	}
	return list
}

// ForceUnlock frees name on every master that answers, whoever has it, and reports whether somebody
// had it: a writer, or all readers. They learn of it at their next renewal; until then, both they
// and the next owner believe that they have the lock. It is a tool for operators. A key that holds
// anything but a lock is left alone, and reported as that master's error.
//
// The error is a [*MajorityError] that matches ErrNoQuorum when fewer than a majority of
// the masters answered.
//
// Cost: one round trip to the slowest master.
func (c *Client) ForceUnlock(ctx context.Context, name string) (freed bool, err error) {
	if err := checkName(name); err != nil {
		return false, err
	}
	return inspect.Force(ctx, c.masters.Masters, name)
}
