// Package clients is what the clients of the same masters know of each other: each keeps a record of itself
// there, says how it uses the masters, and takes no lock where that conflicts with who came first. It serves
// packages multilock and inspect: its API is not stable.
package clients

import (
	"sync"
	"sync/atomic"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/internal/tracer"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/multilock/terms"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
)

// Identity is what a client says of itself that does not change.
type Identity struct {
	Name, Host, Program, Version string
	PID                          int
	Since                        time.Time
	Hidden                       bool // it keeps no record

	Addressed    bool          // the names of its masters are their addresses
	Lease, Guard time.Duration // the longest lease that it takes; its restart guard, 0: none
}

// Directory is what one client says of itself at its masters, and what others say of themselves there.
type Directory struct {
	*poll.Masters
	id    Identity
	own   Own
	trace *tracer.Tracer // nil: nothing is traced
	cache cache

	admitted atomic.Bool // it takes locks, and nobody came before it

	mu      sync.Mutex
	part    Part
	stands  standing
	since   clock.Instant // when it published its terms before its first lock
	look    *look         // the last at the terms of others, for a lock
	told    string        // what terms it published last
	at      [poll.Max]there
	changed clock.Instant // when another process was found behind a master
	others  map[string]*otherTerms
}

// Own is what the client has.
type Own interface {
	// Busy returns how much it holds, and how many of its callers wait.
	Busy() (holds, waits int)

	// Since returns when owner, one of the client's, got the lock at key, by the masters' clocks; the zero
	// time if it does not have it.
	Since(key, owner string) time.Time
}

// New makes the directory of a client with these masters, which says nothing of itself until Introduce.
func New(masters *poll.Masters, own Own, trace *tracer.Tracer) *Directory {
	return &Directory{Masters: masters, own: own, trace: trace}
}

// standing is where a client stands among those that use its masters.
type standing uint8

const (
	onlooker standing = iota // it was asked for no lock yet, and publishes nothing
	refused                  // it takes no lock, since others came first
	user                     // it takes locks
)

// there is what a client knows of its standing at one master.
type there struct {
	run    string // id of the process that was found there last
	first  int64  // when this client's terms were published there first, in ms by the master's clock; 0: they are not there
	heard  bool   // it has told the terms of others
	denied string // of what refusal the log was told
}

// Introduce has the client know of others that use its masters. Once it is asked for a lock it keeps a
// record of itself on every master, unless id is Hidden, and publishes its terms there. See
// docs/design/clients.md, "Records".
//
// Cost: up to two commands to each master every 12 to 18 s, along with its checks.
func (d *Directory) Introduce(id Identity) {
	d.id = id
	d.changed = clock.Now()
	for _, n := range d.Nodes {
		n.Present(d.notes)
	}
}

// Part says which of several sets of masters a client has. Clients of sets with different IDs may share
// masters.
type Part struct {
	ID        string   // empty: it has no others
	Now, Next []string // IDs of the sets that names are spread over, and of those that they will be; sorted
}

// Spread says that the client has one of several sets. It is called before Introduce.
func (d *Directory) Spread(part Part) { d.part = part }

// notes returns what is published at master i now, and asked there.
func (d *Directory) notes(i int) []node.Note {
	holds, waits := d.own.Busy()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stands == onlooker && d.look != nil {
		return nil // a caller is about to publish
	}
	own := d.ownTermsLocked()
	if d.stands == onlooker {
		return []node.Note{{Cmd: script.LookAtUses(), To: poll.Receiver(d.heard)}}
	}
	own.Refused = d.stands == refused
	publish := own.Publish(d.publisherLocked(), d.ageLocked())
	list := []node.Note{{Cmd: publish, To: poll.Receiver(d.published)}}
	if record := d.recordLocked(own, holds, waits); record != nil {
		list = append(list, node.Note{Cmd: record, To: poll.Receiver(d.denied)})
	}
	return list
}

// recordLocked returns the command that publishes the client's record, nil if it keeps none.
func (d *Directory) recordLocked(own terms.Terms, holds, waits int) *script.Command {
	if d.id.Hidden {
		return nil
	}
	record := &script.Record{
		Name: d.id.Name, Host: d.id.Host, Program: d.id.Program, PID: d.id.PID, Version: d.id.Version,
		Since: d.id.Since.UnixMilli(), At: d.Now().UnixMilli(), Holds: holds, Waits: waits, Terms: own,
	}
	return record.Publish(d.ID)
}

// publisherLocked returns as who the client publishes its terms.
func (d *Directory) publisherLocked() string {
	if d.id.Hidden {
		return ""
	}
	return d.ID
}

// ageLocked returns for how many ms the client has used the masters, 0 if it does not.
func (d *Directory) ageLocked() int64 {
	if d.stands != user {
		return 0
	}
	return max(1, clock.Since(d.since).Milliseconds())
}

// young is how long a process may still be unknown to other clients, which publish the run id before it.
const young = script.RecordLife + 20*time.Second

// ownTermsLocked returns the terms of this client, by what it is connected to now.
func (d *Directory) ownTermsLocked() terms.Terms {
	now := clock.Now()
	t := terms.Terms{Masters: make([]script.Master, len(d.Nodes)), Part: d.part.ID, Now: d.part.Now, Next: d.part.Next, Lease: d.id.Lease.Milliseconds(), Guard: d.id.Guard.Milliseconds()}
	for i, n := range d.Nodes {
		run, since := n.Process()
		if run != "" && run != d.at[i].run {
			d.at[i].run, d.changed = run, now
		}
		address := "" // not known
		if d.id.Addressed {
			address = terms.Address(n.Name(), d.id.Host)
		}
		t.Masters[i] = script.NewMaster(run, address)
		t.Masters[i].Young = run != "" && now.Sub(since) < young
	}
	if text := t.Text(); text != d.told {
		d.told = text
		for i := range d.at {
			d.at[i].first = 0
		}
	}
	return t
}

// denied tells the log, once, that a master refuses what clients publish there, unless that may pass. It
// harms no lock.
func (d *Directory) denied(i int, a script.Answer) {
	if a.Outcome != script.Failed || node.Heals(a.Err) {
		return
	}
	n := d.Nodes[i]
	kind := node.Kind(a.Err)
	d.mu.Lock()
	news := d.at[i].denied != kind
	d.at[i].denied = kind
	d.mu.Unlock()
	if news {
		d.Log.Warn("redlock: client record is refused: others do not see who this client is", "master", n.Name(), "error", a.Err)
	}
}

// Retract takes the client's record away.
func (d *Directory) Retract() {
	if !d.introduced() {
		return
	}
	d.mu.Lock()
	published := d.stands != onlooker && !d.id.Hidden
	d.mu.Unlock()
	for i, n := range d.Nodes {
		n.Present(nil)
		if published {
			n.Send(script.Retract(d.ID), poll.Nobody{}, i)
		}
	}
}
