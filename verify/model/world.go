package main

import (
	"slices"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/node/script/twin"
)

// Most of what a World has room for.
const (
	maxMasters  = 5
	maxCallers  = 4
	maxMessages = 96
	maxEntries  = 3 // of one hold
)

// tick is the time between two moments at which anything happens. The margin for drift of the
// leases that are searched is then about one tick, and the arithmetic of the protocol is the real
// one.
const tick = 2 * time.Millisecond

// begin is the moment, in ticks, at which each state that is looked at is: only what is left until
// an instant is a part of a state.
const begin = 1000

// World is all there is at one moment: callers, masters, and what is under way between them.
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

// Caller is one who wants the lock: first a contender, then a hold, then gone, and maybe back.
// Its client is its own, unless the case says that callers stand in line.
type Caller struct {
	attempt.Attempt
	masters [maxMasters]attempt.Master // of the attempt
	rounds  [maxRounds]attempt.Round
	Last    uint32 // its last owner, of those that were its own
	Since   int64  // when it began to wait: its place in the queue
	Placed  bool   // nobody who came later may be let in before it

	entries                 // what is known of them otherwise
	Forced  bool            // a lock of its owner was freed by force: it may not exclude anybody
	Barred  bool            // that was when it held the lock: it is not to come back
	Meant   bool            // a renewal is about to be made: the hold lasted when its client looked
	Marks   [maxRounds]mark // of its rounds, in their order

	Joined          bool // a first half: it is one hold with the second
	Crashed, Asleep bool
	Gone            uint8 // its place among those that have gone, from 1; 0: it has not
	clocks
}

// mark is what is known of a round that the protocol is not asked for.
type mark struct {
	Later  bool        // it was sent when all was known that is
	Denied attempt.Set // masters that said that they do not have the hold
}

// Master is one of them: a process with a lock or a semaphore in it.
type Master struct {
	Name uint8 // in traces
	kept
	Guard int64 // the tick until which it makes no hold
	Dead  bool  // for good: its clients know

	Saved bool // it has a copy, to restart with
	Copy  kept
}

// Link is what a client and a master have between them: a connection for commands and answers, and
// one for hand-offs.
type Link struct {
	Frozen bool  // nothing moves
	Quiet  uint8 // ticks until the client takes a frozen link for broken
	Down   bool  // it did: what is sent is known not to have been, and releases wait
	Dirty  bool  // something late was carried out: what it leaves is only gone with its lease
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

// live reports whether it has the lock, kept whether its client keeps that for it, and over whether it was in either,
// or may have been, and is no more.
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

// valid reports whether the caller has the lock, as far as it can know: where clocks have gained on its own, it
// cannot until it is told.
func (c *Caller) valid(now int64) bool {
	return c.live() && !c.Forced && !c.Doubt && c.Gained == [maxMasters]uint8{} &&
		instant(now-int64(c.Behind)).Left(c.Until) > 0
}

// copyTo copies what a case uses of w. A World has room for all of them, and most of it is empty.
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
