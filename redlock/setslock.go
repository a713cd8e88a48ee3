package redlock

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Lock locks name in its set: see [Client.Lock].
func (s *Sets) Lock(ctx context.Context, name string) (*Hold, error) {
	return s.lock(ctx, want{name: name, watch: true, wait: true})
}

// TryLock is Lock without waiting: see [Client.TryLock].
func (s *Sets) TryLock(ctx context.Context, name string) (*Hold, error) {
	return s.lock(ctx, want{name: name, watch: true})
}

// LockFor is Lock with a fixed lease: see [Client.LockFor].
func (s *Sets) LockFor(ctx context.Context, name string, lease time.Duration) (*Hold, error) {
	return s.lock(ctx, want{name: name, lease: lease, wait: true})
}

// TryLockFor is TryLock with a fixed lease.
func (s *Sets) TryLockFor(ctx context.Context, name string, lease time.Duration) (*Hold, error) {
	return s.lock(ctx, want{name: name, lease: lease})
}

// Do locks name, runs fn, and unlocks name: see [Client.Do].
func (s *Sets) Do(ctx context.Context, name string, fn func(context.Context) error) error {
	return do(ctx, s, want{name: name}, fn)
}

// LockAll locks several names at once, each in its set: see the function [LockAll].
func (s *Sets) LockAll(ctx context.Context, names ...string) (*Holds, error) {
	return s.lockAll(ctx, want{watch: true, wait: true}, names)
}

// TryLockAll is LockAll without waiting: see the function [TryLockAll].
func (s *Sets) TryLockAll(ctx context.Context, names ...string) (*Holds, error) {
	return s.lockAll(ctx, want{watch: true}, names)
}

func (s *Sets) lockAll(ctx context.Context, w want, names []string) (*Holds, error) {
	ctx = WithOwner(ctx)
	holds, err := s.take(ctx, w, names)
	if err != nil {
		return nil, err
	}
	return newHolds(ctx, holds), nil
}

func (s *Sets) lock(ctx context.Context, w want) (*Hold, error) {
	holds, err := s.take(WithOwner(ctx), w, []string{w.name})
	if err != nil {
		return nil, err
	}
	return holds[0], nil
}

// take takes the locks of names, each where it is locked.
//
// What it has taken by the time that the sets change is no use: somebody else may lock a name that
// moves in its new set alone before long. So the route must be the same when it is done, or it takes
// what is missing.
func (s *Sets) take(ctx context.Context, w want, names []string) ([]*Hold, error) {
	var items []item
	var holds []*Hold
	for {
		r := s.routed()
		before, had := items, holds
		var err error
		if items, err = r.items(w, names); err != nil {
			giveBack(ctx, had)
			return nil, err
		}
		holds = carry(ctx, before, had, items)
		if err = takeAll(ctx, items, holds, w.wait); err == nil {
			err = s.agree(ctx, items, holds)
			if err != nil {
				giveBack(ctx, holds)
				if w.wait && ctx.Err() == nil && !errors.Is(err, ErrClosed) {
					pause(ctx)
					continue
				}
			}
		}
		switch {
		case err == nil && s.admit(r, items, holds):
			return pairs(ctx, w.bind, items, holds), nil
		case err == nil:
		case errors.Is(err, ErrClosed) && s.routed() != r: // the client of a set that has left
		default:
			return nil, err
		}
	}
}

// pause lets some time pass before masters that did not agree are asked anew.
func pause(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Millisecond)
	defer cancel()
	<-ctx.Done()
}

// carry returns the holds of items that are among those that were taken for others, and gives the rest
// of them back.
func carry(ctx context.Context, before []item, had []*Hold, items []item) []*Hold {
	holds := make([]*Hold, len(items))
	for i, it := range items {
		for j, old := range before {
			if old.c == it.c && old.name == it.name {
				holds[i], had[j] = had[j], nil
			}
		}
	}
	giveBack(ctx, had)
	return holds
}

// agree makes the two holds of a name name one fencing token. Both sets' counters are not below it
// then, so the next hold's is larger, in whichever of them that is taken.
//
// If the caller's owner has the lock in the old set already, it has shown its token to somebody, and
// that stays as it is.
func (s *Sets) agree(ctx context.Context, items []item, holds []*Hold) error {
	errs := make([]error, len(items))
	var wg sync.WaitGroup
	for i := 1; i < len(items); i++ {
		if items[i].name != items[i-1].name || items[i].permits > 0 { // each slot has a token of its own
			continue
		}
		old, next := holds[i-1].h, holds[i].h
		token := old.Token()
		if !s.given(old) {
			token = max(token, next.Token())
		}
		wg.Go(func() { errs[i-1] = old.Agree(ctx, token) })
		wg.Go(func() { errs[i] = next.Agree(ctx, token) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// pairs returns one Hold for each name.
func pairs(ctx context.Context, bound bool, items []item, holds []*Hold) []*Hold {
	all := make([]*Hold, 0, len(holds))
	for i := 0; i < len(items); i++ {
		if i+1 < len(items) && items[i].name == items[i+1].name {
			all = append(all, newPair(ctx, bound, holds[i], holds[i+1]))
			i++
		} else {
			all = append(all, holds[i])
		}
	}
	return all
}

// Ready waits until a majority of the masters of each set would grant a lock: see [Client.Ready]. The
// error joins those of the sets.
func (s *Sets) Ready(ctx context.Context) error {
	return s.all(func(set Set) error { return set.Client.Ready(ctx) })
}

// Inspect says who has name in its set: see [Client.Inspect]. While the sets are being changed, a name
// that moves is looked up in both: it is held if it is in one of them, and the masters are those of the
// old set and of the new one.
func (s *Sets) Inspect(ctx context.Context, name string) (Inspection, error) {
	at := s.routed().at(name)
	in, err := at[0].Inspect(ctx, name)
	for _, c := range at[1:] {
		next, failed := c.Inspect(ctx, name)
		if !in.Held {
			in.Held, in.Holder, in.Client, in.For = next.Held, next.Holder, next.Client, next.For
		}
		in.Left = max(in.Left, next.Left)
		in.Masters = append(in.Masters, next.Masters...)
		err = errors.Join(err, failed)
	}
	return in, err
}

// ForceUnlock frees name in its set, whoever has it: see [Client.ForceUnlock]. While the sets are being
// changed, a name that moves is freed in both.
func (s *Sets) ForceUnlock(ctx context.Context, name string) (freed bool, err error) {
	return s.force(name, func(c *Client) (bool, error) { return c.ForceUnlock(ctx, name) })
}

// force does f to each client at which name is locked, and joins what comes of it.
func (s *Sets) force(name string, f func(*Client) (freed bool, err error)) (freed bool, err error) {
	for _, c := range s.routed().at(name) {
		one, failed := f(c)
		freed, err = freed || one, errors.Join(err, failed)
	}
	return freed, err
}
