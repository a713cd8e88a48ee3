package node

import (
	"cmp"
	"slices"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
)

// debt is a release that the master has not answered.
type debt struct {
	script.Repeat
	number uint64 // of the call that it was
	at     time.Time

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
	again := c.cmd.Repeat()
	s.put(debt{Repeat: again, number: c.number, at: time.Now(), haunted: s.ghosts[again.Owner]})
}

// put keeps d, unless a later release of its owner is there already.
func (s *debts) put(d debt) {
	if s.list == nil {
		s.list = make(map[string]debt)
	}
	if later, ok := s.list[d.Owner]; ok && later.number > d.number {
		later.haunted = later.haunted || d.haunted
		d = later
	}
	s.list[d.Owner] = d
}

// settle is called when the master has answered the release c.
func (s *debts) settle(c *call) {
	if d, ok := s.list[c.cmd.Owner()]; ok && d.number <= c.number {
		delete(s.list, d.Owner)
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
		for owner := range c.cmd.Owners() {
			s.ghosts[owner] = true
		}
	}
}
