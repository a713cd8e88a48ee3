package main

import (
	"context"
	"slices"
	"time"

	"example.com/redlock/redlock"
)

// One caller locks and unlocks, each time a new name.

func measureUncontended(ctx context.Context, e *env) ([]figure, error) {
	return e.measureLocks(ctx, names())
}

// measureLocks has one caller lock and unlock names in turn.
func (e *env) measureLocks(ctx context.Context, names []string) ([]figure, error) {
	s := newTimings()
	used, err := e.fleet.during(func() error { return s.run(ctx, duration, inTurn(e.clients[0], names)) })
	if err != nil {
		return nil, err
	}
	locks := float64(len(s.acquires))
	return append(s.percentiles(), []figure{
		{"throughput", "locks/s", locks / used.wall.Seconds()},
		{"client CPU per lock", "µs", micros(used.cpu) / locks},
		{"allocations per lock", "", float64(used.allocs) / locks},
		{"bytes allocated per lock", "B", float64(used.bytes) / locks},
		{"masters' CPU per lock", "µs", used.masters.cpu() / locks},
		{"on the wire per lock", "B", used.masters.wire() / locks},
		{"script calls per lock", "", used.masters.scripts() / locks},
		{"commands per lock", "", used.masters.sent(e.contender.plain) / locks},
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
	return slices.Concat(s.acquires.figures("acquire", time.Microsecond, 50, 99), s.releases.figures("release", time.Microsecond, 50, 99))
}

// taking takes the lock number i.
type taking func(ctx context.Context, i int) (hold, error)

// inTurn takes one name after another.
func inTurn(cl client, names []string) taking {
	return func(ctx context.Context, i int) (hold, error) { return cl.Lock(ctx, names[i%len(names)]) }
}

// run takes and releases one lock after another for d. It continues where the last run ended.
func (s *timings) run(ctx context.Context, d time.Duration, take taking) error {
	end := time.Now().Add(d)
	for i := len(s.acquires); ; i++ {
		asked := time.Now()
		if asked.After(end) {
			return nil
		}
		h, err := take(ctx, i)
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

// kinds are what there is to take. Locks come first: the others are compared with them.
var kinds = []struct {
	name string
	take func(ctx context.Context, c *redlock.Client, name string) (hold, error)
}{
	{"Lock", func(ctx context.Context, c *redlock.Client, name string) (hold, error) { return c.Lock(ctx, name) }},
	{"Shared", func(ctx context.Context, c *redlock.Client, name string) (hold, error) {
		return c.Lock(ctx, name, redlock.Shared())
	}},
	{"Permits", func(ctx context.Context, c *redlock.Client, name string) (hold, error) {
		return c.Lock(ctx, name, redlock.Permits(10))
	}},
	{"LockAll of 4", func(ctx context.Context, c *redlock.Client, name string) (hold, error) {
		return c.LockAll(ctx, []string{name + ":1", name + ":2", name + ":3", name + ":4"})
	}},
}

// measureKinds has one caller of this library take one thing of each kind in turn, each time with a fresh
// name. So whatever else the machine does, it does to all of them.
func measureKinds(ctx context.Context, e *env) ([]figure, error) {
	c, names, s := e.clients[0].(ourClient).Client, names(), newTimings()
	err := s.run(ctx, 4*duration, func(ctx context.Context, i int) (hold, error) {
		kind, name := kinds[i%len(kinds)], names[i/len(kinds)%len(names)]
		return kind.take(ctx, c, name+kind.name)
	})
	if err != nil {
		return nil, err
	}
	var figures []figure
	for k, kind := range kinds {
		acquires, releases := s.acquires.every(len(kinds), k), s.releases.every(len(kinds), k)
		figures = append(figures, acquires.figures(kind.name, time.Microsecond, 50)...)
		figures = append(figures, releases.figures(kind.name+", release", time.Microsecond, 50)...)
		if k > 0 {
			figures = append(figures, figure{kind.name + " / Lock", "", micros(acquires.percentile(50)) / figures[0].value})
		}
	}
	return figures, nil
}
