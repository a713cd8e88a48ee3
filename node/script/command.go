package script

import (
	"iter"
	"slices"
	"strings"
	"time"
)

// Command is one or more steps of the script with their keys and arguments. It does not change once
// it is made, so the same Command goes to every master.
type Command struct {
	steps string // a letter for each, as call.lua has them
	keys  []any
	args  []any
	room  [6]any // for args: saves an allocation, 10 of a lock on five masters
	key   string
	owner string
	next  string // owner that a ReleaseTo or YieldTo enters into the queue

	proposal int64     // fencing token, of an Acquire or a Raise
	holds    []Renewal // of a Renew
	repeats  bool      // see Repeats
	first    bool      // see First
}

// The steps, as call.lua has them.
const (
	acquireStep        = "a"
	askStep            = "w" // acquire, or enter the queue
	askAgainStep       = "W" // the same, in a later round
	registerStep       = "q"
	releaseStep        = "r"
	releaseWaiterStep  = "R" // of an owner that has waited
	passStep           = "t" // release, and enter another owner
	passOfWaiterStep   = "T" // of an owner that has waited
	forceStep          = "f"
	renewStep          = 'n'
	renewNoHealingStep = 'N'
	enterStep          = "e"
	raiseStep          = "c"
	inspectStep        = "i"

	// Those of readers.
	shareStep                = "b" // acquire, or enter the queue
	releaseSharedStep        = "l"
	passSharedStep           = "L" // release, and enter another owner
	renewSharedStep          = 'h'
	renewSharedNoHealingStep = 'H'
	enterSharedStep          = "E"
	raiseSharedStep          = "C"

	// Those of a semaphore.
	acquireSlotStep        = "p"
	askSlotStep            = "P" // acquire, or enter the queue
	registerSlotStep       = "k"
	releaseSlotStep        = "d"
	releaseSlotWaiterStep  = "D" // of an owner that has waited
	passSlotStep           = "g" // release, and enter another owner
	passSlotOfWaiterStep   = "G" // of an owner that has waited
	giveWayStep            = "v" // release, pass to others, and enter the same caller's next owner
	forceSlotsStep         = "x"
	renewSlotStep          = 'm'
	renewSlotNoHealingStep = 'M'
	raiseSlotStep          = "u"
	inspectSlotsStep       = "s"
)

// Renewal names one hold of a Renew command.
type Renewal struct {
	*Owner
	Count int
	Token int64
}

// Renew extends the lease of each hold to lease from now, if that is longer than what is left.
//
// It heals: a lock that nobody has is set again for its owner, except on a guarded master and
// after a Force. The answer is Done with one [Renewed] for each hold.
//
// Cost: one script call for all of them. Source: docs/algorithm.md, "Renew".
func Renew(lease time.Duration, holds []Renewal) *Command {
	c := &Command{keys: make([]any, 0, 2*len(holds)), args: make([]any, 0, 4*len(holds)), holds: holds}
	var steps strings.Builder
	steps.Grow(len(holds))
	var ms any = lease.Milliseconds()
	for _, h := range holds {
		if h.Mode == Shared {
			steps.WriteByte(renewSharedStep)
			c.keys = append(c.keys, h.keys[:]...)
			c.args = append(c.args, h.id, ms, h.Token)
			continue
		}
		if h.Mode == Permit {
			steps.WriteByte(renewSlotStep)
			c.keys = append(c.keys, h.keys[:]...)
			c.args = append(c.args, h.id, ms, h.Token, h.slot)
			continue
		}
		steps.WriteByte(renewStep)
		c.keys = append(c.keys, h.keys[0], h.keys[2])
		c.args = append(c.args, h.id, ms, h.Token, h.Count)
	}
	c.steps = steps.String()
	return c
}

// Inspect asks who has the lock at key, and who waits for it. The answer is Done, with an empty
// holder if nobody has it, and [SharedHolder] if readers do.
//
// Cost: one script call.
func Inspect(key string) *Command {
	k := keysOf(key)
	return &Command{steps: inspectStep, keys: []any{key, k.queue, k.fence}, key: key}
}

// InspectPermits asks who has the permits of the semaphore at key, and who waits for one. The answer is
// Done, with the largest fencing counter of a slot.
//
// Cost: one script call.
func InspectPermits(key string) *Command {
	k := slotKeysOf(key)
	return &Command{steps: inspectSlotsStep, keys: []any{k.slots, k.queue, k.fence}, key: key}
}

// Steps is how many steps the command has: a renewal of n holds has n, any other command one.
func (c *Command) Steps() int { return len(c.steps) }

// Owner is the owner whose command it is; empty for a Renew, an Inspect and a Force.
func (c *Command) Owner() string { return c.owner }

