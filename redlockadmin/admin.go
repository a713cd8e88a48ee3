// Package redlockadmin looks at the locks of a client's masters, whoever has them, and frees them by force: for
// operators, for pages and for health checks. Package redlock takes locks.
//
// # Usage
//
//	admin := redlockadmin.Of(client)
//	seen, err := admin.Inspect(ctx, "orders:42")
//	if err != nil {
//		return err
//	}
//	if seen.Held {
//		fmt.Println(seen.Client, "has it for", seen.HeldFor)
//	}
//
// # Concurrency
//
// All methods may be called from any goroutine.
//
// # Errors
//
// A method returns a [*redlock.MajorityError] that matches redlock.ErrNoQuorum when fewer than a majority of the
// masters answered. For a client of several sets of masters, see [redlock.NewSets], it joins the errors of the sets.
package redlockadmin

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"example.com/redlock/internal/inside"
	"example.com/redlock/multilock"
	"example.com/redlock/multilock/clients"
	"example.com/redlock/multilock/terms"
	"example.com/redlock/redlock"
)

// Admin looks at what a client's masters have. It has no state.
type Admin struct{ client inside.Client }

// Of returns the Admin of a client, which must be one that package redlock has made.
func Of(client *redlock.Client) *Admin { return &Admin{inside.Of(client)} }

// info returns what a user learns of a client; nil for none.
func info(client *terms.ClientInfo) *redlock.ClientInfo {
	return inside.Info(client).(*redlock.ClientInfo)
}

// owners are those whose clients are looked up, and where each client goes.
type owners struct {
	names   []string
	clients []**redlock.ClientInfo
}

func (o *owners) add(name string, client **redlock.ClientInfo) {
	o.names, o.clients = append(o.names, name), append(o.clients, client)
}

// find looks all clients up. One that has no record is nil.
func (o *owners) find(ctx context.Context, d *clients.Directory) {
	found := d.Find(ctx, o.names)
	for i, name := range o.names {
		*o.clients[i] = info(found[name])
	}
}

// gather returns what f returns of all sets of masters, in any order.
func gather[E any](a *Admin, f func(*multilock.Masters) ([]E, error)) (all []E, err error) {
	var mu sync.Mutex
	err = a.client.All(func(m *multilock.Masters) error {
		list, err := f(m)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, list...)
		return err
	})
	return all, err
}

// IDs returns the client's uuids, sorted: one for each of its sets of masters. Each is the first part of its owners
// there, "uuid:rN", and the ID of its [redlock.ClientInfo].
func (a *Admin) IDs() []string {
	ids, _ := gather(a, func(m *multilock.Masters) ([]string, error) { return []string{m.All.ID}, nil })
	slices.Sort(ids)
	return ids
}

// SetsOf returns the IDs of the sets in which name is locked: one, or two in order while it moves, see
// [redlock.SetsConfig]. The set of a client that redlock.New made has the ID "".
func (a *Admin) SetsOf(name string) []string { return a.client.SetsOf(name) }

// Clients returns the records of all clients of these masters that keep one, by name, host and process
// id: who uses the masters, since when, with which version of the library, and how much they hold and
// wait for. A client that died is among them for a minute. It reads some 10,000 records on each master at most.
//
// A user needs the permission +scan, which locks do without.
//
// Cost: on each master a SCAN for each hundred keys that it has, and a GETRANGE for each record.
func (a *Admin) Clients(ctx context.Context) ([]redlock.ClientInfo, error) {
	all, err := gather(a, func(m *multilock.Masters) (list []redlock.ClientInfo, err error) {
		found, err := m.Clients.List(ctx)
		for i := range found {
			list = append(list, *info(&found[i]))
		}
		return list, err
	})
	slices.SortFunc(all, func(a, b redlock.ClientInfo) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Host, b.Host), cmp.Compare(a.PID, b.PID), strings.Compare(a.ID, b.ID))
	})
	return slices.CompactFunc(all, func(a, b redlock.ClientInfo) bool { return a.ID == b.ID }), err
}

// Conflict returns a [*redlock.ConflictError] if other clients use some of the masters in a way that conflicts with
// that of this client: with other masters, so that majorities need not meet, or with leases that are longer than a
// restart guard, for example. It is nil if no conflict is known. A conflict does not stop a client that takes locks
// already. The log and redlock.Config.Trace report it as well.
//
// Cost: none.
func (a *Admin) Conflict() error {
	return a.client.All(func(m *multilock.Masters) error { return m.Clients.Conflict() })
}
