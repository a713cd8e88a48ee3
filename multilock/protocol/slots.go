package protocol

import "example.com/redlock/quorum"

// How permits are counted. A semaphore of K permits is K slots, and each slot is a lock of its own: a
// majority for one slot wins, and votes for different slots do not add up. A master gives an owner one
// slot at most. What a hold has in other slots moves to its own with its first renewal.

// strongest returns the slot that most masters gave the contender, and how many did. With ended, votes
// that are valid no more count as well.
func (c *Contender) strongest(conf *Config, ended bool) (slot, votes int) {
	var gave [Max]bool
	for i := range conf.Masters {
		m := &c.Masters[i]
		gave[i] = m.Voted || ended && m.Said && m.Outcome == Yes
	}
	for i := range conf.Masters {
		n := 0
		for j := range conf.Masters {
			if gave[i] && gave[j] && c.Masters[j].Slot == c.Masters[i].Slot {
				n++
			}
		}
		if n > votes {
			slot, votes = int(c.Masters[i].Slot), n
		}
	}
	return slot, votes
}

// mixed reports whether the contender has votes for several slots.
func (c *Contender) mixed(conf *Config) bool {
	_, most := c.strongest(conf, false)
	return most < c.votes(conf)
}

// crossed reports whether the votes are for so many slots that none can win, whatever the masters do that
// have given none.
func (c *Contender) crossed(conf *Config) bool {
	if !c.mixed(conf) {
		return false
	}
	_, most := c.strongest(conf, false)
	no := c.votes(conf) - most
	for i := range conf.Masters {
		if m := &c.Masters[i]; !m.Voted && m.Said && m.Outcome != No {
			no++
		}
	}
	return conf.decide(most, no) == quorum.Lost
}
