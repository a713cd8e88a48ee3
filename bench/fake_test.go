package main

import (
	"context"
	"time"
)

// fake is a client whose locks take a while. It is its own hold.
type fake struct {
	acquire, release time.Duration
	locked           []string
}

func (f *fake) Lock(ctx context.Context, name string) (hold, error) {
	time.Sleep(f.acquire)
	f.locked = append(f.locked, name)
	return f, ctx.Err()
}

func (f *fake) Unlock(context.Context) error {
	time.Sleep(f.release)
	return nil
}

func (f *fake) Close() error { return nil }
