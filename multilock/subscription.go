package multilock

import (
	"sync"
	"time"

	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script"
)

// gather is how long the next round waits after a subscription began to work: those to the other
// masters will begin soon.
const gather = 20 * time.Millisecond

// subscriptions are what the masters publish to this client.
type subscriptions struct {
	mu    sync.Mutex
	begun bool
	work  Set // masters where they work
}

// subscribe begins to subscribe to what the masters publish to this client, unless that was done
// before. Contenders are told as soon as it works.
func (m *Masters) subscribe() {
	m.subs.mu.Lock() // until it is done: whoever calls it may watch a channel next
	defer m.subs.mu.Unlock()
	if m.subs.begun {
		return
	}
	m.subs.begun = true
	for i, n := range m.nodes {
		n.Subscribe(m.owners.client, m, i)
	}
}

// canBeTold reports whether a majority of the masters can tell this client that they handed a lock
// off to it.
func (m *Masters) canBeTold() bool {
	m.subs.mu.Lock()
	defer m.subs.mu.Unlock()
	return m.majority(m.subs.work.Len())
}

// hears reports whether this client hears of hand-offs, or may still: until the first caller waits, it does not
// subscribe. A client that does not has the lock handed off to it all the same, and finds it when it asks.
func (m *Masters) hears() bool {
	m.subs.mu.Lock()
	begun := m.subs.begun
	m.subs.mu.Unlock()
	return !begun || m.canBeTold()
}

// HandedOff implements [node.Subscriber]. A lock that was handed off to an owner that has gone is
// released: the release that the owner sent should come after the hand-off, but may not at a master
// that does not let old connections be killed.
func (m *Masters) HandedOff(i int, h script.HandOff) {
	c, known := m.owners.find(h.Owner)
	switch {
	case !known || c != nil && c.target != target{h.Key, h.Mode == script.Permit}:
		m.nodes[i].Send(h.Release(), nobody{}, i)
	case c != nil:
		c.handedOff(i, h)
	}
}

// Freed implements [node.Subscriber].
func (m *Masters) Freed(_ int, key string) {
	for _, c := range m.owners.contests() {
		if c.target == (target{key: key}) {
			c.step(&protocol.Event{Kind: protocol.Hint, Delay: m.conf.Settle})
		}
	}
}

// Subscribed implements [node.Subscriber]. Messages may have been lost, and places in the queue as
// well, since nobody was there to be told.
func (m *Masters) Subscribed(i int, on bool) {
	m.subs.mu.Lock()
	m.subs.work &^= 1 << i
	if on {
		m.subs.work |= 1 << i
	}
	delay := gather
	if !on || m.subs.work == m.All() {
		delay = m.conf.Settle
	}
	m.subs.mu.Unlock()
	for _, c := range m.owners.contests() {
		c.step(&protocol.Event{Kind: protocol.Hint, Delay: delay})
	}
}
