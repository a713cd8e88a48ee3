package script

import (
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Command is a call of a script, with its keys and arguments. It does not change once it is made, so
// the same Command goes to every master.
type Command struct {
	verb  verb
	first bool // see First
	name  any  // KEYS[1]; nil: there is none
	args  []any
	room  [6]any   // for args: saves an allocation, 10 of a lock on five masters
	text  [32]byte // for an ask, in the same way
	owner string
	next  string // owner that a release enters into the queue

	proposal int64     // fencing token, of an Acquire or a Raise
	holds    []Renewal // of a Renew
	slots    int       // of a Look
}

// verb is what a command does.
type verb uint8

const (
	plain verb = iota // a command of Redis itself
	acquiring
	asking // AcquireOrRegister
	registering
	releasing
	forcing
	renewing
	entering
	leaving
	raising
	inspecting
)

// Plain reports whether c is a command of Redis itself, which runs no script: see [Plain].
func (c *Command) Plain() bool { return c.verb == plain }

// script is the one that carries c out; nil if c is a plain command.
func (c *Command) script() *script { return verbs[c.verb].script }

// Words appends to words the command as it is sent. A guarded master gets it in a form that neither heals
// nor hands off; see also [Command.Grants].
func (c *Command) Words(words []any, guarded bool) []any {
	s := c.script()
	if s == nil {
		return append(words, c.args...)
	}
	words = append(words, "EVALSHA", s.sha)
	if c.name == nil {
		words = append(words, "0")
	} else {
		words = append(words, "1", c.name)
	}
	first := len(words)
	words = append(words, c.args...)
	if n := verbs[c.verb].guarded; guarded && n > 0 {
		words[first+n-1] = nothing
	}
	return words
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
// Cost: one script call for all of them. Source: docs/how-it-works.md, "Renew".
func Renew(lease time.Duration, holds []Renewal) *Command {
	c := &Command{verb: renewing, args: make([]any, 2, 2+4*len(holds)), holds: holds}
	c.args[0], c.args[1] = lease.Milliseconds(), healing
	for _, h := range holds {
		c.args = append(c.args, h.name, h.id, h.Token)
		if h.Mode == Shared {
			c.args = append(c.args, SharedHolder)
		} else {
			c.args = append(c.args, h.Count)
		}
	}
	return c
}

// healing makes a renewal set a lock again that nobody has.
var healing any = "heal"

// Inspect asks who has the lock at key, and who waits for it. The answer is Done, with an empty
// holder if nobody has it, and [SharedHolder] if readers do.
//
// Cost: one script call.
func Inspect(key string) *Command { return &Command{verb: inspecting, name: key} }

// Look asks which of the first n slots of a semaphore somebody has, and how many wait for each. The answer is
// Done.
//
// Cost: one script call, some 1 µs of the master's time for each slot.
func Look(semaphore string, n int) *Command {
	c := &Command{verb: inspecting, name: Slots(semaphore), slots: n}
	c.args = append(c.room[:0], n)
	return c
}

// Holds is how many holds a Renew renews, and 1 for any other command that runs a script.
func (c *Command) Holds() int {
	if c.verb == renewing {
		return len(c.holds)
	}
	return 1
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
func (c *Command) Grants() bool { return verbs[c.verb].grants }

// Registering returns an AcquireOrRegister without the acquire: it enters its owner into the queue, as
// [Owner.Register] does. It is nil for other commands.
func (c *Command) Registering() *Command {
	if c.verb != asking {
		return nil
	}
	r := *c
	r.verb, r.args = registering, slices.Clone(c.args)
	r.args[1] = nothing // the lease
	return &r
}

// Repeats reports whether the command has to be sent again until the master has answered.
func (c *Command) Repeats() bool { return verbs[c.verb].repeats }

// Again returns what is sent when c is sent again. By then its sender has been told that c was not answered. So a release that
// enters a next owner goes without it: that owner registers by itself, or has given up.
func (c *Command) Again() *Command {
	if c.next == "" {
		return c
	}
	again := *c
	again.next, again.args = "", c.args[:3]
	return &again
}

// Releases reports whether the command gives back all that its owner has. A Leave does not.
func (c *Command) Releases() bool { return c.verb == releasing }

// First reports whether the command is the first of its owner, so that a master that does not get it has nothing of the
// owner.
func (c *Command) First() bool { return c.first }

// Vouches reports whether Done is a vote: it says that an owner has a lock.
func (c *Command) Vouches() bool { return verbs[c.verb].vouches }

// Plain makes a command of Redis itself: it runs no script, and no owner has anything by it. The
// answer is Done with what the master replied, see [Answer.Reply], or Failed with its error as it is.
//
// Cost: one command.
func Plain(name string, args ...any) *Command {
	return &Command{args: append([]any{name}, args...)}
}

// scanned is how many keys a master looks at in one Scan: it does nothing else meanwhile.
const scanned = 100

// Scan asks a master for a part of the keys of type kind that match pattern, as SCAN has it. It begins
// with cursor 0; Scanned reads the reply.
//
// Cost: one command, some 20 µs of the master's time.
func Scan(cursor uint64, pattern, kind string) *Command {
	return Plain("SCAN", strconv.FormatUint(cursor, 10), "MATCH", pattern, "COUNT", scanned, "TYPE", kind)
}

// Scanned returns the keys that the reply to a Scan has, and the cursor of the next, 0 if there is none.
func Scanned(reply any) (keys []string, next uint64, err error) {
	var list []any
	two, err := redis.Values(reply, nil)
	if err != nil || len(two) != 2 {
		return nil, 0, unexpected(reply)
	}
	if _, err := redis.Scan(two, &next, &list); err != nil {
		return nil, 0, unexpected(reply)
	}
	if keys, err = redis.Strings(list, nil); err != nil {
		return nil, 0, unexpected(reply)
	}
	return keys, next, nil
}
