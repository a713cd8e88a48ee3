package multilock

import (
	"sync"
	"sync/atomic"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/node/script"
)

// What the masters publish to a client.

// gather is how long the next round waits after a subscription began to work: those to the other
// masters will begin soon.
const gather = 20 * time.Millisecond

// blockedBy notes that a master named owner as the holder of key, for which callers wait.
func (m *Masters) blockedBy(key string, owner string) {
	if !m.Clients.Foreign(owner) {
		return
	}
	var kept time.Duration
	m.mu.Lock()
	n, now := m.names[key], clock.Now()
	if n != nil && n.blocker == owner {
		kept = now.Sub(n.since)
	} else if n != nil {
		n.blocker, n.since = owner, now
	}
	m.mu.Unlock()
	m.Clients.Blocked(key, owner, kept)
}

// subscriptions are what the masters publish to this client.
type subscriptions struct {
	work  atomic.Uint32 // the set of masters where they work
	begin sync.Once
}

// watch has this client told what is freed of key, see [node.Node.Watch].
func (m *Masters) watch(key string) {
	m.subscribe()
	for _, n := range m.All.Nodes {
		n.Watch(key)
	}
}

// unwatch undoes one watch.
func (m *Masters) unwatch(key string) {
	for _, n := range m.All.Nodes {
		n.Unwatch(key)
	}
}

// subscribe begins to subscribe to what the masters publish to this client, unless that was done
// before, and returns when it is done: whoever calls it may watch a channel next. Contenders are told as soon as it works.
func (m *Masters) subscribe() {
	m.subs.begin.Do(func() {
		for _, n := range m.All.Nodes {
			n.Subscribe(m.All.ID, m)
		}
	})
}

// canBeTold reports whether a majority of the masters can tell this client that they handed a lock
// off to it.
func (m *Masters) canBeTold() bool {
	return m.All.Majority(Set(m.subs.work.Load()).Len())
}

// hearsAll reports whether all masters that are up can tell this client that they handed a lock off to it, and are a
// majority. One that cannot would pass over it, and hand the lock to another client than the others do: if some of those
// grant nothing, neither client would get a majority, again and again.
func (m *Masters) hearsAll() bool {
	work := Set(m.subs.work.Load())
	for i, n := range m.All.Nodes {
		if !work.Has(i) && !n.Down() {
			return false
		}
	}
	return m.canBeTold()
}

// HandedOff implements [node.Subscriber]. A lock that was handed off to an owner that has gone is
// released: the release that the owner sent should come after the hand-off, but may not at a master
// that does not let old connections be killed.
func (m *Masters) HandedOff(i int, h script.HandOff) {
	if d := m.owners.find(h.Owner); d != nil {
		d.handedOff(i, h)
	} else {
		m.releaseStray(i, h.Key, h.Owner)
	}
}

// Freed implements [node.Subscriber].
func (m *Masters) Freed(i int, key string) {
	m.slotFreed(i, key)
	for _, d := range m.bidders(key, false) {
		d.freed(i)
	}
}

// freed notes that master i freed the lock; once a majority has, the attempt asks for it. A minority says little: a caller
// that got its votes and gave them back, since the other masters have a holder, would get the same votes if it asked, and
// hear the same message when it gives them back, again and again.
func (d *driver) freed(i int) {
	d.mu.Lock()
	d.freedAt |= 1 << i
	free := d.m.All.Majority(d.freedAt.Len())
	if free {
		d.freedAt = 0
	}
	d.mu.Unlock()
	if free {
		d.step(&attempt.Event{Kind: attempt.Hint, Delay: d.m.conf.Settle})
	}
}

// Subscribed implements [node.Subscriber]. Messages may have been lost, and places in the queue as
// well, since nobody was there to be told.
func (m *Masters) Subscribed(i int, on bool) {
	bit, delay := uint32(1)<<i, gather
	if on {
		m.subs.work.Or(bit)
	} else {
		m.subs.work.And(^bit)
	}
	if !on || Set(m.subs.work.Load()) == m.All.Set() {
		delay = m.conf.Settle
	}
	if !m.canBeTold() {
		m.recall()
	}
	for _, d := range m.owners.all() {
		d.step(&attempt.Event{Kind: attempt.Hint, Delay: delay})
	}
}
