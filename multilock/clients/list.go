package clients

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/terms"
	"example.com/redlock/node/script"
)

// maxListed bounds the records that are read from one master.
const maxListed = 10_000

// List returns the records of all clients that a master has, by name, host and process.
//
// The error is a [*poll.MajorityError] when fewer than a majority of the masters told.
//
// Cost: on each master a SCAN for each hundred keys that it has, and a GET for each record.
func (d *Directory) List(ctx context.Context) ([]terms.ClientInfo, error) {
	var mu sync.Mutex
	all := make(map[string]terms.ClientInfo) // of each the newest record
	err := d.All.Everywhere(ctx, "listed", "", func(ctx context.Context, i int) script.Answer {
		seen := make(map[string]bool) // SCAN may name a key twice
		return d.All.Scan(ctx, i, script.ScanClients, func(keys []string) bool {
			var clients []string
			var cmds []*script.Command
			for _, key := range keys {
				if client := script.ClientOf(key); client != "" && !seen[client] {
					seen[client] = true
					clients, cmds = append(clients, client), append(cmds, script.LookUp(client))
				}
			}
			answers := d.All.Tell(i, cmds...)
			mu.Lock()
			defer mu.Unlock()
			for k, a := range answers {
				if r, ok := script.ReadRecord(a.Reply); ok {
					info := all[clients[k]]
					if info.Masters == 0 || r.At > info.Record.At {
						info.Record = r
					}
					info.Masters++
					all[clients[k]] = info
				}
			}
			return len(seen) < maxListed
		})
	})
	d.sets.mu.Lock()
	own := d.ownTermsLocked(clock.Now())
	d.sets.mu.Unlock()
	list := make([]terms.ClientInfo, 0, len(all))
	for client, found := range all {
		info := d.info(client, found.Record)
		info.Masters = found.Masters
		for k := range info.Record.Terms.Masters {
			r := &info.Record.Terms.Masters[k]
			r.Young = slices.ContainsFunc(own.Masters, func(o script.Master) bool { return o.Young && o.Run == r.Run })
		}
		list = append(list, *info)
	}
	slices.SortFunc(list, func(a, b terms.ClientInfo) int {
		r, s := &a.Record, &b.Record
		return cmp.Or(cmp.Compare(r.Name, s.Name), cmp.Compare(r.Host, s.Host), cmp.Compare(r.PID, s.PID), cmp.Compare(a.ID, b.ID))
	})
	return list, err
}
