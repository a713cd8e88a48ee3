package redlockadmin

import (
	"context"
	"errors"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/redlock/multilock"
	"example.com/redlock/multilock/clients"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node/script"
	"example.com/redlock/redlock"
)

// ErrMore is the last error of a [Admin.List] that left locks out, or may have.
var ErrMore = errors.New("redlock: there are more locks, or may be")

// Listed is a lock or a semaphore that somebody has.
type Listed struct {
	Name      string
	Semaphore bool
	Held      bool                // a majority of the masters name who has it
	Holder    string              // owner, "uuid:rN", or "shared": readers; empty for a semaphore
	Client    *redlock.ClientInfo // of the holder; nil if it has no record
	Count     int                 // hold count
	Remaining time.Duration       // until a majority is free, or the first permit; the largest Duration when it never expires
	HeldFor   time.Duration       // how long the holder has had it; 0 if that is not known
	Token     int64               // fencing token; 0 if that is not known, as of a holder that may only keep the lock
	Readers   int                 // that have it
	Slots     int                 // of a semaphore: permits that are held
	Waiting   int                 // who wait, among the first 32 in a master's queue; for permits how many clients, among its first 100 places
	Masters   int                 // that name the holder, or somebody
}

// List searches for the locks and semaphores that somebody has and whose names match pattern, and returns them in the
// order of their names: the first ones behind the name after, which is "" for those from the beginning on, and at most
// limit names, which is above 0. The last of them is the next call's after. A name that moves between sets of masters
// comes twice, once for each set, and so does one that is a lock and a semaphore.
//
// Pattern is that of Redis: * stands for any characters, ? for one, [ab] for one of those. Locks of Redisson's are among
// them; other keys are not. Each range over the result searches anew, for ten seconds at most.
//
// An error comes last: ErrMore if the limit or the time left locks out, or the error of the package. A user needs the
// permission +scan, which locks do without.
//
// Cost: on each master three SCAN for each hundred keys that it has, a script call for each lock and for
// each permit that is held, and one more for each semaphore.
func (a *Admin) List(ctx context.Context, pattern, after string, limit int) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		if limit < 1 {
			yield(Listed{}, errors.New("redlock: the limit of a list is below 1"))
			return
		}
		var more atomic.Bool
		all, err := gather(a, func(m *multilock.Masters) ([]Listed, error) {
			return list(ctx, m.Clients, pattern, after, limit, &more)
		})
		slices.SortStableFunc(all, func(a, b Listed) int {
			return target{a.Name, a.Semaphore}.compare(target{b.Name, b.Semaphore})
		})
		for _, one := range page(all, limit, &more) {
			if !yield(one, nil) {
				return
			}
		}
		if more.Load() && err == nil {
			err = ErrMore
		}
		if err != nil {
			yield(Listed{}, err)
		}
	}
}

// page returns the first of a list: limit of them, and those behind that have the last one's name. It notes whether
// there are others.
func page(all []Listed, limit int, more *atomic.Bool) []Listed {
	for limit < len(all) && all[limit].Name == all[limit-1].Name {
		limit++
	}
	if limit >= len(all) {
		return all
	}
	more.Store(true)
	return all[:limit]
}

// spare is how many keys List looks at besides ten times as many as it may list: most hashes that
// another program keeps on the masters are no locks.
const spare = 1000

