package multilock

import (
	"sync"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
)

// ClientInfo is what a client says of itself: its record, which it keeps on every master.
type ClientInfo struct {
	ID      string        // uuid: the first part of its owners, "uuid:rN"
	Name    string        // Config.Name
	Host    string        // name of its machine
	Program string        // base name of its executable
	Version string        // of this library
	PID     int           // on its machine
	Since   time.Time     // when it was made, by its own clock
	Seen    time.Duration // since it last refreshed its record, by the masters' clocks
	Holds   int           // locks and permits that it had then
	Waits   int           // calls that waited then
	Set     string        // the masters that it uses, "3:1a2b3c4d,5e6f7081,?": how many, and short run ids, sorted; ? where it is not connected
	Masters int           // how many it uses
	At      int           // how many masters have its record
}

// String names the client: "orders-api on host-7 (pid 4242)".
func (i *ClientInfo) String() string {
	r := script.Record{Name: i.Name, Host: i.Host, PID: i.PID}
	return r.String()
}

// Identity is what a client says of itself that does not change.
type Identity struct {
	Name, Host, Program, Version string
	PID                          int
	Since                        time.Time
	Hidden                       bool // it keeps no record
}

// presence is what a client says of itself at its masters, and what others say of themselves there.
type presence struct {
	Identity

	mu      sync.Mutex
	part    string // which set of several it has, see Part
	at      [Max]presenceAt
	changed clock.Instant // when another process was found behind a master
	others  map[string]*otherSet
}

// presenceAt is what presence knows of one master.
type presenceAt struct {
	run   string // id of the process that was found there last
	set   string // what was published there last
	first int64  // when it was, first, in ms by the master's clock
	stale []string
	told  string // of what refusal the log was told
}

// Introduce has the client keep a record of itself on every master, unless id is Hidden, and compare the
// set of masters that it uses with those that others use. See docs/algorithm.md, "Client records".
//
// Cost: four commands to each master every 12 to 18 s, along with its checks.
func (m *Masters) Introduce(id Identity) {
	m.presence.Identity = id
	m.presence.changed = clock.Now()
	for i, n := range m.nodes {
		n.Present(i, m.notes)
	}
}

// Part says that the client has one of several sets that names are spread over. Clients of sets with
// different ids share masters on purpose.
func (m *Masters) Part(id string) {
	p := &m.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	p.part = id
}

// ID returns the first part of the owners of this client.
func (m *Masters) ID() string { return m.owners.client }

// notes returns what is published at master i now, and asked there.
func (m *Masters) notes(i int) (list []node.Note) {
	p := &m.presence
	runs := make([]string, len(m.nodes))
	for j, n := range m.nodes {
		runs[j] = n.Run()
	}
	holds, waits := m.busy()
	now := clock.Now()
	shown, ok := m.nodes[i].Time(now)
	if !ok {
		shown = time.Now()
	}

	p.mu.Lock()
	defer p.mu.Unlock()
	for j, run := range runs {
		if run != "" && run != p.at[j].run {
			p.at[j].run, p.changed = run, now
		}
	}
	set := fingerprint(runs)
	at := &p.at[i]
	if field := inUse(set, p.part); at.set != field {
		at.set, at.first = field, shown.UnixMilli()
	}
	use := script.Use{Set: at.set, First: min(at.first, shown.UnixMilli()), Last: shown.UnixMilli()}
	if !p.Hidden {
		use.Client = m.ID()
		record := &script.Record{
			Name: p.Name, Host: p.Host, Program: p.Program, PID: p.PID, Version: p.Version,
			Since: p.Since.UnixMilli(), At: m.Now().UnixMilli(), Holds: holds, Waits: waits, Set: set,
		}
		list = append(list, node.Note{Cmd: record.Publish(m.ID()), To: (*published)(m)})
	}
	for _, cmd := range use.Publish() {
		list = append(list, node.Note{Cmd: cmd, To: (*published)(m)})
	}
	if len(at.stale) > 0 {
		list = append(list, node.Note{Cmd: script.Forget(at.stale), To: nobody{}})
		at.stale = nil
	}
	return append(list, node.Note{Cmd: script.Uses(), To: (*heard)(m)})
}

// published takes what became of what was published.
type published Masters

// Answer implements [node.Receiver]. A refusal is told to the log, once, and harms nothing.
func (m *published) Answer(i int, a script.Answer) {
	if a.Outcome != script.Failed {
		return
	}
	p, n := &m.presence, m.nodes[i]
	kind := node.Kind(a.Err)
	p.mu.Lock()
	news := p.at[i].told != kind
	p.at[i].told = kind
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
	for i, n := range m.nodes {
		n.Present(i, nil)
		if !m.presence.Hidden {
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
