package doctor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"example.com/redlock/node"
	"example.com/redlock/redlock"
)

// Limit is how long an examination takes at most. On masters that are near it takes two seconds.
const Limit = 20 * time.Second

// patience is how long one answer may take. It is longer than any sensible NodeTimeout, so that a slow
// master is found to be slow, and not dead.
const patience = 2 * time.Second

// Examine examines the masters of a client with that Config, all at the same time. It takes two
// seconds or so, and [Limit] at most; a master that does not answer costs two seconds, once. At the end
// of ctx it reports what it has found by then, within a second.
//
// The examination locks a random name that begins with name: one of yours, or how yours begin, since
// the user may be permitted no others. Where it is empty, it finds out nothing about your names unless
// the user may use all.
func Examine(ctx context.Context, cfg redlock.Config, name string) (Report, error) {
	cfg, err := cfg.WithDefaults()
	if err != nil {
		return Report{}, err
	}
	dialer := node.Dialer{TLS: cfg.TLS, Credentials: cfg.Credentials, Dial: cfg.Dial}
	pools, names, err := dialer.Pools(cfg.Pools, cfg.Masters)
	if err != nil {
		return Report{}, err
	}
	if len(cfg.Pools) == 0 {
		defer func() {
			for _, pool := range pools {
				_ = pool.Close()
			}
		}()
	}
	ctx, cancel := context.WithTimeout(ctx, Limit-node.CleanTime)
	defer cancel()
	facts := make([]node.Facts, len(pools))
	var wg sync.WaitGroup
	for i := range pools {
		wg.Go(func() {
			facts[i] = node.Probe(ctx, node.Examination{
				Name: names[i], Pool: pools[i],
				Guard: max(cfg.RestartGuard, 0), Patience: max(patience, cfg.NodeTimeout),
				Start:   name,
				Scratch: fmt.Sprintf("%sdoctor:%016x", name, rand.Uint64()), // two names may lead to one server
			})
		})
	}
	wg.Wait()
	return diagnose(cfg, facts), nil
}
