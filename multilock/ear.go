package multilock

import (
	"strings"

	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

// Listen begins to subscribe to what the masters publish to this client, unless that was
// done before. Bids are told as soon as it works.
func (m *Masters) Listen() {
	m.mu.Lock() // until it is done: whoever calls it may watch a channel next
	defer m.mu.Unlock()
	if m.listening {
		return
	}
	m.listening = true
	for i, n := range m.nodes {
		n.Subscribe(m.id, m, i)
	}
}

// Hears reports whether a majority of the masters can tell this client that they passed
// a lock to it.
func (m *Masters) Hears() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return quorum.Vote(len(m.nodes), m.hears.len(), 0) == quorum.Won
}

// HandedOff implements [node.Subscriber]. A lock that was passed to an owner that has gone is
// released: the release that the owner sent should have come after, but need not where
// a master does not let old connections be killed.
func (m *Masters) HandedOff(i int, p script.HandOff) {
	m.mu.Lock()
	b := m.owners[p.Owner]
	m.mu.Unlock()
	if b == nil || b.want.Key != p.Key {
		m.nodes[i].Send(script.NewOwner(p.Key, p.Owner).Release(p.Token, 0), nobody{}, i)
		return
	}
	b.passed(i, p)
}

// Freed implements [node.Subscriber].
func (m *Masters) Freed(_ int, key string) {
	for _, b := range m.waiting() {
		if b.want.Key == key {
			b.soon(settle)
		}
	}
}

// Subscribed implements [node.Subscriber]. Messages may have been lost, and entries in the queue
// as well, since nobody was there to be told.
func (m *Masters) Subscribed(i int, on bool) {
	m.mu.Lock()
	m.hears &^= 1 << i
	if on {
		m.hears |= 1 << i
	}
	delay := gather
	if !on || m.hears == m.All() {
		delay = settle
	}
	m.mu.Unlock()
	for _, b := range m.waiting() {
		b.soon(delay)
	}
}

// waiting returns the bids that are not over yet.
func (m *Masters) waiting() []*Bid {
	m.mu.Lock()
	bids := make([]*Bid, 0, len(m.owners))
	for _, b := range m.owners {
		if b != nil {
			bids = append(bids, b)
		}
	}
	m.mu.Unlock()
	return bids
}

// enrol notes that owner may have a lock from now on, and b as the one to be told of passes
// to it.
func (m *Masters) enrol(owner *script.Owner, b *Bid) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owners[owner.ID] = b
}

// forget is the end of enrol: the release of all that owner had was answered.
func (m *Masters) forget(owner string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.owners, owner)
}

// meet looks at who has the lock at master i, by an answer. An owner of this client that has
// gone has it by a command that was carried out after all: it is released there.
func (m *Masters) meet(i int, key string, a script.Answer) {
	if number, ours := strings.CutPrefix(a.Holder, m.id); a.Outcome != script.Refused || !ours || !strings.HasPrefix(number, ":") {
		return
	}
	m.mu.Lock()
	_, known := m.owners[a.Holder]
	m.mu.Unlock()
	if !known {
		m.nodes[i].Send(script.NewOwner(key, a.Holder).Release(1, 0), nobody{}, i)
	}
}