// Owners are all owners for whom the command may leave a hold or a queue entry behind.
func (c *Command) Owners() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, owner := range []string{c.owner, c.next} {
			if owner != "" && !yield(owner) {
				return
			}
		}
		for _, h := range c.holds {
			if !yield(h.ID) {
				return
			}
		}
	}
}

// Grants reports whether the command only makes a hold where there is none, so that it must not be
// sent to a guarded master.
func (c *Command) Grants() bool {
	switch c.steps {
	case acquireStep, askStep, askAgainStep, acquireSlotStep, askSlotStep:
		return true
	case shareStep:
		return c.args[1] != nothing // otherwise it is a Register
	}
	return false
}

// Registering returns what is left of an ask that must not grant: it enters its owner into the queue, as
// [Owner.Register] does. It is nil if c is no ask of one that waits.
func (c *Command) Registering() *Command {
	step := ""
	switch c.steps {
	case askStep, askAgainStep:
		step = registerStep
	case askSlotStep:
		step = registerSlotStep
	case shareStep:
		if c.args[3] == nothing {
			return nil // it does not wait
		}
		step = shareStep
	default:
		return nil
	}
	r := *c
	r.steps, r.args = step, slices.Clone(c.args)
	if step == shareStep {
		r.args[1] = nothing
	} else {
		r.args = slices.Delete(r.args, 1, 2) // the lease
	}
	return &r
}

// Repeats reports whether the command has to be sent again until the master has answered.
func (c *Command) Repeats() bool { return c.repeats }

// Releases reports whether the command gives back all that its owner has. A Leave does not.
func (c *Command) Releases() bool { return c.owner != "" && c.tokenArg() >= 0 }

// First reports whether nothing was asked for its owner before: a master that does not get the command
// has nothing of the owner.
func (c *Command) First() bool { return c.first }

// Vouches reports whether Done is a vote: it says that an owner has a lock.
func (c *Command) Vouches() bool {
	switch c.steps {
	case acquireStep, askStep, askAgainStep, registerStep, raiseStep, shareStep, raiseSharedStep,
		acquireSlotStep, askSlotStep, registerSlotStep, raiseSlotStep:
		return true
	case enterStep, enterSharedStep:
		return !c.repeats // otherwise it is a Leave
	}
	return len(c.holds) > 0
}

// tokenArg returns which of the arguments is the fencing token of a release, without which the lock
// is not handed off; -1 if the command hands nothing off.
func (c *Command) tokenArg() int {
	switch c.steps {
	case releaseStep, releaseWaiterStep, passStep, passOfWaiterStep, releaseSharedStep, passSharedStep,
		releaseSlotStep, releaseSlotWaiterStep, passSlotStep, passSlotOfWaiterStep, giveWayStep:
		return 1
	case forceStep, forceSlotsStep:
		return 0
	}
	return -1
}

// Behind returns c as it may be sent again behind later, which was to come after it; nil if nothing is
// left of it. What later gave back is left out, and a hold count that it set stays.
//
// A release stays, since it may run twice and each time tells what it found. It only loses a next
// owner that was released.
func (c *Command) Behind(later *Command) *Command {
	released := ""
	if later.Releases() {
		released = later.owner
	}
	switch {
	case c.tokenArg() >= 0:
		if c.next != "" && c.next == released {
			return c.Repeat().Command()
		}
	case len(c.holds) > 0:
		left := slices.DeleteFunc(slices.Clone(c.holds), func(h Renewal) bool { return h.ID == released })
		switch len(left) {
		case 0:
			return nil
		case len(c.holds):
		default:
			return Renew(c.lease(), left)
		}
	case c.owner != "" && c.owner == released:
		return nil
	case c.counts() && later.counts() && c.owner == later.owner:
		behind := *c
		behind.args = []any{c.args[0], c.args[1], later.args[2]}
		return &behind
	}
	return c
}

// lease returns the lease of a Renew.
func (c *Command) lease() time.Duration { return time.Duration(c.args[1].(int64)) * time.Millisecond }

// counts reports whether it is an Enter or a Leave.
func (c *Command) counts() bool { return c.steps == enterStep || c.steps == enterSharedStep }

// Whole turns a, the answer to rest, into the answer to c. rest is what Behind left of c.
func (c *Command) Whole(rest *Command, a Answer) Answer {
	if len(rest.holds) == len(c.holds) || a.Outcome != Done || len(a.Renewed) != len(rest.holds) {
		return a
	}
	whole := Answer{Outcome: Done, Err: ErrWithdrawn, Renewed: make([]Renewed, len(c.holds))}
	next := 0 // of those that are left
	for i, h := range c.holds {
		if next == len(a.Renewed) || rest.holds[next].ID != h.ID {
			whole.Renewed[i] = Withdrawn
			continue
		}
		whole.Renewed[i] = a.Renewed[next]
		if why := a.Errors[next]; why != nil {
			whole.spoil(i, a.Renewed[next], why)
		}
		next++
	}
	return whole
}
