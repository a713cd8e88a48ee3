package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/redlock/redlock"
)

// rivals are callers that compete for the permits of one semaphore, and before that for one lock.
type rivals struct {
	masters, dead    int
	clients, callers int // callers of each client
	permits          int
	section          time.Duration
}

func (r rivals) setting() string {
	return fmt.Sprintf("%d of %d masters, %dx%d, K=%d, %dms", r.masters-r.dead, r.masters, r.clients, r.callers, r.permits, r.section.Milliseconds())
}

func (r rivals) title() string {
	return fmt.Sprintf("%s with %d callers each for %s, held for %d ms each time, with %d of %d masters alive; beside the same callers for one lock",
		counted(r.clients, "client"), r.callers, counted(r.permits, "permit"), r.section.Milliseconds(), r.masters-r.dead, r.masters)
}

// measure measures the permits right after the lock.
func (r rivals) measure(ctx context.Context, e *env) ([]figure, error) {
	if err := e.fleet.kill(r.dead); err != nil {
		return nil, err
	}
	sleep(ctx, time.Second) // clients notice it
	callers := slices.Repeat(e.clients, r.callers)
	_, locks, _, err := r.run(ctx, e, 1, callers, client.Lock)
	if err != nil {
		return nil, err
	}
	waits, permits, used, err := r.run(ctx, e, r.permits, callers, func(cl client, ctx context.Context, name string) (hold, error) {
		return cl.(ourClient).Client.Lock(ctx, name, redlock.Permits(r.permits))
	})
	if err != nil {
		return nil, err
	}
	var sum time.Duration
	for _, wait := range waits {
		sum += wait
	}
	mean, n := sum/time.Duration(len(waits)), float64(len(waits)-len(callers))
	return slices.Concat(
		[]figure{
			{"throughput", "permits/s", permits},
			{"one lock", "locks/s", locks},
			{"throughput / one lock", "", permits / locks},
			{"wait mean", "ms", in(time.Millisecond, mean)},
		},
		waits.figures("wait", time.Millisecond, 50, 99, 100),
		[]figure{
			{"wait p99 less the mean, in sections", "", float64(waits.percentile(99)-mean) / float64(r.section)},
			{"masters' CPU per permit", "µs", used.masters.cpu() / n},
			{"script calls per permit", "", used.masters.scripts() / n},
		},
	), nil
}

// run returns how long the callers waited, see contend, how many they were given in a second, and what that used.
func (r rivals) run(ctx context.Context, e *env, most int, callers []client, take taker) (all samples, rate float64, used usage, err error) {
	used, err = e.fleet.during(func() error {
		waits, err := contend(ctx, callers, most, r.section, 4*duration, take)
		all = slices.Concat(waits...)
		return err
	})
	if err == nil && len(all) == len(callers) {
		err = errors.New("nobody got a permit")
	}
	return all, float64(len(all)-len(callers)) / used.wall.Seconds(), used, err
}
