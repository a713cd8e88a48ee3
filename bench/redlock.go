package main

import (
	"context"
	"time"

	"example.com/redlock/redlock"
)

// ours is this library with its defaults, except that the restart guard is off: the masters have
// just started. The second client keeps its locks.
var ours = []contender{ourContender("redlock", 0), ourContender("redlock, kept", 10*time.Second)}

func ourContender(name string, keep time.Duration) contender {
	return contender{
		name:    name,
		masters: mastersN,
		open: func(addresses []string, lease time.Duration) (client, error) {
			c, err := redlock.New(redlock.Config{
				Masters: addresses, Lease: lease, RestartGuard: redlock.GuardOff, NodeTimeout: patience, Keep: keep,
			})
			return ourClient{c}, err
		},
	}
}

type ourClient struct{ *redlock.Client }

func (c ourClient) Lock(ctx context.Context, name string) (hold, error) {
	return c.Client.Lock(ctx, name)
}
