package redlock

import (
	"context"
	"time"
)

// Inspection is what the masters say of a name.
type Inspection struct {
	Name    string
	Held    bool          // a majority of the masters name the same holder
	Holder  string        // that holder, "uuid:rN"
	Left    time.Duration // until a majority is free, if nothing is renewed; 0 when it is, or when too few answered
	Masters []MasterState // in the order of Config
}

// MasterState is what one master says of a name.
type MasterState struct {
	Master string        // host and port
	Holder string        // empty: free there
	Count  int           // hold count
	Left   time.Duration // until it is free there; the largest Duration when it never expires
	Token  int64         // fencing counter, 0 when the master has none
	Guard  time.Duration // above 0: the master restarted, and grants no hold for so long
	Err    error         // why it says nothing
}

// Inspect says who has name, without taking it.
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
	in.Masters = make([]MasterState, len(look.Views))
	for i, v := range look.Views {
		in.Masters[i] = MasterState(v)
	}
	return in, err
}

// ForceUnlock frees name on every master that answers, whoever has it, and reports whether somebody
// had it. The holder learns of it when it renews next; until then, both it and the next owner
// believe that they have the lock. It is a tool for operators. A key that holds anything but a lock
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
