package main

import (
	"slices"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/node/script/twin"
)

// How much a World has room for.
const (
	maxMasters  = 5
	maxCallers  = 4
	maxMessages = 96
	maxEntries  = 3 // of one hold
)

// tick is the time between two moments at which anything happens. It makes the margin for drift of the leases that are
// searched about one tick, while the arithmetic of the protocol is the real one.
const tick = 2 * time.Millisecond

// begin is the moment, in ticks, that each state has when it is made from its key: a key has only what is left until an
// instant.
const begin = 1000

// World is a state: callers, masters, and the messages that are under way between them.
type World struct {
	Now    int64 // in ticks
	Faults uint8 // that may still happen
	Comes  uint8 // how often a caller that has gone may still come again
	Enters uint8 // how often an owner may still enter its hold again
	Clock  int64 // by which tokens are proposed
	Top    tops  // largest tokens of holds so far

	Callers  [maxCallers]Caller
	Masters  [maxMasters]Master
	Links    [maxMasters][maxCallers]Link
	Messages messages

	wrong string   // the first violation on the way here
	cut   bool     // something had no room
	log   []string // what happened, if a trace is wanted; else nil
}

// Caller wants the lock, holds it, gives it back, and may come again. It has a client of its own, unless the case says
// that callers stand in line.
type Caller struct {
	attempt.Attempt
	masters [maxMasters]attempt.Master // of the attempt
	rounds  [maxRounds]attempt.Round
	Last    uint32 // the number of its last owner
	Since   int64  // when it began to wait: its place in the queue
	Placed  bool   // no caller that came later may be let in before it

	entries
	Forced bool            // a lock of its owner was freed by force: it need not exclude others any more
	Barred bool            // that was while it held the lock, which must not come back
	Meant  bool            // a renewal is about to be sent: the hold lasted when its client looked
	Marks  [maxRounds]mark // of its rounds, in their order

	Joined          bool // of a first half: it and the second are one hold
	Crashed, Asleep bool
	Gone            uint8 // its place among those that have gone, from 1; 0: it has not
	clocks
}

// mark is what the model itself notes of a round.
type mark struct {
	Later  bool        // the caller has learnt nothing of clocks since it was sent
	Denied attempt.Set // masters that said that they do not have the hold
}

// Master is a master, with what it has of the lock.
type Master struct {
	Name uint8 // in traces
	kept
	Guard int64 // the tick until which it grants nothing
	Dead  bool  // for good, and its clients know

	Saved bool // it has a copy, with which it may restart
	Copy  kept
}

// Link is what a client and a master have between them: a connection for commands and answers, and
// one for hand-offs.
type Link struct {
	Frozen bool  // nothing moves
	Quiet  uint8 // ticks until the client takes a frozen link for broken
	Down   bool  // it does: commands fail at once as unsent, and releases wait
	Dirty  bool  // a late command was carried out: what it left goes only with its lease
}

// owner makes the name of a caller's owner.
func owner(caller int, number uint32) twin.Owner {
	return twin.Owner(caller+1)<<24 | twin.Owner(number)
}

func callerOf(o twin.Owner) int    { return int(o>>24) - 1 }
func numberOf(o twin.Owner) uint32 { return uint32(o) & (1<<24 - 1) }

// instant is a moment by a caller's clock.
func instant(ticks int64) clock.Instant { return clock.Instant{}.Add(time.Duration(ticks) * tick) }

// clock is this moment by the clock of caller c.
func (w *World) clock(c int) clock.Instant { return instant(w.Now - int64(w.Callers[c].Behind)) }

// millis is a moment by a master's clock, or a time, as scripts have it.
func millis(ticks int64) int64 { return ticks * tick.Milliseconds() }

// current is the last owner of caller c.
func (w *World) current(c int) twin.Owner { return owner(c, w.Callers[c].Last) }

// contends reports whether the caller wants the lock, and does not have it.
func (c *Caller) contends() bool {
	switch c.State {
	case attempt.Asking, attempt.Waiting, attempt.Minority, attempt.Paused, attempt.Settling:
		return true
	}
	return false
}

// live reports whether the caller has the lock, kept whether its client keeps the lock, and over whether its attempt has
// ended.
func (c *Caller) live() bool { return c.State == attempt.Held }
func (c *Caller) kept() bool { return c.State == attempt.Kept }
func (c *Caller) over() bool { return c.State == attempt.Ended }

// renewing reports whether answers to a renewal of the hold are still to come.
func (c *Caller) renewing() bool {
	return slices.ContainsFunc(c.Rounds, func(r attempt.Round) bool {
		return r.Command == attempt.Extend && !r.Settled
	})
}

// gone reports whether the caller wants nothing, and has nothing.
func (c *Caller) gone() bool { return c.Crashed || c.over() }

// valid reports whether the caller has the lock, as far as it can know. If masters' clocks have gained on its own, it
// cannot know until it learns of that, so it does not count as a holder.
func (c *Caller) valid(now int64) bool {
	return c.live() && !c.Forced && !c.Doubt && c.Gained == [maxMasters]uint8{} &&
		instant(now-int64(c.Behind)).Left(c.Until) > 0
}

// copyTo copies the part of w that the case uses. A World has room for the largest case, and is mostly empty.
func (w *World) copyTo(to *World, k *Case) {
	to.Now, to.Faults, to.Comes, to.Enters, to.Clock, to.Top = w.Now, w.Faults, w.Comes, w.Enters, w.Clock, w.Top
	to.wrong, to.cut, to.log = w.wrong, w.cut, w.log
	for c := range k.Callers {
		to.Callers[c] = w.Callers[c]
		to.Callers[c].Entries = to.Callers[c].room[:len(w.Callers[c].Entries)]
		to.Callers[c].Attempt.Masters = to.Callers[c].masters[:len(w.Callers[c].Attempt.Masters)]
		to.Callers[c].Rounds = to.Callers[c].rounds[:len(w.Callers[c].Rounds)]
	}
	copy(to.Masters[:k.Masters], w.Masters[:k.Masters])
	to.Links = w.Links
	to.Messages.ends = w.Messages.ends
	copy(to.Messages.list[:w.Messages.len()], w.Messages.list[:w.Messages.len()])
}

// violate notes a violation, the first one only.
func (w *World) violate(what string) {
	if w.wrong == "" {
		w.wrong = what
	}
}
