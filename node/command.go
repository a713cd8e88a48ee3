package node

import (
	"slices"
	"time"
)

// Command is one script with its arguments. It does not change once it is made, so the
// same Command goes to every master.
type Command struct {
	script *script
	args   []any   // script hash, number of keys, keys, arguments
	room   [11]any // for args
	key    string
	owner  string
	next   string // owner that a ReleaseTo enters into the queue

	proposal int64     // fencing token, of an Acquire or a Raise
	holds    []Renewal // of a Renew

	// grants: does nothing but make a hold where there is none, so not on a guarded master.
	grants bool
	// asks is the argument that asks for a hold where there is none, beside other things: a
	// guarded master gets it empty. 0: there is no such argument.
	asks int
	// repeat: must be carried out, so it is sent again until it is answered.
	repeat bool
}

// Renewal names one hold of a Renew command.
type Renewal struct {
	*Owner
	Count int
	Token int64
}

// Renew extends all the holds to lease from now, where that is longer than what is left.
//
// It heals: a lock that nobody has is set again for its owner, except on a guarded master
// and after a Force. The answer is Done with one [Renewed] for each hold.
//
// Cost: one script call for all of them. Source: docs/algorithm.md, "Renew".
func Renew(lease time.Duration, holds []Renewal) *Command {
	args := make([]any, 0, 5+5*len(holds))
	args = append(args, renewScript.sha, 2*len(holds))
	for _, h := range holds {
		args = append(args, h.args[0], h.args[1])
	}
	args = append(args, lease.Milliseconds(), true, fenceTTL(lease).Milliseconds())
	heal := len(args) - 2
	for _, h := range holds {
		args = append(args, h.args[4], h.Count, h.Token)
	}
	return &Command{script: renewScript, args: args, holds: holds, asks: heal}
}

// Inspect asks who has the lock at key. The answer is Done, with an empty holder when
// nobody does.
//
// Cost: one script call.
func Inspect(key string) *Command {
	return &Command{script: inspectScript, args: []any{inspectScript.sha, 2, key, fenceKey(key)}, key: key}
}

// read returns the meaning of a reply.
func (c *Command) read(reply any) (Answer, error) {
	a, err := c.script.decode(reply)
	if a.Outcome == Done && a.Token == 0 {
		a.Token = c.proposal // which is 0 for other commands
	}
	return a, err
}

// without returns what is left of c once those owners are taken away whose release came
// first: nil if nothing is. A release itself may come twice, and each is to say what it found.
func (c *Command) without(released func(owner string) bool) *Command {
	switch {
	case c.script == releaseScript:
		if c.next != "" && released(c.next) {
			d := c.debt()
			return d.command()
		}
	case len(c.holds) > 0:
		left := slices.DeleteFunc(slices.Clone(c.holds), func(h Renewal) bool { return released(h.ID) })
		switch len(left) {
		case 0:
			return nil
		case len(c.holds):
		default:
			return Renew(c.lease(), left)
		}
	case c.owner != "" && released(c.owner):
		return nil
	}
	return c
}

// lease returns the lease of a Renew.
func (c *Command) lease() time.Duration {
	return time.Duration(c.args[c.asks-1].(int64)) * time.Millisecond
}

// ping keeps an eye on a connection that carries nothing else. A master that can write
// nothing to its disk says so to a PING, and not to a TIME.
var ping = &Command{}

// askRole asks whether the master is one still, and was one all the time.
var askRole = &Command{}

// AskTime asks a master for its time, which [Node.Time] tells from then on. The answer is
// Done, also where the master refuses to tell.
//
// Cost: one round trip.
var AskTime = &Command{}
