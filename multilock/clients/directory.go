// Package clients is what the clients of the same masters know of each other: each keeps a record of itself
// there, says how it uses the masters, and takes no lock where that conflicts with how others do. It serves
// packages multilock and redlockadmin: its API is not stable.
package clients

import (
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"example.com/redlock/clock"
	"example.com/redlock/internal/tracer"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/multilock/terms"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
)

// Identity is what a client says of itself that does not change.
type Identity struct {
	Record script.Record // its name, its process, and when it was made
	Hidden bool          // it keeps no record

	Addressed    bool          // the names of its masters are their addresses
	Lease, Guard time.Duration // the longest lease that it takes; its restart guard, 0: none
}

// now returns the record with what changes.
func (id *Identity) now(own *terms.Terms, holds, waits int) script.Record {
	r := id.Record
	r.Holds, r.Waits, r.Terms = holds, waits, *own
	return r
}

// Directory is what one client says of itself at its masters, and what others say of themselves there.
type Directory struct {
	All   *poll.Masters // which the client asks
	id    Identity
	own   Own
	trace *tracer.Tracer // nil: nothing is traced
	cache cache

	part  Part
	by    string                        // as which it publishes its terms
	until atomic.Pointer[clock.Instant] // until when it is established; nil: it is not

	sets      *Sets        // whose mutex guards the following
	views     []terms.View // what the masters told last
	standing  terms.Standing
	terms     *script.Terms // its own, which nobody changes
	text      string        // of them, as they are published
	at        [poll.Max]there
	rivals    map[string]*rival // by their text
	published bool              // the masters may have something of it
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
	d := &Directory{All: masters, own: own, trace: trace, views: make([]terms.View, len(masters.Nodes))}
	d.sets = &Sets{all: []*Directory{d}}
	return d
}

// there is what a client knows of one master.
type there struct {
	address string        // that is published, empty: none
	process node.Process  // that was found there last
	left    clock.Instant // when it was last connected
	denied  string        // of what refusal the log was told
}

// Introduce makes the client known to others that use its masters, and them to it. Once it is asked for a lock
// it keeps a record of itself on every master, unless id is Hidden, and publishes its terms there. See
// docs/design/clients.md, "Records".
//
// Cost: up to two commands to each master every 12 to 18 s, along with its checks.
func (d *Directory) Introduce(id Identity, part Part) {
	part.Of.mu.Lock() // the process may have other sets already
	d.part, d.sets = part, part.Of
	d.part.Now, d.part.Next = script.Sets(part.Now), script.Sets(part.Next)
	d.sets.all = append(d.sets.all, d)
	d.id, d.by, d.standing.Lease = id, d.All.ID, id.Lease
	if id.Hidden {
		d.by = uuid.NewString()
	}
	for i, n := range d.All.Nodes {
		if id.Addressed {
			d.at[i].address = terms.Address(n.Name(), id.Record.Host)
		}
	}
	part.Of.mu.Unlock()
	for _, n := range d.All.Nodes {
		n.Present(d.notes)
	}
}

// Part says which of several sets of masters a client has. Clients of sets with different IDs may share
// masters.
type Part struct {
	ID        string   // empty: it has no others
	Now, Next []string // IDs of the sets that names are spread over, and of those that they will be; sorted
	Of        *Sets    // those of the process
}

// notes returns what is published at master i now, and asked there.
func (d *Directory) notes(i int) []node.Note {
	holds, waits := d.own.Busy()
	now := clock.Now()
	d.sets.mu.Lock()
	defer d.sets.mu.Unlock()
	seen := func() bool { return d.standing.Seen(now, d.holdsLocked()) }
	if l := d.sets.look; l != nil && !poll.IsClosed(l.done) && !seen() {
		return nil // a caller is about to publish
	}
	own := d.ownTermsLocked(now)
	if !seen() { // also if a process was found just now
		cmd := script.LookAtUses()
		elsewhere := func(o *Directory) bool { return o.standing.Seen(now, false) }
		if slices.ContainsFunc(d.sets.all, elsewhere) && len(d.rivals) == 0 { // this set was away when the process was established
			d.published, cmd = true, d.publish(d.text, i, true)
		}
		return []node.Note{{Cmd: cmd, To: d.receiver(own, now, false)}}
	}
	list := []node.Note{{Cmd: d.publish(d.text, i, false), To: d.receiver(own, now, true)}}
	if record := d.recordLocked(own, holds, waits); record != nil {
		list = append(list, node.Note{Cmd: record, To: poll.Receiver(d.denied)})
	}
	return list
}

