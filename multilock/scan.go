package multilock

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"example.com/redlock/node"
	"example.com/redlock/node/script"
)

// scanTime bounds the search for keys on the masters.
const scanTime = 10 * time.Second

// reply takes the answer to one command of one master.
type reply chan script.Answer

// Answer implements [node.Receiver].
func (r reply) Answer(_ int, a script.Answer) { r <- a }

// tell sends cmds to master i, and returns its answers.
func (m *Masters) tell(i int, cmds ...*script.Command) []script.Answer {
	replies := make([]reply, len(cmds))
	for k, cmd := range cmds {
		replies[k] = make(reply, 1)
		m.nodes[i].Send(cmd, replies[k], i)
	}
	answers := make([]script.Answer, len(cmds))
	for k, r := range replies {
		answers[k] = <-r
	}
	return answers
}

// everywhere does look to all masters at the same time, and waits for all. If fewer than a majority
// could be looked at, the error is a [*MajorityError] of op.
func (m *Masters) everywhere(ctx context.Context, op, name string, look func(ctx context.Context, i int) script.Answer) error {
	if !m.begin() {
		return ErrClosed
	}
	defer m.tries.Done()
	looking, cancel := context.WithTimeout(ctx, scanTime)
	defer cancel()
	p := &poll{ballot: m.newBallot(), done: make(chan struct{})}
	for i := range m.nodes {
		// Goroutines: one for each master, which ends with its last answer: at the latest a node
		// timeout after looking.
		go func() { p.Answer(i, look(looking, i)) }()
	}
	b, cut := p.wait(context.WithoutCancel(ctx))
	if done, _, _ := b.tally(); m.majority(done) {
		return nil
	}
	if ctx.Err() != nil {
		cut = Ended(ctx)
	}
	return m.lost(op, name, b, ErrNoQuorum, cut, nil)
}

// scan asks master i for keys, part after part, until there are no more, found has enough, or ctx ends,
// which is an Unsent Answer.
func (m *Masters) scan(ctx context.Context, i int, part func(cursor uint64) *script.Command, found func(keys []string) (more bool)) script.Answer {
	for cursor := uint64(0); ; {
		if ctx.Err() != nil {
			return script.Answer{Outcome: script.Unsent, Err: node.ErrTimeout}
		}
		a := m.tell(i, part(cursor))[0]
		if a.Outcome != script.Done {
			return a
		}
		keys, next, err := script.Scanned(a.Reply)
		if err != nil {
			return script.Answer{Outcome: script.Failed, Err: err}
		}
		if !found(keys) || next == 0 {
			return script.Answer{Outcome: script.Done}
		}
		cursor = next
	}
}

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
