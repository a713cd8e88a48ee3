package attempt

import (
	"slices"
	"time"

	"example.com/redlock/clock"
)

// The entries that share a hold. Its owner enters it again, and each entry is given back once, the hold with the last.
// Each says for itself whether it wants the hold renewed, and for how long: what one wants goes with it.
//
// The masters keep the hold count. An entry is inside once a majority has confirmed a count that includes it; if they do
// not, it is taken away again. The masters are told one count at a time: what changes meanwhile goes with the next.

// Wish is how a hold is to be renewed.
type Wish struct {
	Watched bool          // until it is given back
	Lease   time.Duration // that a renewal is for
	For     time.Duration // after which, counted from the beginning, no renewal is due; 0: there is no limit
	Limit   clock.Instant // when For is over, once the entry has begun
}

// limits reports whether no renewal is due at an instant any more.
func (w *Wish) limits(at clock.Instant) bool { return w.For > 0 && reached(at, w.Limit) }

// with returns the wish of both: a hold is renewed as long as either wants it.
func (w Wish) with(other Wish) Wish {
	switch {
	case !other.Watched:
		return w
	case !w.Watched:
		return other
	}
	w.Lease = max(w.Lease, other.Lease)
	if w.For == 0 || other.For == 0 {
		w.For = 0
	}
	if other.Limit.Sub(w.Limit) > 0 {
		w.Limit = other.Limit
	}
	return w
}

// EntryState is where an [Entry] stands.
type EntryState uint8

const (
	// Asked: the masters are yet to confirm it.
	Asked EntryState = iota
	// Confirmed by them: it counts until it is given back.
	Inside
	// Leaked: nobody can give it back any more. Work that it protects may still be going on, so it counts;
	// but it wants no more renewals.
	Leaked
)

// Entry is one of the callers of an owner that share a hold.
type Entry struct {
	Key   any
	State EntryState
	Round uint32 // that asks for it, 0: none does yet
	Wish
}

// begin begins an entry that is confirmed.
func (e *Entry) begin(now clock.Instant) {
	e.State, e.Limit = Inside, now.Add(e.For)
}

// enter lets another caller of the owner share the hold, once a majority confirms it, or take over what is kept. A writer
// cannot share a reader's hold.
func (c *Attempt) enter(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	switch {
	case c.State == Kept:
		c.takeOver(conf, now, ev, out)
	case c.State == Held && (ev.Shared || !c.Want.Shared):
		c.Entries = append(c.Entries, Entry{Key: ev.Key, Wish: ev.Wish})
		c.count(conf, now, out)
	}
}

// leave takes an entry away. With the last one the caller gives up, or the hold is given back.
func (c *Attempt) leave(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	i := c.Find(ev.Key)
	if i >= 0 {
		c.Entries = slices.Delete(c.Entries, i, i+1)
	}
	switch {
	case c.State == Idle: // nobody has been asked for it yet
		c.over(conf, now, out)
	case c.State == Ended, i < 0:
	case c.State != Held:
		c.over(conf, now, out)
	default:
		c.changed(conf, now, ev, out)
	}
}

// changed continues the hold with the entries that are left, or ends it if none is.
func (c *Attempt) changed(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	if len(c.Entries) == 0 {
		c.giveBack(conf, now, ev, out)
		return
	}
	c.wish()
	c.schedule(conf, now, ev.Trip)
	c.count(conf, now, out)
}

// rewish changes what an entry wants, as if the entry began now. A renewal becomes due once a third of the lease is used
// up, which may be at once.
func (c *Attempt) rewish(now clock.Instant, ev *Event) {
	if i := c.Find(ev.Key); c.State == Held && i >= 0 && c.Entries[i].State == Inside {
		c.Entries[i].Wish = ev.Wish
		c.Entries[i].begin(now)
		c.wish()
		if !c.Short && !c.Due && !c.renewing() {
			c.renewIn(now, max(0, now.Left(c.Until)-c.Lease+RenewEvery(c.Lease)))
		}
	}
}

// renewing reports whether a renewal that was due is under way.
func (c *Attempt) renewing() bool {
	for i := range c.Rounds {
		if r := &c.Rounds[i]; r.Renewal && !r.Settled {
			return true
		}
	}
	return false
}

// count has the masters set the hold count, unless they have it, or have yet to answer to another one.
func (c *Attempt) count(conf *Config, now clock.Instant, out *Effects) {
	for i := range c.Rounds {
		if r := &c.Rounds[i]; r.Command == Count && !r.Settled {
			return
		}
	}
	r := Round{Command: Count, Count: int32(len(c.Entries))}
	for i := range c.Entries {
		if e := &c.Entries[i]; e.State == Asked {
			e.Round = c.Round + 1
			r.Lease = max(r.Lease, e.Lease)
		}
	}
	if r.Count == c.Counted && r.Lease == 0 {
		return
	}
	c.Counted = r.Count
	c.send(now, All(conf.Masters), r, out)
}

// counted lets in the entries that a round has asked for if it was confirmed, and takes them away otherwise.
func (c *Attempt) counted(conf *Config, now clock.Instant, round uint32, confirmed bool, ev *Event, out *Effects) {
	for i := len(c.Entries) - 1; i >= 0; i-- {
		switch e := &c.Entries[i]; {
		case e.State != Asked || e.Round != round:
		case confirmed:
			e.begin(now)
		default:
			c.Entries = slices.Delete(c.Entries, i, i+1)
		}
	}
	c.changed(conf, now, ev, out)
}

// Find returns where an entry is in the list, -1 if it is not there.
func (c *Attempt) Find(key any) int {
	for i := range c.Entries {
		if c.Entries[i].Key == key {
			return i
		}
	}
	return -1
}

// Leak notes that nobody can give an entry back any more, which is in the list, and reports whether that is a
// mistake: a hold that nobody wants renewed may be left to end by itself. It needs no instant.
func (c *Attempt) Leak(key any) (mistake bool) {
	for i := range c.Entries {
		mistake = mistake || c.Entries[i].Watched
	}
	if mistake {
		c.Entries[c.Find(key)].State = Leaked
	}
	c.wish()
	return mistake
}

// wish makes the hold renewed as its entries together want it. If none wants a renewal by the time that the next is due,
// that is not made, and the hold ends with its validity; but the first renewal of a hold that was handed off is made in
// any case.
func (c *Attempt) wish() {
	w := Wish{}
	for i := range c.Entries {
		if e := &c.Entries[i]; e.State == Inside {
			w = w.with(e.Wish)
		}
	}
	if !w.Watched {
		w.Lease = c.Want.Lease
	}
	c.Wish = w
	if c.Due && c.limits(c.RenewAt) {
		c.Watched = false
	}
	if !c.Watched && !c.Short {
		c.Due = false
	}
}
