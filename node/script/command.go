package script

import (
	"iter"
	"slices"
	"time"
)

// Command is one script with its arguments. It does not change once it is made, so the
// same Command goes to every master.
type Command struct {
	script *script
	args   []any   // script hash, number of keys, keys, arguments
	room   [11]any // for args: saves an allocation, 10 of a lock on five masters
	key    string
	owner  string
	next   string // owner that a ReleaseTo enters into the queue

	proposal int64     // fencing token, of an Acquire or a Raise
	holds    []Renewal // of a Renew

	grants  bool // see Grants
	repeats bool // see Repeats

	// healArg is the argument by which the command, besides other things, makes a hold where
	// there is none: it heals or hands off. 0: there is no such argument.
	healArg int
}

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
	args := make([]any, 0, 4+5*len(holds))
	args = append(args, renewScript.sha, 2*len(holds))
	for _, h := range holds {
		args = append(args, h.args[0], h.args[1])
	}
	args = append(args, lease.Milliseconds(), true)
	heal := len(args) - 1
	for _, h := range holds {
		args = append(args, h.args[4], h.Count, h.Token)
	}
	return &Command{script: renewScript, args: args, holds: holds, healArg: heal}
}

// Inspect asks who has the lock at key. The answer is Done, with an empty holder if nobody has.
//
// Cost: one script call.
func Inspect(key string) *Command {
	return &Command{script: inspectScript, args: []any{inspectScript.sha, 2, key, fenceKey(key)}, key: key}
}

// SHA is the hash by which EVALSHA knows the command's script.
func (c *Command) SHA() string { return c.script.sha.(string) }

// Arguments returns the arguments of EVALSHA, or with source those of EVAL. If guarded, they are
// for a guarded master: the command then neither heals nor hands off; see also Grants.
//
// The caller must not change the slice, since a Command is shared.
func (c *Command) Arguments(source, guarded bool) []any {
	args := c.args
	guarded = guarded && c.healArg > 0
	if source || guarded {
		args = slices.Clone(args)
	}
	if source {
		args[0] = c.script.source
	}
	if guarded {
		args[c.healArg] = ""
	}
	return args
}

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
func (c *Command) Grants() bool { return c.grants }

// Repeats reports whether the command has to be sent again until the master has answered.
func (c *Command) Repeats() bool { return c.repeats }

// Vouches reports whether Done is a vote: it says that an owner has a lock.
func (c *Command) Vouches() bool {
	switch c.script {
	case acquireScript, renewScript, raiseScript:
		return true
	case enterScript:
		return !c.repeats // otherwise it is a Leave
	}
	return false
}

// Decode returns the meaning of a reply.
func (c *Command) Decode(reply any) (Answer, error) {
	a, err := c.script.decode(reply)
	if a.Outcome == Done && a.Token == 0 {
		a.Token = c.proposal // which is 0 for other commands
	}
	return a, err
}

// Without returns what is left of c when the owners that were released meanwhile are taken out of
// it, nil if nothing is. A release stays, since it may run twice and each time tells what it found;
// it only loses a next owner that was released.
func (c *Command) Without(released func(owner string) bool) *Command {
	switch {
	case c.script == releaseScript:
		if c.next != "" && released(c.next) {
			return c.Repeat().Command()
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
	return time.Duration(c.args[c.healArg-1].(int64)) * time.Millisecond
}

// Whole turns a, the answer to rest, into the answer to c. rest is what Without left of c.
func (c *Command) Whole(rest *Command, a Answer) Answer {
	if len(rest.holds) == len(c.holds) || a.Outcome != Done || len(a.Renewed) != len(rest.holds) {
		return a
	}
	whole := Answer{Outcome: Done, Err: ErrWithdrawn, Renewed: make([]Renewed, len(c.holds))}
	next := 0 // of those that are left
	for i, h := range c.holds {
		if next == len(a.Renewed) || rest.holds[next].Owner != h.Owner {
			whole.Renewed[i] = Withdrawn
			continue
		}
		whole.Renewed[i] = a.Renewed[next]
		if why := a.NotLock[next]; why != nil {
			whole.notLock(i, why)
		}
		next++
	}
	return whole
}
