package multilock

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"example.com/redlock/multilock/terms"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
)

// Listing is what List found.
type Listing struct {
	Locks []Listed // by name, locks before the semaphores of the same name
	More  bool     // there are more, or may be: there was no room, or no time, for them
}

// Listed is a lock or a semaphore that somebody has.
type Listed struct {
	Name      string
	Semaphore bool
	Held      bool              // a majority of the masters name who has it
	Holder    string            // owner, "uuid:rN", or "shared": readers; empty for a semaphore
	Client    *terms.ClientInfo // of the holder; nil if it has no record
	Count     int               // hold count
	Left      time.Duration     // until a majority is free, or the first permit; the largest Duration when it never expires
	For       time.Duration     // how long the holder has had it; 0 if that is not known
	Token     int64             // fencing token
	Readers   int               // that have it
	Slots     int               // of a semaphore: permits that are held
	Waiting   int               // in the queue, as far as a master tells: 32 of a lock, 100 of a semaphore
	Masters   int               // that name the holder, or somebody
}

// spare is how many keys List looks at besides ten times as many as it may list: most hashes that
// another program keeps on the masters are no locks.
const spare = 1000

// listedAtOnce is how many names are inspected at the same time.
const listedAtOnce = 128

// List returns the locks and semaphores with names that match pattern, as Redis matches keys, and that
// somebody has: limit of them at most, in the order of their names. It searches for about ten seconds at most.
//
// The error is a [*MajorityError] when fewer than a majority of the masters could be searched.
//
// Cost: on each master three SCAN for each hundred keys that it has, and a script call for each 16 names.
func (m *Masters) List(ctx context.Context, pattern string, limit int) (Listing, error) {
	var l Listing
	start := time.Now()
	found := &names{limit: 10*limit + spare, all: make(map[target]bool)}
	err := m.everywhere(ctx, "list", pattern, func(looking context.Context, i int) script.Answer {
		a := m.scan(looking, i, func(cursor uint64) *script.Command {
			return script.Scan(cursor, pattern, "hash")
		}, found.locks)
		for _, inBraces := range [...]bool{false, true} {
			if a.Outcome == script.Done {
				a = m.scan(looking, i, func(cursor uint64) *script.Command {
					return script.ScanSemaphores(cursor, pattern, inBraces)
				}, found.semaphores)
			}
		}
		if looking.Err() != nil && ctx.Err() == nil {
			found.cut()
			a = script.Answer{Outcome: script.Done}
		}
		return a
	})
	if err != nil {
		return l, err
	}
	l.More = found.more
	for part := range slices.Chunk(slices.SortedFunc(maps.Keys(found.all), target.compare), listedAtOnce) {
		if time.Since(start) > scanTime {
			l.More = true
			break
		}
		listed, err := m.listed(ctx, part)
		if err != nil {
			return l, err
		}
		l.Locks = append(l.Locks, listed...)
		if len(l.Locks) > limit {
			l.Locks, l.More = l.Locks[:limit], true
			break
		}
	}
	var holders []string
	for _, one := range l.Locks {
		holders = append(holders, one.Holder)
	}
	clients := m.Find(ctx, holders)
	for i := range l.Locks {
		l.Locks[i].Client = clients[l.Locks[i].Holder]
	}
	return l, nil
}

// names are those that were found.
type names struct {
	mu    sync.Mutex
	limit int
	all   map[target]bool
	more  bool
}

// locks takes keys that may be locks.
func (n *names) locks(keys []string) (more bool) {
	return n.add(keys, func(key string) (target, bool) { return target{key: key}, script.Reserved(key) == "" })
}

// semaphores takes keys of semaphores.
func (n *names) semaphores(keys []string) (more bool) {
	return n.add(keys, func(key string) (target, bool) {
		name := script.SemaphoreOf(key)
		return target{name, true}, name != ""
	})
}

func (n *names) add(keys []string, of func(key string) (target, bool)) (more bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, key := range keys {
		t, ok := of(key)
		if !ok || n.all[t] {
			continue
		}
		if len(n.all) == n.limit {
			n.more = true
			return false
		}
		n.all[t] = true
	}
	return true
}

// cut notes that there was no time for more.
func (n *names) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.more = true
}

// listed inspects targets, and returns those that somebody has.
func (m *Masters) listed(ctx context.Context, targets []target) (list []Listed, err error) {
	all, errs := make([]Listed, len(targets)), make([]error, len(targets))
	var wg sync.WaitGroup
	for i, t := range targets {
		wg.Go(func() { all[i], errs[i] = m.listOne(ctx, t) })
	}
	wg.Wait()
	for i, l := range all {
		if why, ok := errors.AsType[*MajorityError](errs[i]); ok && why.Hopeless() {
			continue // another program's
		}
		if errs[i] != nil {
			return nil, errs[i]
		}
		if l.Masters > 0 {
			list = append(list, l)
		}
	}
	return list, nil
}

// listOne inspects a lock or a semaphore.
func (m *Masters) listOne(ctx context.Context, t target) (Listed, error) {
	l := Listed{Name: t.key, Semaphore: t.semaphore}
	look := m.Inspect
	if t.semaphore {
		look = m.InspectPermits
	}
	in, err := look(ctx, t.key)
	if err != nil {
		return l, err
	}
	l.Held, l.Holder, l.Left, l.For = in.Holder != "" || len(in.Slots) > 0, in.Holder, in.Left, in.For
	l.Readers, l.Slots = len(in.Readers), len(in.Slots)
	for i, s := range in.Slots {
		if i == 0 || s.Left < l.Left {
			l.Left = s.Left
		}
	}
	for _, v := range in.Views {
		l.Waiting = max(l.Waiting, len(v.Queue))
		if len(v.Slots) == 0 && (v.Holder == "" || l.Held && v.Holder != l.Holder) {
			continue
		}
		l.Masters++
		l.Count, l.Token = max(l.Count, v.Count), max(l.Token, v.Token)
	}
	if t.semaphore {
		l.Token = 0 // each slot has its own
	}
	return l, nil
}

// scanTime bounds the search for keys on the masters.
const scanTime = 10 * time.Second

// tell sends cmds to master i, and returns its answers.
func (m *Masters) tell(i int, cmds ...*script.Command) []script.Answer {
	answers := make([]script.Answer, len(cmds))
	var wg sync.WaitGroup
	for k, cmd := range cmds {
		wg.Add(1)
		m.nodes[i].Send(cmd, receiver(func(_ int, a script.Answer) {
			answers[k] = a
			wg.Done()
		}), i)
	}
	wg.Wait()
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
	p := m.newPoll(nil)
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
