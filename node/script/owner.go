package script

import "time"

// Owner is somebody who takes a lock and gives it back. What its commands have in common
// is made once.
type Owner struct {
	Key  string
	ID   string // "uuid:rN"
	args [5]any // the keys of acquire.lua and release.lua, and the owner
}

// NewOwner makes an owner. An id is used once, for one key.
func NewOwner(key, id string) *Owner {
	k := keysOf(key)
	return &Owner{Key: key, ID: id, args: [...]any{key, k.fence, k.queue, k.turn, id}}
}

// command begins a command for s, whose first arguments are those of o.
func (o *Owner) command(s *script) *Command {
	c := &Command{script: s, key: o.Key, owner: o.ID}
	c.args = append(append(c.room[:0], s.sha, 4), o.args[:]...)
	return c
}

// Acquire takes the lock, once.
//
// lease is sent in whole milliseconds, rounded down, and must be at least 1 ms; it
// never shortens what is left. proposal is the fencing token asked for.
//
// The answer is Done with the fencing counter, or Refused with holder and time left. After
// any other outcome the owner may have the lock, and must be released.
//
// Cost: one script call. Source: docs/algorithm.md, "Acquire".
func (o *Owner) Acquire(lease time.Duration, proposal int64) *Command {
	c := o.command(acquireScript)
	c.proposal, c.grants = proposal, true
	c.args = append(c.args, lease.Milliseconds(), proposal)
	return c
}

// AcquireOrRegister is Acquire for a waiter: where the lock is taken it enters the queue, or stays
// there. A master that hands the lock over says so with a [HandOff].
//
// Cost: one script call. Source: docs/algorithm.md, "Waiting".
func (o *Owner) AcquireOrRegister(lease time.Duration, entry QueueEntry) *Command {
	c := o.Acquire(lease, entry.Proposal)
	c.args = append(c.args, entry.text())
	return c
}

// Register enters the queue, or stays there, and leaves the lock alone, also where it is
// free. Guarded masters do this as well.
//
// The answer is Refused, without a holder where nobody has the lock, or Done where the owner
// has it: it was passed on.
//
// Cost: one script call. Source: docs/algorithm.md, "Waiting".
func (o *Owner) Register(entry QueueEntry) *Command {
	c := o.command(acquireScript)
	c.args = append(c.args, 0, entry.Proposal, entry.text())
	return c
}

// tokenArg is where the arguments of release.lua have the token, which says that the lock
// may be passed on.
const tokenArg = 7

// Release takes the owner out of the queue and frees the lock, which then passes to the
// first in the queue. token is the owner's fencing token, or the one it proposed; since
// is that of its entries in the queue, 0 if there were none.
//
// The answer is Done, or Refused when the owner does not have the lock. After any other
// outcome the node goes on by itself until the master has answered. On a guarded master
// the lock is not passed on.
//
// Cost: one script call. Source: docs/algorithm.md, "Release".
func (o *Owner) Release(token, since int64) *Command {
	c := o.command(releaseScript)
	c.repeats, c.asks = true, tokenArg
	c.args = append(c.args, token, since)
	return c
}

// Yield is Release, but passes the lock to nobody: it is left free.
func (o *Owner) Yield(since int64) *Command {
	c := o.Release(0, since)
	c.args[tokenArg] = ""
	return c
}

// ReleaseTo is Release, and enters next into the queue.
func (o *Owner) ReleaseTo(token, since int64, next *Owner, entry QueueEntry) *Command {
	c := o.Release(token, since)
	c.next = next.ID
	c.args = append(c.args, next.args[4], entry.text())
	return c
}

// Force frees the lock at key, whoever has it, as Release does, and keeps that owner from
// healing it. token is below that of who has it next. The answer is Done when somebody had it and Refused when nobody did. It is
// sent once.
//
// Cost: one script call.
func Force(key string, token int64) *Command {
	c := NewOwner(key, "").Release(token, 0)
	c.repeats = false
	return c
}

// Raise raises the fencing counter of the lock that the owner has, for lease, to token.
//
// The answer is Done, or Refused: with the counter where that is not below token, and
// without where the owner does not have the lock. It is sent once.
//
// Cost: one script call. Source: docs/algorithm.md, "Fencing token".
func (o *Owner) Raise(lease time.Duration, token int64) *Command {
	return &Command{script: raiseScript, key: o.Key, owner: o.ID, proposal: token, args: []any{
		raiseScript.sha, 2, o.args[0], o.args[1], o.args[4], token, lease.Milliseconds(),
	}}
}

// countArg is where the arguments of enter.lua have the hold count.
const countArg = 4

// Enter sets the hold count of the lock that the owner has, and extends it to lease from
// now where that is longer than what is left.
//
// The answer is Done, or Refused when the owner does not have the lock: with holder and
// time left if another one has.
//
// Cost: one script call. Source: docs/algorithm.md, "Re-entry".
func (o *Owner) Enter(lease time.Duration, count int) *Command {
	return &Command{script: enterScript, key: o.Key, owner: o.ID, args: []any{
		enterScript.sha, 1, o.args[0], o.args[4], count, lease.Milliseconds(),
	}}
}

// Leave sets the hold count of the lock that the owner has to less than it was. After an
// outcome other than Done and Refused the node goes on by itself until the master has
// answered.
//
// Cost: one script call. Source: docs/algorithm.md, "Re-entry".
func (o *Owner) Leave(count int) *Command {
	c := o.Enter(0, count)
	c.repeats = true
	return c
}
