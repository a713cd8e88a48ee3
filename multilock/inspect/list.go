package inspect

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/redlock/multilock/clients"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/multilock/terms"
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
// somebody has: the first ones behind the name after, limit names at most, in their order. It searches for about ten
// seconds at most.
//
// The error is a [*poll.MajorityError] when fewer than a majority of the masters could be searched.
//
// Cost: on each master three SCAN for each hundred keys that it has, and a script call for each lock and for each
// permit that is held, and for each semaphore.
func List(ctx context.Context, d *clients.Directory, pattern, after string, limit int) (Listing, error) {
	var l Listing
	start := time.Now()
	prefix := d.All.Nodes[0].Prefix()  // that of all
	limit = min(limit, math.MaxInt/32) // what follows from it does not overflow
	found := &names{after: after, limit: 10*limit + spare, all: make(map[target]bool)}
	match := prefix.Pattern(pattern)
	scans := []func(cursor uint64) *script.Command{
		func(cursor uint64) *script.Command { return script.Scan(cursor, match, "hash") },
		func(cursor uint64) *script.Command { return script.ScanSlots(cursor, match, false) },
		func(cursor uint64) *script.Command { return script.ScanSlots(cursor, match, true) },
	}
	err := d.All.Everywhere(ctx, "list", pattern, func(looking context.Context, i int) script.Answer {
		a := script.Answer{Outcome: script.Done}
		for n := 0; n < len(scans) && a.Outcome == script.Done; n++ {
			a = d.All.Scan(looking, i, scans[n], func(keys []string) (more bool) {
				found.add(prefix, keys, n > 0)
				return true
			})
		}
		if looking.Err() != nil && ctx.Err() == nil {
			found.late.Store(true)
			a = script.Answer{Outcome: script.Done}
		}
		return a
	})
	if err != nil {
		return l, err
	}
	d.Guard(ctx) // so that not each name asks for it
	all := found.first()
	l.More = found.more || found.late.Load()
	for part := range slices.Chunk(all, listedAtOnce) {
		if time.Since(start) > poll.ScanTime {
			l.More = true
			break
		}
		listed, err := listed(ctx, d, part)
		if err != nil {
			return l, err
		}
		l.Locks = append(l.Locks, listed...)
		if first, more := Names(l.Locks, limit); more {
			l.Locks, l.More = first, true
			break
		}
	}
	var holders []string
	for _, one := range l.Locks {
		holders = append(holders, one.Holder)
	}
	clients := d.Find(ctx, holders)
	for i := range l.Locks {
		l.Locks[i].Client = clients[l.Locks[i].Holder]
	}
	return l, nil
}

// Names returns the first of a list: limit of them, and those behind that have the last one's name. It reports whether
// there are others.
func Names(all []Listed, limit int) (first []Listed, more bool) {
	for limit < len(all) && all[limit].Name == all[limit-1].Name {
		limit++
	}
	return all[:min(limit, len(all))], limit < len(all)
}

// target is a lock, or the semaphore of that name.
type target struct {
	key       string
	semaphore bool
}

// compare orders targets by name, a lock before the semaphore of the same name.
func (t target) compare(o target) int {
	switch {
	case t.key != o.key:
		return strings.Compare(t.key, o.key)
	case t.semaphore == o.semaphore:
		return 0
	case o.semaphore:
		return -1
	}
	return 1
}

// Compare orders what is listed by name, a lock before the semaphore of the same name.
func (l Listed) Compare(o Listed) int {
	return target{l.Name, l.Semaphore}.compare(target{o.Name, o.Semaphore})
}

// names are the first ones, in their order, of those that were found.
type names struct {
	after string // the first of them is behind this one
	limit int

	mu   sync.Mutex
	all  map[target]bool // up to twice the limit, so that they need not be sorted for each
	more bool

	late atomic.Bool // there was no time for all
}

// add takes keys that may be locks, or slots of semaphores.
func (n *names) add(prefix script.Prefix, keys []string, slots bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, key := range keys {
		name, ok := prefix.Name(key)
		if slots {
			name, _ = script.SlotOf(name)
			ok = name != ""
		} else {
			ok = ok && script.Reserved(key) == ""
		}
		if ok && name > n.after {
			n.all[target{name, slots}] = true
		}
	}
	if len(n.all) > 2*n.limit {
		n.first()
	}
}

// first returns the first names, in their order, and forgets the others.
func (n *names) first() []target {
	all := slices.SortedFunc(maps.Keys(n.all), target.compare)
	if len(all) <= n.limit {
		return all
	}
	for _, t := range all[n.limit:] {
		delete(n.all, t)
	}
	n.more = true
	return all[:n.limit]
}

// listed inspects targets, and returns those that somebody has.
func listed(ctx context.Context, d *clients.Directory, targets []target) (list []Listed, err error) {
	all, errs := make([]Listed, len(targets)), make([]error, len(targets))
	var wg sync.WaitGroup
	for i, t := range targets {
		wg.Go(func() { all[i], errs[i] = listOne(ctx, d, t) })
	}
	wg.Wait()
	for i, l := range all {
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
func listOne(ctx context.Context, d *clients.Directory, t target) (Listed, error) {
	l := Listed{Name: t.key, Semaphore: t.semaphore}
	look := Lock
	if t.semaphore {
		look = Permits
	}
	in, err := look(ctx, d, t.key)
	why, _ := errors.AsType[*poll.MajorityError](err)
	_, another := errors.AsType[*script.NotLockError](err)
	if err != nil && (why == nil || !why.Hopeless && (!another || ctx.Err() != nil)) {
		return l, err
	}
	// Where the key is another program's, or not the user's, it is what the other masters say of it.
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
