package protocol

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
