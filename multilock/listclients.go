package multilock

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"example.com/redlock/node/script"
)

// maxListed bounds the records that are read from one master.
const maxListed = 10_000

// Clients returns the records of all clients that a master has, by name, host and process.
//
// The error is a [*MajorityError] when fewer than a majority of the masters told.
//
// Cost: on each master a SCAN for each hundred keys that it has, and a GET for each record.
func (m *Masters) Clients(ctx context.Context) ([]ClientInfo, error) {
	var mu sync.Mutex
	all := make(map[string]*sighting)
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
					all[clients[k]] = all[clients[k]].add(r)
				}
			}
			return len(seen) < maxListed
		})
	})
	own := m.ownTerms()
	list := make([]ClientInfo, 0, len(all))
	for client, s := range all {
		info := m.info(client, s.newest)
		info.At = s.at
		for k := range info.Terms.Masters {
			r := &info.Terms.Masters[k]
			r.Young = slices.ContainsFunc(own.Masters, func(o script.Master) bool { return o.Young && o.Run == r.Run })
		}
		list = append(list, *info)
	}
	slices.SortFunc(list, func(a, b ClientInfo) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Host, b.Host), cmp.Compare(a.PID, b.PID), cmp.Compare(a.ID, b.ID))
	})
	return list, err
}

// sighting is what masters have of one client.
type sighting struct {
	newest script.Record
	at     int // how many have a record
}

// add notes that one more master has r.
func (s *sighting) add(r script.Record) *sighting {
	if s == nil {
		return &sighting{r, 1}
	}
	s.at++
	if r.At > s.newest.At {
		s.newest = r
	}
	return s
}
