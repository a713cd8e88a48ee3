package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"example.com/redlock/redlock"
)

// acquire waits for the lock as long as the flags allow, or until a signal ends the wait. What it says to
// people goes to plain, which adds no name: they know it.
//
// Goroutines: one, which says why that takes so long. It ends soon after the wait does, and acquire waits
// for it.
func (f *lockFlags) acquire(client *redlock.Client, from origins, signals <-chan os.Signal, log, plain *slog.Logger) (grip, error) {
	ctx, release := untilSignal(signals)
	var says sync.WaitGroup
	if !f.Quiet {
		says.Go(func() { f.sayWhy(ctx, client, plain) })
	}
	hold, err := f.lock(ctx, client, log)
	release()
	says.Wait()
	if by, ok := errors.AsType[signalled](context.Cause(ctx)); ok {
		// If the hold came just before the signal, closing the client releases it.
		return nil, fail(signalCode(by.Signal), "%w while waiting for %s", by, f.quoted())
	}
	if err != nil {
		return nil, f.notAcquired(err, from)
	}
	for _, one := range holdsOf(hold) {
		log.Info("locked", "lock", one.Name(), "slot", one.Slot(), "token", one.Token(), "owner", one.Owner())
	}
	return hold, nil
}

// grip is what was locked: a hold, or several.
type grip interface {
	held
	lease
}

// holdsOf returns the holds of a grip.
func holdsOf(g grip) (holds []*redlock.Hold) {
	if one, ok := g.(*redlock.Hold); ok {
		return []*redlock.Hold{one}
	}
	all := g.(*redlock.Holds)
	for _, name := range all.Names() {
		holds = append(holds, all.Hold(name))
	}
	return holds
}

func (f *lockFlags) lock(ctx context.Context, client *redlock.Client, log *slog.Logger) (grip, error) {
	try, lock := f.ways(client)
	if f.once() {
		return try(ctx)
	}
	if f.Wait != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(*f.Wait))
		defer cancel()
	}
	return whole(ctx, log, time.Duration(f.Lease), func() (grip, error) { return lock(ctx) })
}

// way is a way to take what the flags name.
type way func(context.Context) (grip, error)

// ways returns how to try for what the flags ask for, and how to wait for it.
func (f *lockFlags) ways(client *redlock.Client) (try, lock way) {
	one := func(take func(context.Context) (*redlock.Hold, error)) way {
		return func(ctx context.Context) (grip, error) { return take(ctx) }
	}
	switch {
	case f.Permits > 0:
		permits := client.Semaphore(f.Name[0], int(f.Permits))
		return one(permits.TryAcquire), one(permits.Acquire)
	case f.Shared:
		return one(func(ctx context.Context) (*redlock.Hold, error) { return client.TryRLock(ctx, f.Name[0]) }),
			one(func(ctx context.Context) (*redlock.Hold, error) { return client.RLock(ctx, f.Name[0]) })
	}
	return func(ctx context.Context) (grip, error) { return client.TryLockAll(ctx, f.Name...) },
		func(ctx context.Context) (grip, error) { return client.LockAll(ctx, f.Name...) }
}

// lease is the part of a hold that whole uses.
type lease interface {
	Extend(ctx context.Context, lease time.Duration) error
	Unlock(ctx context.Context) error
}

// tryAgain is the pause after failing to extend a hold.
const tryAgain = 200 * time.Millisecond

// whole locks until it has a hold with its full lease. A hold that was handed over starts with a short
// lease, which the escalation would take for a hold that cannot be renewed.
//
// It tries again only where that helps: the hold ended before it was extended, or too few masters
// answered. Any other error would only repeat itself.
func whole[H lease](ctx context.Context, log *slog.Logger, full time.Duration, lock func() (H, error)) (none H, err error) {
	said := false
	for {
		hold, err := lock()
		if err != nil {
			return none, err
		}
		if err = hold.Extend(ctx, full); err == nil {
			return hold, nil
		}
		_ = hold.Unlock(ctx)
		if !errors.Is(err, redlock.ErrLost) && !errors.Is(err, redlock.ErrNoQuorum) {
			return none, err
		}
		if !said {
			log.Warn("the lock was granted but could not be kept; trying again", "error", plain(err))
			said = true
		}
		select {
		case <-time.After(tryAgain):
		case <-ctx.Done():
			return none, err
		}
	}
}

// notAcquired returns err with what was tried, and with its exit code.
func (f *lockFlags) notAcquired(err error, from origins) error {
	how := "and waiting would not help"
	switch {
	case f.once():
		how = "tried once"
	case f.Wait != nil && errors.Is(err, context.DeadlineExceeded):
		how = fmt.Sprintf("waited %v", time.Duration(*f.Wait).Round(time.Millisecond))
	}
	if f.guardWhy != "" && errors.Is(err, redlock.ErrGuarded) {
		how += "; masters that restarted grant nothing for so long " + f.guardWhy
	}
	if codeOf(err) != exitUsage {
		err = fmt.Errorf("not locked, %s: %w", how, err)
	}
	return refuse(err, from["name"])
}