// list is List for one set of masters. It notes whether there are more, or may be.
func list(ctx context.Context, d *clients.Directory, pattern, after string, limit int, more *atomic.Bool) (all []Listed, err error) {
	start := time.Now()
	prefix := d.All.Nodes[0].Prefix() // that of all
	// What follows from the limit does not overflow.
	found := &names{after: after, limit: 10*min(limit, math.MaxInt/32) + spare, all: make(map[target]bool), more: more}
	match := prefix.Pattern(pattern)
	scans := []func(cursor uint64) *script.Command{
		func(cursor uint64) *script.Command { return script.Scan(cursor, match, "hash") },
		func(cursor uint64) *script.Command { return script.ScanSlots(cursor, match, false) },
		func(cursor uint64) *script.Command { return script.ScanSlots(cursor, match, true) },
	}
	err = d.All.Everywhere(ctx, "list", pattern, func(looking context.Context, i int) script.Answer {
		a := script.Answer{Outcome: script.Done}
		for n := 0; n < len(scans) && a.Outcome == script.Done; n++ {
			a = d.All.Scan(looking, i, scans[n], func(keys []string) bool {
				found.add(prefix, keys, n > 0)
				return true
			})
		}
		if looking.Err() != nil && ctx.Err() == nil {
			more.Store(true)
			a = script.Answer{Outcome: script.Done}
		}
		return a
	})
	if err != nil {
		return nil, err
	}
	d.Guard(ctx) // so that not each name asks for it
	for part := range slices.Chunk(found.first(), atOnce) {
		if time.Since(start) > poll.ScanTime {
			more.Store(true)
			break
		}
		looked := make([]*Listed, len(part))
		for i, t := range part {
			looked[i] = &Listed{Name: t.name, Semaphore: t.semaphore}
		}
		if err := each(looked, func(l *Listed) error { return l.look(ctx, d) }); err != nil {
			return all, err
		}
		for _, l := range looked {
			if l.Masters > 0 {
				all = append(all, *l)
			}
		}
		first := page(all, limit, more)
		if len(first) < len(all) {
			all = first
			break
		}
	}
	var who owners
	for i := range all {
		who.add(all[i].Holder, &all[i].Client)
	}
	who.find(ctx, d)
	return all, nil
}

// target is a lock, or the semaphore of that name.
type target struct {
	name      string
	semaphore bool
}

// compare orders targets by name, a lock before the semaphore of the same name.
func (t target) compare(o target) int {
	switch {
	case t.name != o.name:
		return strings.Compare(t.name, o.name)
	case t.semaphore == o.semaphore:
		return 0
	case o.semaphore:
		return -1
	}
	return 1
}

// look inspects the lock or the semaphore of that name.
func (l *Listed) look(ctx context.Context, d *clients.Directory) (err error) {
	if l.Semaphore {
		var in SemaphoreInspection
		in, err = permits(ctx, d, l.Name)
		l.Slots = len(in.Slots)
		l.Held = l.Slots > 0
		for i, s := range in.Slots {
			if i == 0 || s.Remaining < l.Remaining {
				l.Remaining = s.Remaining
			}
		}
		for _, s := range in.Masters {
			waiting := make(map[string]bool)
			for _, w := range s.Queue {
				waiting[clients.Of(w.Owner)] = true
			}
			l.Waiting = max(l.Waiting, len(waiting))
			if len(s.Slots) > 0 {
				l.Masters++
			}
		}
	} else {
		var in Inspection
		in, err = look(ctx, d, l.Name, l.Name)
		l.Held, l.Holder, l.Remaining, l.HeldFor, l.Readers = in.Held, in.Holder, in.Remaining, in.HeldFor, len(in.Readers)
		for _, s := range in.Masters {
			l.Waiting = max(l.Waiting, len(s.Queue))
			if s.Holder != "" && (!l.Held || s.Holder == l.Holder) {
				l.Masters++
				l.Count = max(l.Count, s.Count)
				if !script.Keeps(l.Holder) { // or s.Token is the last that its client may give out
					l.Token = max(l.Token, s.Token)
				}
			}
		}
	}
	why, _ := errors.AsType[*poll.MajorityError](err)
	_, another := errors.AsType[*script.NotLockError](err)
	if why != nil && (why.Hopeless || another && ctx.Err() == nil) {
		return nil // the key is another program's, or not the user's: this is what the other masters say of it
	}
	return err
}

// names are the first ones, in their order, of those that were found.
type names struct {
	after string // the first of them is behind this one
	limit int
	more  *atomic.Bool // there are others

	mu  sync.Mutex
	all map[target]bool // up to twice the limit, so that they need not be sorted for each
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
	n.more.Store(true)
	return all[:n.limit]
}
