package main

import (
	"context"

	"example.com/redlock/redlock"
)

// ours is this library, with its defaults. The masters are fresh, so the guard against
// restarted ones is off.
var ours = contender{
	name:    "redlock",
	masters: mastersN,
	keeps:   true,
	open: func(addresses []string, t times) (client, error) {
		c, err := redlock.New(redlock.Config{Masters: addresses, Lease: t.lease, RestartGuard: -1, NodeTimeout: t.patience})
		return ourClient{c}, err
	},

	// A lock takes one script call per master, and its release another. Each failed try
	// takes at least one more, so this is a bound from above.
	failed: func(used counters, locks int) float64 {
		return max(0, float64(used.scripts())/mastersN-2*float64(locks))
	},
}

type ourClient struct{ *redlock.Client }

func (c ourClient) Lock(ctx context.Context, name string) (hold, error) {
	return c.Client.Lock(ctx, name)
}

func (c ourClient) TryLock(ctx context.Context, name string) (hold, error) {
	return c.Client.TryLock(ctx, name)
}
