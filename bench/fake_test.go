package main

import (
	"context"
	"errors"
	"time"
)

// fake is a client whose locks take a while, and are always free except for those in taken. It is its
// own hold.
type fake struct {
	acquire, release time.Duration
	taken            map[string]bool
	locked           []string
}

func (f *fake) Lock(ctx context.Context, name string) (hold, error) {
	time.Sleep(f.acquire)
	f.locked = append(f.locked, name)
	return f, ctx.Err()
}

func (f *fake) TryLock(ctx context.Context, name string) (hold, error) {
	if f.taken[name] {
		time.Sleep(f.acquire)
		return nil, errors.New("taken")
	}
	return f.Lock(ctx, name)
}

func (f *fake) Unlock(context.Context) error {
	time.Sleep(f.release)
	return nil
}

func (f *fake) Close() error { return nil }
