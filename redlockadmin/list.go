package redlockadmin

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"example.com/redlock/multilock"
	"example.com/redlock/multilock/inspect"
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
	Token     int64               // fencing token
	Readers   int                 // that have it
	Slots     int                 // of a semaphore: permits that are held
	Waiting   int                 // places in queues, as far as a master tells: 32 of a lock; 100 of a semaphore, whose waiters have up to four each
	Masters   int                 // that name the holder, or somebody
}

// List searches for the locks and semaphores that somebody has and whose names match pattern, and returns them in the
// order of their names: the first ones behind the name after, which is "" for those from the beginning on, and at most
// limit names, which is above 0. The last of them is the next call's after. Pattern is that of Redis: * stands for any characters, ?
// for one, [ab] for one of those. Locks of Redisson's are among them; other keys are not. Each range over the result
// searches anew, for ten seconds at most.
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
		all, err := gather(a, func(m *multilock.Masters) ([]inspect.Listed, error) {
			found, err := inspect.List(ctx, m.Clients, pattern, after, limit)
			if found.More {
				more.Store(true)
			}
			return found.Locks, err
		})
		slices.SortStableFunc(all, inspect.Listed.Compare)
		all, cut := inspect.Names(all, limit)
		if cut {
			more.Store(true)
		}
		for _, one := range all {
			if !yield(listed(one), nil) {
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

func listed(l inspect.Listed) Listed {
	return Listed{
		Name: l.Name, Semaphore: l.Semaphore, Held: l.Held, Holder: l.Holder, Client: info(l.Client), Count: l.Count, Remaining: l.Left,
		HeldFor: l.For, Token: l.Token, Readers: l.Readers, Slots: l.Slots, Waiting: l.Waiting, Masters: l.Masters,
	}
}
