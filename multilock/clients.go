package multilock

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/redlock/clock"
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

// presence is what a client says of itself at its masters, and what others say of themselves there.
type presence struct {
	Identity

	admitted atomic.Bool // it takes locks, and nobody came before it

	mu      sync.Mutex
	part    Part
	stands  standing
	since   clock.Instant // when it published its terms before its first lock
	look    *look         // the last at the terms of others, for a lock
	told    string        // what terms it published last
	at      [Max]presenceAt
	changed clock.Instant // when another process was found behind a master
	others  map[string]*otherTerms
}

// standing is where a client stands among those that use its masters.
type standing uint8

const (
	onlooker standing = iota // it was asked for no lock yet, and publishes nothing
	refused                  // it takes no lock, since others came first
	user                     // it takes locks
)

// presenceAt is what presence knows of one master.
type presenceAt struct {
	run    string // id of the process that was found there last
	first  int64  // when this client's terms were published there first, in ms by the master's clock; 0: they are not there
	heard  bool   // it has told the terms of others
	denied string // of what refusal the log was told
}

// Introduce has the client know of others that use its masters. Once it is asked for a lock it keeps a
// record of itself on every master, unless id is Hidden, and publishes its terms there. See
// docs/algorithm.md, "Client records".
//
// Cost: up to two commands to each master every 12 to 18 s, along with its checks.
func (m *Masters) Introduce(id Identity) {
	m.presence.Identity = id
	m.presence.changed = clock.Now()
	for _, n := range m.nodes {
		n.Present(m.notes)
	}
}

// Part says which of several sets of masters a client has. Clients of sets with different IDs may share
// masters.
type Part struct {
	ID        string   // empty: it has no others
	Now, Next []string // IDs of the sets that names are spread over, and of those that they will be; sorted
}

// Part says that the client has one of several sets. It is called before Introduce.
func (m *Masters) Part(of Part) { m.presence.part = of }

// ID returns the first part of the owners of this client.
func (m *Masters) ID() string { return m.owners.client }

// notes returns what is published at master i now, and asked there.
func (m *Masters) notes(i int) []node.Note {
	holds, waits := m.busy()
	p := &m.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stands == onlooker && p.look != nil {
		return nil // a caller is about to publish
	}
	own := m.ownTermsLocked()
	if p.stands == onlooker {
		return []node.Note{{Cmd: script.LookAtUses(), To: receiver(m.heard)}}
	}
	own.Refused = p.stands == refused
	publish := own.Publish(p.publisherLocked(m), p.ageLocked())
	list := []node.Note{{Cmd: publish, To: receiver(m.published)}}
	if record := p.recordLocked(m, own, holds, waits); record != nil {
		list = append(list, node.Note{Cmd: record, To: receiver(m.denied)})
	}
	return list
}

// recordLocked returns the command that publishes the client's record, nil if it keeps none.
func (p *presence) recordLocked(m *Masters, own terms.Terms, holds, waits int) *script.Command {
	if p.Hidden {
		return nil
	}
	record := &script.Record{
		Name: p.Name, Host: p.Host, Program: p.Program, PID: p.PID, Version: p.Version,
		Since: p.Since.UnixMilli(), At: m.Now().UnixMilli(), Holds: holds, Waits: waits, Terms: own,
	}
	return record.Publish(m.ID())
}

// publisherLocked returns as who the client publishes its terms.
func (p *presence) publisherLocked(m *Masters) string {
	if p.Hidden {
		return ""
	}
	return m.ID()
}

// ageLocked returns for how many ms the client has used the masters, 0 if it does not.
func (p *presence) ageLocked() int64 {
	if p.stands != user {
		return 0
	}
	return max(1, clock.Since(p.since).Milliseconds())
}

// young is how long a process may still be unknown to other clients, which publish the run id before it.
const young = script.RecordLife + 20*time.Second

