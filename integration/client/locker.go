package main

import (
	"context"
	"time"

	"example.com/redlock/integration/workload"
	"example.com/redlock/internal/history"
	"example.com/redlock/internal/witness"
	"example.com/redlock/redlock"
)

// locker is package redlock as a library on trial.
type locker struct {
	*redlock.Client
	lease time.Duration
	tell  func(history.Event)
}

func open(cfg workload.Config) (workload.Locker, error) {
	witness.Found = func(what string) { cfg.Tell(history.Event{What: history.Strayed, Text: what}) }
	client, err := redlock.New(redlock.Config{
		Masters:      cfg.Masters,
		Lease:        cfg.Lease,
		MaxLease:     cfg.MaxLease,
		RestartGuard: cfg.Guard,
		NodeTimeout:  cfg.NodeTimeout,
		Name:         cfg.Who,
		Keep:         cfg.Keep,
		Trace:        traceQueue(cfg.Tell),
	})
	return &locker{client, cfg.Lease, cfg.Tell}, err
}

func (l *locker) Close() error {
	defer func() { l.tell(history.Event{What: history.Watched, Value: witness.Seen()}) }()
	return l.Client.Close()
}

func (l *locker) Lock(ctx context.Context, name string) (workload.Hold, error) {
	return l.held(l.Client.Lock(ctx, name))
}

func (l *locker) TryLock(ctx context.Context, name string) (workload.Hold, error) {
	return l.held(l.Client.TryLock(ctx, name))
}

func (l *locker) LockFor(ctx context.Context, name string, lease time.Duration) (workload.Hold, error) {
	return l.held(l.Client.LockFor(ctx, name, lease))
}

func (l *locker) RLock(ctx context.Context, name string) (workload.Hold, error) {
	return l.held(l.Client.RLock(ctx, name))
}

func (l *locker) TryRLock(ctx context.Context, name string) (workload.Hold, error) {
	return l.held(l.Client.TryRLock(ctx, name))
}

func (l *locker) Acquire(ctx context.Context, name string, k int) (workload.Hold, error) {
	return l.permit(l.Semaphore(name, k).Acquire(ctx))
}

func (l *locker) TryAcquire(ctx context.Context, name string, k int) (workload.Hold, error) {
	return l.permit(l.Semaphore(name, k).TryAcquire(ctx))
}

func (l *locker) LockAll(ctx context.Context, names ...string) ([]workload.Hold, func(context.Context) error, error) {
	all, err := l.Client.LockAll(ctx, names...)
	if err != nil {
		return nil, nil, err
	}
	var holds []workload.Hold
	for _, name := range all.Names() {
		holds = append(holds, &hold{all.Hold(name), l})
	}
	return holds, all.Unlock, nil
}

func (l *locker) WithOwner(ctx context.Context) context.Context { return redlock.WithOwner(ctx) }

func (l *locker) held(h *redlock.Hold, err error) (workload.Hold, error) {
	if err != nil {
		return nil, err
	}
	return &hold{h, l}, nil
}

func (l *locker) permit(h *redlock.Hold, err error) (workload.Hold, error) {
	if err != nil {
		return nil, err
	}
	return &permit{hold{h, l}}, nil
}

// hold is a lock.
type hold struct {
	*redlock.Hold
	locker *locker
}

// Slot returns 0: a lock is no permit.
func (h *hold) Slot() int { return 0 }

func (h *hold) Extend(ctx context.Context) error { return h.Hold.Extend(ctx, h.locker.lease) }

func (h *hold) Enter(ctx context.Context, shared bool) (workload.Hold, bool, error) {
	lock := h.locker.Client.Lock
	if shared {
		lock = h.locker.Client.RLock
	}
	again, err := lock(ctx, h.Name())
	if err != nil {
		return nil, false, err
	}
	return &hold{again, h.locker}, again.Owner() == h.Owner(), nil
}

// permit is a permit of a semaphore. It can neither be entered again nor become a reader's.
type permit struct{ of hold }

func (p *permit) Name() string                     { return p.of.Name() }
func (p *permit) Slot() int                        { return p.of.Hold.Slot() + 1 }
func (p *permit) Token() int64                     { return p.of.Token() }
func (p *permit) Context() context.Context         { return p.of.Context() }
func (p *permit) Until() time.Time                 { return p.of.Until() }
func (p *permit) Extend(ctx context.Context) error { return p.of.Extend(ctx) }
func (p *permit) Unlock(ctx context.Context) error { return p.of.Unlock(ctx) }
