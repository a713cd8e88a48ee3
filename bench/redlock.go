package main

import (
	"context"

	"example.com/redlock/redlock"
)

// ours is this library with its defaults, except that the restart guard is off: the masters have
// just started.
var ours = contender{
	name:    "redlock",
	masters: mastersN,
	open: func(addresses []string, t times) (client, error) {
		c, err := redlock.New(redlock.Config{Masters: addresses, Lease: t.lease, RestartGuard: -1, NodeTimeout: t.patience})
		return ourClient{c}, err
	},
}

type ourClient struct{ *redlock.Client }

func (c ourClient) Lock(ctx context.Context, name string) (hold, error) {
	return c.Client.Lock(ctx, name)
}