// ownTermsLocked returns the terms of this client, by what it is connected to now.
func (m *Masters) ownTermsLocked() terms.Terms {
	p := &m.presence
	now := clock.Now()
	t := terms.Terms{Masters: make([]script.Master, len(m.nodes)), Part: p.part.ID, Now: p.part.Now, Next: p.part.Next, Lease: p.Lease.Milliseconds(), Guard: p.Guard.Milliseconds()}
	for i, n := range m.nodes {
		run, since := n.Process()
		if run != "" && run != p.at[i].run {
			p.at[i].run, p.changed = run, now
		}
		address := "" // not known
		if p.Addressed {
			address = terms.Address(n.Name(), p.Host)
		}
		t.Masters[i] = script.NewMaster(run, address)
		t.Masters[i].Young = run != "" && now.Sub(since) < young
	}
	if text := t.Text(); text != p.told {
		p.told = text
		for i := range p.at {
			p.at[i].first = 0
		}
	}
	return t
}

func (m *Masters) ownTerms() terms.Terms {
	m.presence.mu.Lock()
	defer m.presence.mu.Unlock()
	return m.ownTermsLocked()
}

// denied tells the log, once, that a master refuses what clients publish there, unless that may pass. It
// harms no lock.
func (m *Masters) denied(i int, a script.Answer) {
	if a.Outcome != script.Failed || node.Heals(a.Err) {
		return
	}
	p, n := &m.presence, m.nodes[i]
	kind := node.Kind(a.Err)
	p.mu.Lock()
	news := p.at[i].denied != kind
	p.at[i].denied = kind
	p.mu.Unlock()
	if news {
		m.log.Warn("redlock: client record is refused: others do not see who this client is", "master", n.Name(), "error", a.Err)
	}
}

// retract takes the client's record away.
func (m *Masters) retract() {
	if !m.introduced() {
		return
	}
	m.presence.mu.Lock()
	published := m.presence.stands != onlooker && !m.presence.Hidden
	m.presence.mu.Unlock()
	for i, n := range m.nodes {
		n.Present(nil)
		if published {
			n.Send(script.Retract(m.ID()), nobody{}, i)
		}
	}
}

// busy returns how much the client holds, and how many of its callers wait.
func (m *Masters) busy() (holds, waits int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held, m.waits
}

// maxListed bounds the records that are read from one master.
const maxListed = 10_000

// Clients returns the records of all clients that a master has, by name, host and process.
//
// The error is a [*MajorityError] when fewer than a majority of the masters told.
//
// Cost: on each master a SCAN for each hundred keys that it has, and a GET for each record.
func (m *Masters) Clients(ctx context.Context) ([]terms.ClientInfo, error) {
	var mu sync.Mutex
	type sighting struct {
		newest script.Record
		at     int // how many masters have a record
	}
	all := make(map[string]sighting)
	err := m.everywhere(ctx, "listed", "", func(ctx context.Context, i int) script.Answer {
		seen := make(map[string]bool) // SCAN may name a key twice
		return m.scan(ctx, i, script.ScanClients, func(keys []string) bool {
			var clients []string
			var cmds []*script.Command
			for _, key := range keys {
				if client := script.ClientOf(key); client != "" && !seen[client] {
					seen[client] = true
					clients, cmds = append(clients, client), append(cmds, script.LookUp(client))
				}
			}
			answers := m.tell(i, cmds...)
			mu.Lock()
			defer mu.Unlock()
			for k, a := range answers {
				if r, ok := script.ReadRecord(a.Reply); ok {
					s := all[clients[k]]
					if s.at == 0 || r.At > s.newest.At {
						s.newest = r
					}
					s.at++
					all[clients[k]] = s
				}
			}
			return len(seen) < maxListed
		})
	})
	own := m.ownTerms()
	list := make([]terms.ClientInfo, 0, len(all))
	for client, s := range all {
		info := m.info(client, s.newest)
		info.At = s.at
		for k := range info.Terms.Masters {
			r := &info.Terms.Masters[k]
			r.Young = slices.ContainsFunc(own.Masters, func(o script.Master) bool { return o.Young && o.Run == r.Run })
		}
		list = append(list, *info)
	}
	slices.SortFunc(list, func(a, b terms.ClientInfo) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Host, b.Host), cmp.Compare(a.PID, b.PID), cmp.Compare(a.ID, b.ID))
	})
	return list, err
}