// holdsLocked reports whether the process holds anything, in any of its sets.
func (d *Directory) holdsLocked() bool {
	return slices.ContainsFunc(d.sets.all, func(o *Directory) bool {
		holds, _ := o.own.Busy()
		return holds > 0
	})
}

// publish returns the command that publishes terms, by their text, at master i.
func (d *Directory) publish(text string, i int, alone bool) *script.Command {
	at, _ := d.All.Nodes[i].Time(clock.Now())
	return script.PublishTerms(d.by, text, terms.Life(d.id.Lease), at, alone)
}

// recordLocked returns the command that publishes the client's record, nil if it keeps none.
func (d *Directory) recordLocked(own *terms.Terms, holds, waits int) *script.Command {
	if d.id.Hidden {
		return nil
	}
	record := d.id.now(own, holds, waits)
	record.At = d.All.Now().UnixMilli()
	return record.Publish(d.All.ID)
}

const (
	// young is how long a process may still be unknown to other clients, which publish the run id before it.
	young = script.RecordLife + 20*time.Second

	// gone is after how long without a connection a client publishes that another process may serve at the address
	// of a master. Without an address that would mean any server.
	gone = 50 * time.Second
)

// ownTermsLocked returns the terms of this client, by what it is, or was, connected to.
func (d *Directory) ownTermsLocked(now clock.Instant) *terms.Terms {
	t := &terms.Terms{Masters: make([]script.Master, len(d.All.Nodes)), Part: d.part.ID, Now: d.part.Now, Next: d.part.Next, Lease: d.id.Lease.Milliseconds(), Guard: d.id.Guard.Milliseconds(), Layout: script.Layout}
	for i, n := range d.All.Nodes {
		at, m := &d.at[i], &t.Masters[i]
		p := n.Process()
		if p.Run != "" {
			first := at.process.Run == ""
			for _, o := range d.sets.all { // the master may know of somebody who conflicts with the process in another set
				if first || o != d && now.Sub(at.left) > terms.Term(d.id.Lease) {
					o.standing.Begin(now)
					o.until.Store(nil)
				}
			}
			at.process, at.left = p, now
		}
		*m = script.Master{Run: script.ShortRun(at.process.Run), DB: at.process.DB, Address: at.address}
		m.Young = p.Run == "" || now.Sub(p.Since) < young
		m.Gone = script.Place(m) != "" && m.Run != "" && now.Sub(at.left) > gone
	}
	for _, o := range d.sets.all {
		if o != d && o.terms != nil {
			if t.Others == nil {
				t.Others = make(map[string][]script.Master)
			}
			t.Others[o.part.ID] = o.terms.Masters
		}
	}
	if d.terms != nil && reflect.DeepEqual(t, d.terms) {
		return d.terms // its text takes several times as long
	}
	d.terms = t
	if text := t.Text(); text != d.text {
		d.text = text
		if d.standing.Established(now) {
			for _, n := range d.All.Nodes {
				n.Noted(false) // others know the terms before
			}
		}
	}
	return t
}

// denied tells the log, once, that a master refuses what clients publish there, unless that may pass. It
// harms no lock.
func (d *Directory) denied(i int, a script.Answer) {
	if a.Outcome == script.Failed { // what a node answers at once may be told with the mutex held
		d.sets.mu.Lock()
		defer d.sets.mu.Unlock()
		d.deniedLocked(i, a)
	}
}

func (d *Directory) deniedLocked(i int, a script.Answer) {
	if a.Outcome != script.Failed || server.Heals(a.Err) {
		return
	}
	if kind := server.Kind(a.Err); d.at[i].denied != kind {
		d.at[i].denied = kind
		d.All.Log.Warn("redlock: client record is refused: others do not see who this client is", "master", d.All.Nodes[i].Name(), "error", a.Err)
	}
}

// Retract takes back what the client published.
func (d *Directory) Retract() {
	if !d.introduced() {
		return
	}
	d.sets.mu.Lock()
	published := d.published
	d.sets.mu.Unlock()
	for _, n := range d.All.Nodes {
		n.Present(nil)
		if published {
			n.Send(script.Withdraw(d.by), poll.Nobody)
			n.Send(script.Retract(d.All.ID), poll.Nobody)
		}
	}
}
