package script

import "time"

// Owner is one try at a lock, and the hold that comes of it. What its commands have in common is
// made once.
type Owner struct {
	Key  string
	ID   string // "uuid:rN"
	args [5]any // the keys of acquire.lua and release.lua, and the owner
}

// NewOwner makes an owner. An id must be used once only, for one key.
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

// Acquire takes the lock if it is free, once.
//
// lease is sent in whole milliseconds, rounded down, and must be at least 1 ms; it never shortens
// what is left. proposal is the fencing token asked for.
//
// The answer is Done with the fencing counter, or Refused with the holder and the time left.
// After any other outcome the owner may have the lock, and must be released.
//
// Cost: one script call. Source: docs/algorithm.md, "Acquire".
func (o *Owner) Acquire(lease time.Duration, proposal int64) *Command {
	c := o.command(acquireScript)
	c.proposal, c.grants = proposal, true
	c.args = append(c.args, lease.Milliseconds(), proposal)
	return c
}

// AcquireOrRegister is Acquire for a waiter: if the lock is taken, the owner enters the queue, or
// stays there. A master that hands the lock to it says so with a [HandOff].
//
// Cost: one script call. Source: docs/algorithm.md, "Waiting".
func (o *Owner) AcquireOrRegister(lease time.Duration, entry QueueEntry) *Command {
	c := o.Acquire(lease, entry.Proposal)
	c.args = append(c.args, entry.text())
	return c
}

// Register enters the owner into the queue, or keeps it there, and leaves the lock alone even if
// it is free. Guarded masters do this as well.
//
// The answer is Refused, without a holder if nobody has the lock, or Done if the owner has it,
// because it was handed to it.
//
// Cost: one script call. Source: docs/algorithm.md, "Waiting".
func (o *Owner) Register(entry QueueEntry) *Command {
	c := o.command(acquireScript)
	c.args = append(c.args, 0, entry.Proposal, entry.text())
	return c
}

// tokenArg is where the arguments of release.lua have the token. Without it the lock is not
// handed off.
const tokenArg = 7

// Release takes the owner out of the queue and frees the lock, which is then handed to the first
// in the queue. token is the owner's fencing token, or the one it proposed; since is that of its
// queue entries, 0 if there were none.
//
// The answer is Done, or Refused if the owner does not have the lock. After any other outcome the
// node sends it again by itself until the master has answered. A guarded master does not hand
// the lock off.
//
// Cost: one script call. Source: docs/algorithm.md, "Release".
func (o *Owner) Release(token, since int64) *Command {
	c := o.command(releaseScript)
	c.repeats, c.healArg = true, tokenArg
	c.args = append(c.args, token, since)
	return c
}

// Yield is Release without a hand-off: the lock is left free.
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

// Force releases the lock at key, whoever has it, and keeps that owner from healing it. Whoever
// has it next gets a fencing token above token.
//
// The answer is Done if somebody had the lock, and Refused if nobody did. It is sent once only.
//
// Cost: one script call.
func Force(key string, token int64) *Command {
	c := NewOwner(key, "").Release(token, 0)
	c.repeats = false
	return c
}

// Raise raises the fencing counter of a lock that the owner has, for lease, to token.
//
// The answer is Done, or Refused: with the counter if it is not below token, and without if the
// owner does not have the lock. It is sent once only.
//
// Cost: one script call. Source: docs/algorithm.md, "Fencing token".
func (o *Owner) Raise(lease time.Duration, token int64) *Command {
	return &Command{script: raiseScript, key: o.Key, owner: o.ID, proposal: token, args: []any{
		raiseScript.sha, 2, o.args[0], o.args[1], o.args[4], token, lease.Milliseconds(),
	}}
}

// countArg is where the arguments of enter.lua have the hold count.
const countArg = 4

// Enter sets the hold count of a lock that the owner has, and extends its lease to lease from now
// if that is longer than what is left.
//
// The answer is Done, or Refused if the owner does not have the lock: with the holder and the
// time left if another one has it.
//
// Cost: one script call. Source: docs/algorithm.md, "Re-entry".
func (o *Owner) Enter(lease time.Duration, count int) *Command {
	return &Command{script: enterScript, key: o.Key, owner: o.ID, args: []any{
		enterScript.sha, 1, o.args[0], o.args[4], count, lease.Milliseconds(),
	}}
}

// Leave lowers the hold count of a lock that the owner has. After an outcome other than Done and
// Refused the node sends it again by itself until the master has answered.
//
// Cost: one script call. Source: docs/algorithm.md, "Re-entry".
func (o *Owner) Leave(count int) *Command {
	c := o.Enter(0, count)
	c.repeats = true
	return c
}
