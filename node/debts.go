package node

import (
	"cmp"
	"slices"
	"time"

	"example.com/redlock/clock"
)

// debt is a release that the master has not answered: what is needed to send it again. Its
// sender has been told so, and does not wait any more. So a ReleaseTo is owed without the
// next owner, who asks by himself, or has given up since.
type debt struct {
	key, owner   string
	token, since int64
	yield        bool
	keep         int    // hold count, of a Leave; else 0
	number       uint64 // of the call that it was
	at           time.Time

	// haunted: a command of the owner was in flight when the connection broke, and may still
	// be carried out, however late.
	haunted bool
}

// debts are what a master owes, one for each owner: the last release says all.
//
// They end when the master has answered, or with the longest lease: what the owner had at
// the master has expired by then, unless the debt is haunted. So a master that is away for
// long is owed as much as its client releases in one lease, and what was in flight when it
// went, however many locks are taken meanwhile.
type debts struct {
	list   map[string]debt // by owner
	ghosts map[string]bool // owners of what was in flight when the last connection broke
}

func (s *debts) len() int { return len(s.list) }

// add keeps the release c.
func (s *debts) add(c *call) {
	d := c.cmd.debt()
	d.number, d.at, d.haunted = c.number, time.Now(), s.ghosts[d.owner]
	s.put(d)
}

// put keeps d, unless a later release of its owner is there already.
func (s *debts) put(d debt) {
	if s.list == nil {
		s.list = make(map[string]debt)
	}
	if later, ok := s.list[d.owner]; ok && later.number > d.number {
		later.haunted = later.haunted || d.haunted
		d = later
	}
	s.list[d.owner] = d
}

// settle is called when the master has answered the release c.
func (s *debts) settle(c *call) {
	if d, ok := s.list[c.cmd.owner]; ok && d.number <= c.number {
		delete(s.list, d.owner)
	}
}

// expire drops what has settled itself. maxLease is that of [Config].
func (s *debts) expire(maxLease time.Duration) {
	if maxLease <= 0 {
		return
	}
	for owner, d := range s.list {
		// time.Since may stand still while the machine is suspended, and so errs to the safe side.
		if !d.haunted && time.Since(d.at) > maxLease+clock.Drift(maxLease) {
			delete(s.list, owner)
		}
	}
}

// take returns all debts in their order, which are the caller's from now on.
func (s *debts) take() []debt {
	if len(s.list) == 0 {
		return nil
	}
	list := make([]debt, 0, len(s.list))
	for _, d := range s.list {
		list = append(list, d)
	}
	s.list = nil // a map that was large stays so
	slices.SortFunc(list, func(a, b debt) int { return cmp.Compare(a.number, b.number) })
	return list
}

// haunt notes that calls were in flight when the connection broke.
func (s *debts) haunt(calls []*call) {
	s.ghosts = nil
	for _, c := range calls {
		if s.ghosts == nil {
			s.ghosts = make(map[string]bool)
		}
		for _, owner := range []string{c.cmd.owner, c.cmd.next} {
			if owner != "" {
				s.ghosts[owner] = true
			}
		}
		for _, h := range c.cmd.holds {
			s.ghosts[h.ID] = true
		}
	}
}

// debt returns what is owed by a release that was not answered.
func (c *Command) debt() debt {
	d := debt{key: c.key, owner: c.owner}
	if c.script == enterScript {
		d.keep = c.args[countArg].(int)
		return d
	}
	token, ok := c.args[tokenArg].(int64)
	d.token, d.yield, d.since = token, !ok, c.args[tokenArg+1].(int64)
	return d
}

// command is the release again.
func (d *debt) command() *Command {
	switch o := NewOwner(d.key, d.owner); {
	case d.keep > 0:
		return o.Leave(d.keep)
	case d.yield:
		return o.Yield(d.since)
	default:
		return o.Release(d.token, d.since)
	}
}
