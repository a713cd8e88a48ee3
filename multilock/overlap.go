package multilock

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
	"example.com/redlock/redlocktrace"
)

// ErrOverlap says that another set of masters is in use that has masters in common with this client's,
// and that majorities of the two need not meet: two clients can hold one name at once.
var ErrOverlap = errors.New("redlock: another set of masters is in use that overlaps with this one")

// OverlapError says which other set of masters is in use, and who uses it. It matches [ErrOverlap].
type OverlapError struct {
	Set    string      // of this client, as ClientInfo has it
	Other  string      // the other set
	Client *ClientInfo // one that uses it, nil if that has no record
	Master string      // that told
}

func (e *OverlapError) Error() string {
	by := "a client without a record"
	if e.Client != nil {
		by = e.Client.String()
	}
	return fmt.Sprintf("%v: %s uses %s, this client %s (told by %s)", ErrOverlap, by, e.Other, e.Set, e.Master)
}

// Unwrap returns ErrOverlap.
func (e *OverlapError) Unwrap() error { return ErrOverlap }

const (
	// settledAfter is for how long another set must go on being published, while this client's masters
	// stay the same. When a master restarts, clients learn of its new run id within a beat of each
	// other, 18 s at most, and publish the old one until then.
	settledAfter = 25 * time.Second

	// lookedAgain is how long after it was first seen it must be there still. A client that was
	// suspended has then found out which of its masters have restarted meanwhile.
	lookedAgain = 10 * time.Second

	// ahead is how far another client's view of a master's clock may be ahead of ours. What was
	// published later than that was published before the clock was set back.
	ahead = 5 * time.Second

	// maxSets is how many sets a master keeps.
	maxSets = 64
)

// otherSet is a set that somebody uses whose majorities need not meet ours.
type otherSet struct {
	first clock.Instant // when it was seen first
	last  clock.Instant // when it was published last, as far as is known
	why   OverlapError
	found bool // it has been used for so long that no restart explains it
}

// heard takes what a master knows of the sets in use.
type heard Masters

// Answer implements [node.Receiver].
func (t *heard) Answer(i int, a script.Answer) {
	if a.Outcome != script.Done {
		return
	}
	m := (*Masters)(t)
	now := clock.Now()
	shown, ok := m.nodes[i].Time(now)
	if !ok {
		return
	}
	for _, client := range m.compare(i, script.ReadUses(a.Reply), now, shown.UnixMilli()) {
		m.nodes[i].Send(script.LookUp(client.id), client, i)
	}
}

// user is a client that uses another set, to be looked up.
type user struct {
	m       *Masters
	id, set string
}

// Answer implements [node.Receiver].
func (u *user) Answer(_ int, a script.Answer) {
	r, ok := script.ReadRecord(a.Reply)
	if !ok {
		return
	}
	p := &u.m.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	if o := p.others[u.set]; o != nil {
		o.why.Client = u.m.info(u.id, r)
	}
}

// compare compares the sets that are in use, as master i knows them, with this client's, and tells the
// log. shown is what the master's clock shows now. It returns clients that are to be looked up.
func (m *Masters) compare(i int, uses []script.Use, now clock.Instant, shown int64) (unknown []*user) {
	p := &m.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	at := &p.at[i]
	own, ok := parseSet(at.set)
	if !ok {
		return nil
	}
	at.stale = nil
	p.tidyLocked(m, &own, now)
	slices.SortFunc(uses, func(a, b script.Use) int { return int(b.Last - a.Last) })
	for k, u := range uses {
		other, ok := parseSet(u.Set)
		switch {
		case u.Set == at.set:
			if u.First > 0 {
				at.first = min(at.first, u.First)
			}
			continue
		case shown-u.Last > script.RecordLife.Milliseconds(), u.Last-shown > ahead.Milliseconds(), k >= maxSets:
			at.stale = append(at.stale, u.Set)
			continue
		case !ok || meet(&own, &other):
			continue
		}
		published := now.Add(-max(0, time.Duration(shown-u.Last)*time.Millisecond))
		o := p.others[u.Set]
		if o == nil {
			o = &otherSet{first: now, last: published}
			if p.others == nil {
				p.others = make(map[string]*otherSet)
			}
			p.others[u.Set] = o
		}
		if now.Sub(published) < now.Sub(o.last) {
			o.last = published
		}
		o.why.Set, o.why.Other, o.why.Master = own.text, other.text, m.nodes[i].Name()
		if u.Client != "" && (o.why.Client == nil || o.why.Client.ID != u.Client && !o.found) {
			unknown = append(unknown, &user{m, u.Client, u.Set})
		}
		settled := now.Sub(p.changed)
		from := max(u.First, shown-settled.Milliseconds())
		if o.found || u.Last-from < settledAfter.Milliseconds() || min(now.Sub(o.first), settled) < lookedAgain {
			continue
		}
		o.found = true
		why := o.why
		m.traceOverlap(&redlocktrace.SetsOverlap{Other: why.Other, Err: &why})
		m.log.Error("redlock: another set of masters is in use that overlaps with this one: two clients can hold one name at once",
			"client", who(why.Client), "other", why.Other, "set", why.Set, "master", why.Master)
	}
	return unknown
}

// tidyLocked forgets sets that are no longer in use, or that have come to meet own.
func (p *presence) tidyLocked(m *Masters, own *setOf, now clock.Instant) {
	for _, set := range slices.Collect(maps.Keys(p.others)) {
		o := p.others[set]
		other, _ := parseSet(set)
		if now.Sub(o.last) <= script.RecordLife && !meet(own, &other) {
			continue
		}
		delete(p.others, set)
		if o.found {
			m.traceOverlap(&redlocktrace.SetsOverlap{Other: o.why.Other})
			m.log.Info("redlock: the other set of masters is no longer in use", "other", o.why.Other, "set", own.text)
		}
	}
}

// meet reports whether it is intended, or may be harmless, that two sets are in use at the same time.
func meet(a, b *setOf) bool {
	if a.part != "" && b.part != "" && a.part != b.part {
		return true // names are spread over them
	}
	return quorum.Meet(a.len(), b.len(), a.common(b))
}

// who names a client in the log.
func who(i *ClientInfo) string {
	if i == nil {
		return "unknown"
	}
	return i.String()
}

// overlap returns which other set is in use, nil if there is none.
func (m *Masters) overlap() error {
	p := &m.presence
	now := clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, set := range slices.Sorted(maps.Keys(p.others)) {
		if o := p.others[set]; o.found && now.Sub(o.last) <= script.RecordLife {
			why := o.why
			return &why
		}
	}
	return nil
}

// info returns what r says of client.
func (m *Masters) info(client string, r script.Record) *ClientInfo {
	set, _ := parseSet(r.Set)
	return &ClientInfo{
		ID: client, Name: r.Name, Host: r.Host, Program: r.Program, Version: r.Version, PID: r.PID,
		Since: time.UnixMilli(r.Since), Seen: max(0, m.Now().Sub(time.UnixMilli(r.At))),
		Holds: r.Holds, Waits: r.Waits, Set: r.Set, Masters: set.len(),
	}
}
