package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// Clients of masters that are all far away. They mostly wait for the wire, so all parts of the trial
// are measured at the same time, each on names of its own.

// remotePatience is how long a client waits for one of these masters to answer.
const remotePatience = 2 * time.Second

const (
	remoteClients = 10
	remoteNames   = 10 // that two of the clients pass back and forth
)

// together has how many clients start at the same time, in each part that measures this.
var together = []int{3, remoteClients}

func remoteTrials() []trial {
	var trials []trial
	for _, ms := range []int{20, 100, 500} {
		trip := time.Duration(ms) * time.Millisecond
		trials = append(trials, trial{
			scenario: "far",
			setting:  fmt.Sprintf("%dms", ms),
			title: fmt.Sprintf("all masters %v away; two clients pass %d locks back and forth, keeping each for up to two round trips; 3 and %d clients start together on one name",
				trip, remoteNames, remoteClients),
			among:   []string{"redlock", "redsync-ff", "redsync"},
			limit:   time.Minute,
			waiting: true,
			measure: func(ctx context.Context, e *env, c contender) ([]figure, error) {
				return measureRemote(ctx, e, c, trip)
			},
		})
	}
	return trials
}

func measureRemote(ctx context.Context, e *env, c contender, trip time.Duration) (_ []figure, err error) {
	addresses, closeProxies, err := moveAway(e.fleet.addresses(c.masters), trip)
	if err != nil {
		return nil, err
	}
	defer closeProxies()
	clients, err := openRemote(ctx, c, addresses)
	if err != nil {
		return nil, err
	}
	defer closing(func() error { return closeAll(clients) }, &err)

	alone := newTimings()
	var passed handOffs
	crowds := make([]crowd, len(together))
	d := 2*e.duration + 12*trip
	var parts errgroup.Group
	parts.Go(func() error { return alone.run(ctx, clients[0], numbered(c.name+" alone:", 1024), d) })
	parts.Go(func() (err error) {
		passed, err = passMany(ctx, clients[remoteClients-2:], c.name, trip, d)
		return err
	})
	for i, n := range together {
		parts.Go(func() (err error) {
			crowds[i], err = lockTogether(ctx, clients[:n], fmt.Sprintf("%s together:%d", c.name, n))
			return err
		})
	}
	if err := parts.Wait(); err != nil {
		return nil, err
	}

	figures := []figure{
		{"acquire p50", "ms", millis(alone.acquires.percentile(50))},
		{"release p50", "ms", millis(alone.releases.percentile(50))},
		{"hand-off p50", "ms", millis(passed.waits.percentile(50))},
		{"hand-off p99", "ms", millis(passed.waits.percentile(99))},
	}
	holds, lost := len(passed.waits), len(passed.lost)
	for i, n := range together {
		figures = append(figures, figure{fmt.Sprintf("%d start together, until the last has it", n), "ms", millis(crowds[i].served)})
		holds += n
		lost += crowds[i].lost
	}
	return append(figures, figure{"holds", inAll, float64(holds)}, figure{"holds lost", inAll, float64(lost)}), nil
}

// moveAway returns addresses at which the masters are a round trip of trip away.
func moveAway(masters []string, trip time.Duration) (addresses []string, closeProxies func(), err error) {
	var proxies []*proxy
	closeProxies = func() {
		for _, p := range proxies {
			p.close()
		}
	}
	for _, master := range masters {
		p, err := startProxy(master)
		if err != nil {
			closeProxies()
			return nil, nil, err
		}
		proxies = append(proxies, p)
		addresses = append(addresses, p.address())
		if _, err := p.moveTo(trip); err != nil {
			closeProxies()
			return nil, nil, err
		}
	}
	return addresses, closeProxies, nil
}

// openRemote opens the clients and warms them up, all at the same time. Each then has as many open
// connections as there are names to pass.
func openRemote(ctx context.Context, c contender, addresses []string) ([]client, error) {
	var clients []client
	var warming errgroup.Group
	for i := range remoteClients {
		cl, err := c.open(addresses, times{lease, remotePatience})
		if err != nil {
			return nil, errors.Join(err, warming.Wait(), closeAll(clients))
		}
		clients = append(clients, cl)
		for _, name := range numbered(fmt.Sprintf("%s warm:%d:", c.name, i), remoteNames) {
			warming.Go(func() error { return cycle(ctx, cl, name) })
		}
	}
	if err := warming.Wait(); err != nil {
		return nil, errors.Join(fmt.Errorf("warming up: %w", err), closeAll(clients))
	}
	return clients, nil
}

// passMany has two clients pass remoteNames names back and forth for d.
func passMany(ctx context.Context, clients []client, prefix string, trip, d time.Duration) (handOffs, error) {
	// A client that has never waited still has to open what it waits with.
	moment := pause{least: 5 * time.Millisecond, spread: 10 * time.Millisecond}
	if _, err := takeTurns(ctx, clients, prefix+" warm", moment, func(n int) bool { return n < 4 }); err != nil {
		return handOffs{}, fmt.Errorf("warming up: %w", err)
	}
	end := time.Now().Add(d)
	each := make([]handOffs, remoteNames)
	var passing errgroup.Group
	for i, name := range numbered(prefix+":", remoteNames) {
		passing.Go(func() (err error) {
			each[i], err = takeTurns(ctx, clients, name, pause{least: moment.least, spread: 2 * trip}, func(int) bool { return time.Now().Before(end) })
			return err
		})
	}
	err := passing.Wait()
	var all handOffs
	for _, h := range each {
		all.waits = append(all.waits, h.waits...)
		all.lost = append(all.lost, h.lost...)
	}
	return all, err
}

// crowd is the result of clients locking one name at the same time.
type crowd struct {
	served time.Duration // until the last of them had the lock
	lost   int           // holds that ended before their Unlock
}

// lockTogether has the clients lock name, all at the same time, and keep it for 10 ms each.
func lockTogether(ctx context.Context, clients []client, name string) (crowd, error) {
	var last atomic.Int64
	var lost atomic.Int32
	begun := time.Now()
	var callers errgroup.Group
	for _, cl := range clients {
		callers.Go(func() error {
			h, err := cl.Lock(ctx, name)
			if err != nil {
				return err
			}
			last.Store(int64(time.Since(begun))) // callers get here in turn: they hold the lock
			sleep(ctx, 10*time.Millisecond)
			if unlock(ctx, h) != nil {
				lost.Add(1)
			}
			return nil
		})
	}
	err := callers.Wait()
	return crowd{time.Duration(last.Load()), int(lost.Load())}, err
}
