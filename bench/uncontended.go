package main

import (
	"context"
	"time"
)

// One caller locks and unlocks, each time a new name.

func uncontendedTrials() []trial {
	return []trial{{
		scenario: "uncontended",
		setting:  "1",
		title:    "one caller, fresh names",
		among:    []string{"redlock", "redsync-ff", "redsync", "redsync-ff/go", "bsm/1", "rueidislock/1", "limit", "etcd/3", "postgres/1"},
		measure:  measureUncontended,
	}}
}

func measureUncontended(ctx context.Context, e *env, c contender) ([]figure, error) {
	return measureLocks(ctx, e, c, names(), 0)
}

// measureLocks has one caller lock and unlock names in turn, once its client has been open for settled.
func measureLocks(ctx context.Context, e *env, c contender, names []string, settled time.Duration) (_ []figure, err error) {
	cl, err := e.open(ctx, c, lease)
	if err != nil {
		return nil, err
	}
	defer closing(cl.Close, &err)
	sleep(ctx, settled)
	s := newTimings()
	before, err := e.fleet.meters()
	if err != nil {
		return nil, err
	}
	if err := s.run(ctx, cl, names, e.duration); err != nil {
		return nil, err
	}
	used, err := e.fleet.used(before)
	if err != nil {
		return nil, err
	}
	locks := float64(len(s.acquires))
	figures := append(s.percentiles(), []figure{
		{"throughput", "locks/s", locks / used.wall.Seconds()},
		{"client CPU per lock", "µs", micros(used.cpu) / locks},
		{"allocations per lock", "", float64(used.allocs) / locks},
		{"bytes allocated per lock", "B", float64(used.bytes) / locks},
	}...)
	if c.start != nil {
		return figures, nil // only redis-servers are counted
	}
	return append(figures, []figure{
		{"masters' CPU per lock", "µs", used.masters.cpu() / locks},
		{"on the wire per lock", "B", used.masters.wire() / locks},
		{"script calls per lock", "", used.masters.scripts() / locks},
		{"commands per lock", "", used.masters.sent(c.plain) / locks},
	}...), nil
}

// timings holds how long each acquire and each release took.
type timings struct{ acquires, releases samples }

// newTimings allocates room in advance, so that growing is not measured.
func newTimings() *timings {
	const room = 1 << 17
	return &timings{acquires: make(samples, 0, room), releases: make(samples, 0, room)}
}

// percentiles returns what both take.
func (s *timings) percentiles() []figure {
	return []figure{
		{"acquire p50", "µs", micros(s.acquires.percentile(50))},
		{"acquire p99", "µs", micros(s.acquires.percentile(99))},
		{"release p50", "µs", micros(s.releases.percentile(50))},
		{"release p99", "µs", micros(s.releases.percentile(99))},
	}
}

// run locks and unlocks one name after another for d. It continues where the last run ended.
func (s *timings) run(ctx context.Context, cl client, names []string, d time.Duration) error {
	end := time.Now().Add(d)
	for i := len(s.acquires); ; i++ {
		asked := time.Now()
		if asked.After(end) {
			return nil
		}
		h, err := cl.Lock(ctx, names[i%len(names)])
		if err != nil {
			return err
		}
		held := time.Now()
		if err := h.Unlock(ctx); err != nil {
			return err
		}
		s.acquires = append(s.acquires, held.Sub(asked))
		s.releases = append(s.releases, time.Since(held))
	}
}
