package script

import (
	"strconv"
	"time"
)

// Mode is how an owner has a name.
type Mode uint8

const (
	// Exclusive owners have a lock alone.
	Exclusive Mode = iota
	// Shared owners have a lock together: readers.
	Shared
)

// Owner is one try at a lock, and the hold that comes of it.
type Owner struct {
	Key  string
	ID   string // "uuid:rN"
	Mode Mode
	name any // Key, and ID below, as commands have them: converted once
	id   any

	from  uint64 // what its rounds are counted from
	named bool   // an ask names it, or a release that enters it into the queue
}

// NewOwner makes an owner. An id must be used once only, for one key.
func NewOwner(key, id string) *Owner {
	return &Owner{Key: key, ID: id, name: key, id: id}
}

// NewReader makes an owner that shares the lock.
func NewReader(key, id string) *Owner {
	o := NewOwner(key, id)
	o.Mode = Shared
	return o
}

// CountFrom makes the owner's rounds begin with n + 1, and returns the owner. If n cannot be guessed, only those who may read
// the queue know the number of a round. So a [HandOff] that names it is a master's.
func (o *Owner) CountFrom(n uint64) *Owner {
	o.from = n
	return o
}

// AsReader returns o after a downgrade: a reader, whose renewals make the lock that it has a shared one.
func (o *Owner) AsReader() *Owner {
	r := *o
	r.Mode = Shared
	return &r
}

// Round returns which round of the owner h names, counted from 1. It may be none of them.
func (o *Owner) Round(h HandOff) uint64 { return h.Round - o.from }

// command begins a command. Its first argument is the owner.
func (o *Owner) command(v verb) *Command {
	c := &Command{verb: v, name: o.name, owner: o.ID}
	c.args = append(c.room[:0], o.id)
	return c
}

// ask begins a command by which the owner may come to have something: a hold, for lease, or an entry in the queue. One
// goroutine at a time makes them.
func (o *Owner) ask(v verb, lease any, proposal int64) *Command {
	c := o.command(v)
	c.first, o.named = !o.named, true
	c.proposal = proposal
	c.args = append(c.args, lease, proposal)
	return c
}

// queues appends the ask with which an owner enters the queue, see queue.lua.
func (c *Command) queues(o *Owner, entry QueueEntry) *Command {
	text := strconv.AppendUint(c.text[:0], o.from+entry.Round, 10)
	if entry.Polls {
		text = append(text, 'p')
	}
	text = strconv.AppendInt(append(text, ' '), entry.Lease.Milliseconds(), 10)
	text = strconv.AppendInt(append(text, ' '), entry.Proposal-entry.Since, 10)
	c.args = append(c.args, text)
	return c.as(o.Mode)
}

// as appends the mode that an owner has.
func (c *Command) as(mode Mode) *Command {
	if mode == Shared {
		c.args = append(c.args, SharedHolder)
	}
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
// Cost: one script call. Source: docs/how-it-works.md, "Acquire".
func (o *Owner) Acquire(lease time.Duration, proposal int64) *Command {
	c := o.ask(acquiring, lease.Milliseconds(), proposal)
	if o.Mode == Shared {
		c.args = append(c.args, nothing) // it does not wait
	}
	return c.as(o.Mode)
}

// AcquireOrRegister is Acquire for a waiter: if the lock is taken, the owner enters the queue, or
// stays there, and Refused tells its rank. A master that hands the lock to it says so with a
// [HandOff].
//
// Cost: one script call. Source: docs/how-it-works.md, "Waiting".
func (o *Owner) AcquireOrRegister(lease time.Duration, entry QueueEntry) *Command {
	return o.ask(asking, lease.Milliseconds(), entry.Proposal).queues(o, entry)
}

// Register enters the owner into the queue, or keeps it there, and leaves the lock alone even if
// it is free. Guarded masters do this as well.
//
// The answer is Refused with its rank, without a holder if nobody has the lock, or Done if the
// owner has it, because it was handed to it.
//
// Cost: one script call. Source: docs/how-it-works.md, "Waiting".
func (o *Owner) Register(entry QueueEntry) *Command {
	return o.ask(registering, nothing, entry.Proposal).queues(o, entry)
}

// nothing stands for an argument that is left out, such as the token of a release that does not
// hand the lock off.
var nothing any = ""

// Release takes the owner out of the queue and frees the lock, which is then handed to the first
// in the queue, or to the readers that are first. token is the owner's fencing token, or the one it
// proposed; since is that of its queue entries, 0 if there were none.
//
// The answer is Done, or Refused if the owner does not have the lock. After any other outcome the
// node sends it again by itself until the master has answered. A guarded master does not hand
// the lock off.
//
// Cost: one script call. Source: docs/how-it-works.md, "Release".
func (o *Owner) Release(token, since int64) *Command { return o.release(token, since != 0) }

// Yield is Release without a hand-off: the lock is left free.
func (o *Owner) Yield(since int64) *Command { return o.release(nothing, since != 0) }

func (o *Owner) release(token any, waited bool) *Command {
	c := o.command(releasing)
	c.args = append(c.args, token)
	if waited && o.Mode == Exclusive {
		c.args = append(c.args, hasWaited)
	}
	return c.as(o.Mode)
}

// hasWaited is in the release of a writer that may be in the queue.
var hasWaited any = "waited"

// Entering returns a release that also enters next into the queue, before the lock is handed to the first in it.
func (c *Command) Entering(next *Owner, entry QueueEntry) *Command {
	if len(c.args) == 2 {
		c.args = append(c.args, nothing) // it has not waited
	}
	c.next, next.named = next.ID, true
	c.args = append(c.args, next.id, entry.Proposal)
	return c.queues(next, entry)
}

// Force releases the lock at key, whoever has it, and keeps that owner from healing it. Whoever
// has it next gets a fencing token above token.
//
// The answer is Done if somebody had the lock, and Refused if nobody did. It is sent once only.
//
// Cost: one script call.
func Force(key string, token int64) *Command {
	return &Command{verb: forcing, name: key, args: []any{token}}
}

// Raise raises the fencing counter of a lock that the owner has, for lease, to token.
//
// The answer is Done, or Refused: with the counter if it is not below token, and without if the
// owner does not have the lock. It is sent once only.
//
// Cost: one script call. Source: docs/how-it-works.md, "Fencing token".
func (o *Owner) Raise(lease time.Duration, token int64) *Command {
	c := o.command(raising)
	c.proposal = token
	c.args = append(c.args, lease.Milliseconds(), token)
	return c.as(o.Mode)
}

// Enter sets the hold count of a lock that the owner has, and extends its lease to lease from now
// if that is longer than what is left.
//
// The answer is Done, or Refused if the owner does not have the lock: with the holder and the
// time left if another one has it.
//
// Cost: one script call. Source: docs/how-it-works.md, "Re-entry".
func (o *Owner) Enter(lease time.Duration, count int) *Command {
	return o.count(entering, lease, count)
}

func (o *Owner) count(v verb, lease time.Duration, count int) *Command {
	c := o.command(v)
	c.args = append(c.args, lease.Milliseconds(), count)
	return c.as(o.Mode)
}

// Leave lowers the hold count of a lock that the owner has. After an outcome other than Done and
// Refused the node sends it again by itself until the master has answered.
//
// Cost: one script call. Source: docs/how-it-works.md, "Re-entry".
func (o *Owner) Leave(count int) *Command { return o.count(leaving, 0, count) }
