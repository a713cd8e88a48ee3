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
	room   [17]any // for args
	key    string
	owner  string
	next   string // owner that a ReleaseTo enters into the queue

	proposal int64     // fencing token, of an Acquire
	holds    []Renewal // of a Renew

	// grants: may make a hold where there is none, so not on a guarded master.
	grants bool
	// passes: may pass the lock on, but not on a guarded master; see passArg.
	passes bool
	// repeat: must be carried out, so it is sent again until it is answered.
	repeat bool
}

// Acquire takes the lock at key for owner, or enters it again with a hold count above 1.
//
// lease is sent in whole milliseconds, rounded down, and must be at least 1 ms; it
// never shortens what is left. proposal is the fencing token asked for.
//
// The answer is Done with the fencing counter, Refused with holder and time left, or
// Refused without a holder when a count above 1 met a free lock. After any other
// outcome owner may have the lock, and must be released.
//
// Cost: one script call. Source: docs/algorithm.md, "Acquire".
func Acquire(key, owner string, lease time.Duration, count int, proposal int64) *Command {
	c := &Command{script: acquireScript, key: key, owner: owner, proposal: proposal, grants: true}
	k := keysOf(key)
	c.args = append(c.room[:0], acquireScript.sha, 4, key, k.fence, k.queue, k.turn,
		owner, lease.Milliseconds(), count, proposal, fenceTTL(lease).Milliseconds())
	return c
}

// Ask is what a waiter says of itself when it enters the queue of a lock.
type Ask struct {
	Owner  string
	Number uint64        // of this ask, from 1: a pass names the one that it answers
	Since  int64         // when the caller began to wait, by its wall clock in µs; the same in each ask
	Lease  time.Duration // for which the lock may be passed to it; whole milliseconds
}

// Queue is Acquire with a hold count of 1, for a waiter: where the lock is taken it enters
// the queue, or stays there. A master that passes the lock says so with a [Pass].
//
// Cost: one script call. Source: docs/algorithm.md, "Waiting".
func Queue(key string, lease time.Duration, proposal int64, ask Ask) *Command {
	c := Acquire(key, ask.Owner, lease, 1, proposal)
	c.args = append(c.args, int64(ask.Number), ask.Since, ask.Lease.Milliseconds())
	return c
}

// releaseTTL is the time to live of a fencing counter that a release raises.
var releaseTTL any = fenceTTL(0).Milliseconds()

// passArg is where the arguments of release.lua say whether the lock may be passed on.
const passArg = 11

// Release sets owner's hold count at key to keep, and when that is 0 takes it out of the
// queue and frees the lock, which then passes to the first in the queue. token is
// owner's fencing token, or the one it proposed; since is that of its asks, 0 if there
// were none.
//
// The answer is Done, or Refused when owner does not have the lock. After any other
// outcome the node goes on by itself until the master has answered. On a guarded master
// the lock is not passed on.
//
// Cost: one script call. Source: docs/algorithm.md, "Release".
func Release(key, owner string, keep int, token, since int64) *Command {
	c := &Command{script: releaseScript, key: key, owner: owner, repeat: true, passes: true}
	k := keysOf(key)
	c.args = append(c.room[:0], releaseScript.sha, 4, key, k.fence, k.queue, k.turn,
		owner, keep, k.channel, token, releaseTTL, true, since)
	return c
}

// ReleaseTo is Release of all that owner holds, and enters next into the queue.
func ReleaseTo(key, owner string, token, since int64, next Ask) *Command {
	c := Release(key, owner, 0, token, since)
	c.next = next.Owner
	c.args = append(c.args, next.Owner, int64(next.Number), next.Since, next.Lease.Milliseconds())
	return c
}

// Renewal names one hold of a Renew command.
type Renewal struct {
	Key, Owner string
	Count      int
	Token      int64
}

// Renew extends all the holds to lease from now, where that is longer than what is left.
//
// With heal, a lock that nobody has is set again for its owner. The answer is Done with
// one [Renewed] for each hold.
//
// Cost: one script call for all of them. Source: docs/algorithm.md, "Renew".
func Renew(lease time.Duration, heal bool, holds []Renewal) *Command {
	args := make([]any, 0, 5+5*len(holds))
	args = append(args, renewScript.sha, 2*len(holds))
	for _, h := range holds {
		args = append(args, h.Key, fenceKey(h.Key))
	}
	args = append(args, lease.Milliseconds(), heal, fenceTTL(lease).Milliseconds())
	for _, h := range holds {
		args = append(args, h.Owner, h.Count, h.Token)
	}
	return &Command{script: renewScript, args: args, holds: holds}
}

// Force frees the lock at key, whoever has it, as Release does. token is below that of who
// has it next. The answer is Done when somebody had it and Refused when nobody did. It is
// sent once.
//
// Cost: one script call.
func Force(key string, token int64) *Command {
	c := Release(key, "", 0, token, 0)
	c.repeat = false
	return c
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
		a.Token = c.proposal
	}
	return a, err
}

// alone returns c, a ReleaseTo, without the next owner.
func (c *Command) alone() *Command {
	return &Command{script: c.script, args: c.args[:len(c.args)-4], key: c.key, owner: c.owner, repeat: c.repeat, passes: c.passes}
}

// undoneBy reports whether later takes back what c may do.
func (c *Command) undoneBy(later *Command) bool {
	if !later.repeat {
		return false
	}
	if c.holds == nil {
		return c.owner == later.owner
	}
	return slices.ContainsFunc(c.holds, func(h Renewal) bool { return h.Owner == later.owner })
}

// ping keeps an eye on a connection that carries nothing else.
var ping = &Command{}
