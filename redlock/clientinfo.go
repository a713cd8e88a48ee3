package redlock

import (
	"time"

	"example.com/redlock/multilock/terms"
	"example.com/redlock/node/script"
)

// ClientInfo is what a client says of itself: its record, which it keeps on every master for others to see, and
// refreshes every 12 to 18 s, or sooner if its Lease is shorter. A record that is not refreshed ends after a minute.
// Package redlockadmin lists those of all clients.
type ClientInfo struct {
	ID      string        // its uuid: the first part of its owners, "uuid:rN"
	Name    string        // Config.Name
	Host    string        // name of its machine
	Program string        // base name of its executable
	Version string        // of this library
	PID     int           // process id on its machine
	Since   time.Time     // when it was made, by its own clock
	Seen    time.Duration // since it last refreshed its record, by the masters' clocks
	Holds   int           // locks and permits that it had then
	Waits   int           // calls that waited then
	Terms   Terms         // how it uses its masters
	At      int           // how many masters have its record; 0 unless the clients were listed
}

// String names the client: "orders-api on host-7 (pid 4242)".
func (i ClientInfo) String() string { return i.inside().String() }

// Terms are how a client uses its masters, as it tells other clients. Two clients may use some of the same masters
// only if their terms go together, see [Terms.Compare].
type Terms struct {
	Masters []Master
	Lease   time.Duration // the longest that it takes: Config.MaxLease
	Guard   time.Duration // Config.RestartGuard; 0: none
	Layout  int           // number of what its library stores at masters; 0: the library is older than the number

	// Of a client of several sets of masters, see [NewSets]: the ID of the set that the Masters are, the IDs of all
	// sets that names are spread over, and of those that they will be spread over, sorted; and the masters of its
	// other sets, by ID. All are empty for a client of one set.
	Part      string
	Now, Next []string
	Others    map[string][]Master
}

// Master is a master as the terms of a client name it: a database of a Redis server.
type Master struct {
	Run     string // the first 8 digits of the server's run id; empty if the client was never connected to it
	DB      int    // number of the database; -1 if that is not known
	Address string // host and port, "localhost:6379 on host-7" where they lead elsewhere on other machines; may be empty

	known terms.Master // what else is known of it, for Compare
}

// String names the masters, by their addresses as far as they are known.
func (t Terms) String() string { return t.inside().String() }

// Route names the sets that names are spread over: "the sets 1, 2 now and 1, 3 next".
func (t Terms) Route() string { return t.inside().Route() }

// Key is the same for clients that use the same masters in the same way, whatever addresses each has for them.
func (t Terms) Key() string { return t.inside().Text() }

// Compare says whether clients with the terms t and o may take locks at the same time, where they meet at a master.
//
// conflict is [ErrOverlap], [ErrShortGuard], [ErrRoute] or [ErrLayout] if they must not; nil if they may, as far as is known.
// proven reports whether that much is known of their masters: majorities of both meet whichever masters restart, or
// they are different sets of several, which share no names. A master that a client was not connected to, or that
// restarted lately, leaves it unproven for a minute or two.
func (t Terms) Compare(o Terms) (proven bool, conflict error) {
	a, b := t.inside(), o.inside()
	return t.Part != o.Part || terms.Proven(a, b), terms.Conflict(a, b)
}

// newClientInfo returns i as users see it; nil for none.
func newClientInfo(i *terms.ClientInfo) *ClientInfo {
	if i == nil {
		return nil
	}
	r := &i.Record
	return &ClientInfo{
		ID: i.ID, Name: r.Name, Host: r.Host, Program: r.Program, Version: r.Version, PID: r.PID,
		Since: time.UnixMilli(r.Since), Seen: i.Seen, Holds: r.Holds, Waits: r.Waits, Terms: newTerms(&r.Terms), At: i.Masters,
	}
}

// inside returns what names the client.
func (i *ClientInfo) inside() *terms.ClientInfo {
	if i == nil {
		return nil
	}
	return &terms.ClientInfo{Record: script.Record{Name: i.Name, Host: i.Host, PID: i.PID}}
}

func newTerms(t *terms.Terms) Terms {
	return Terms{
		Masters: mapped(t.Masters, newMaster), Lease: time.Duration(t.Lease) * time.Millisecond, Guard: time.Duration(t.Guard) * time.Millisecond, Layout: t.Layout,
		Part: t.Part, Now: t.Now, Next: t.Next, Others: mappedByID(t.Others, newMaster),
	}
}

func (t *Terms) inside() *terms.Terms {
	return &terms.Terms{
		Masters: mapped(t.Masters, Master.inside), Lease: t.Lease.Milliseconds(), Guard: t.Guard.Milliseconds(), Layout: t.Layout,
		Part: t.Part, Now: t.Now, Next: t.Next, Others: mappedByID(t.Others, Master.inside),
	}
}

func newMaster(m terms.Master) Master {
	return Master{Run: m.Run, DB: m.DB, Address: m.Address, known: m}
}

func (m Master) inside() terms.Master {
	in := m.known
	in.Run, in.DB, in.Address = m.Run, m.DB, m.Address
	return in
}

// mapped returns what f makes of all.
func mapped[E, F any](all []E, f func(E) F) []F {
	list := make([]F, len(all))
	for i := range all {
		list[i] = f(all[i])
	}
	return list
}

func mappedByID[E, F any](all map[string][]E, f func(E) F) map[string][]F {
	var byID map[string][]F
	for id, list := range all {
		if byID == nil {
			byID = make(map[string][]F, len(all))
		}
		byID[id] = mapped(list, f)
	}
	return byID
}
