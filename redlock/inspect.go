package redlock

import (
	"context"
	"time"

	"example.com/redlock/node/script"
)

// Inspection is what the masters say of a name.
type Inspection struct {
	Name    string
	Held    bool          // a majority of the masters name the same holder
	Holder  string        // that holder, "uuid:rN", or "shared": readers
	Left    time.Duration // until a majority is free, if nothing is renewed; 0 when it is, or when too few answered
	Readers []Reader      // those that a majority names; who has it the longest is the last
	Masters []MasterState // in the order of Config
}

// MasterState is what one master says of a name.
type MasterState struct {
	Master string        // host and port
	Holder string        // empty: free there; "shared": readers have it
	Count  int           // hold count; 0 of readers
	Left   time.Duration // until it is free there; the largest Duration when it never expires
	Token  int64         // fencing counter, 0 when the master has none
	Guard  time.Duration // above 0: the master restarted, and grants no hold for so long
	Err    error         // why it says nothing

	Readers []Reader // those who have it the longest, 32 at most
	Queue   []Waiter // who waits there, in their order, 32 at most
}

// Reader is one of the readers that a master knows of a name.
type Reader struct {
	Owner string
	Left  time.Duration // until its lease ends
}

// Waiter is one of those who wait for a name, or for a permit, in the queue of a master.
type Waiter struct {
	Owner   string
	Shared  bool // it wants to read
	Permits int  // of a semaphore: how many permits there are, as it counts them; 0 if it has not asked for long
}

// Inspect says who has name and who waits for it, without taking it.
//
// The error is a [*MajorityError] that matches ErrNoQuorum when fewer than a majority of
// the masters answered; the Inspection then has what the others said. It waits for all
// of them, up to Config.NodeTimeout.
//
// Cost: one round trip to the slowest master.
func (c *Client) Inspect(ctx context.Context, name string) (Inspection, error) {
	in := Inspection{Name: name}
	if err := checkName(name); err != nil {
		return in, err
	}
	look, err := c.masters.Inspect(ctx, name)
	in.Holder, in.Held, in.Left = look.Holder, look.Holder != "", look.Left
	in.Readers = readers(look.Readers)
	in.Masters = make([]MasterState, len(look.Views))
	for i, v := range look.Views {
		in.Masters[i] = MasterState{
			Master: v.Master, Holder: v.Holder, Count: v.Count, Left: v.Left, Token: v.Token, Guard: v.Guard, Err: v.Err,
			Readers: readers(v.Readers), Queue: waiters(v.Queue),
		}
	}
	return in, err
}

func readers(all []script.Reader) (list []Reader) {
	for _, r := range all {
		list = append(list, Reader(r))
	}
	return list
}

func waiters(queue []script.Waiter) (list []Waiter) {
	for _, w := range queue {
		list = append(list, Waiter{Owner: w.Owner, Shared: w.Mode == script.Shared, Permits: w.Permits})
	}
	return list
}

// ForceUnlock frees name on every master that answers, whoever has it, and reports whether somebody
// had it: a writer, or all readers. They learn of it when they renew next; until then, both they and
// the next owner believe that they have the lock. It is a tool for operators. A key that holds anything but a lock
// is left alone, and reported as that master's error.
//
// The error is a [*MajorityError] that matches ErrNoQuorum when fewer than a majority of
// the masters answered.
//
// Cost: one round trip to the slowest master.
func (c *Client) ForceUnlock(ctx context.Context, name string) (freed bool, err error) {
	if err := checkName(name); err != nil {
		return false, err
	}
	return c.masters.Force(ctx, name)
}
