package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/redlock/redlock"
)

// throng describes callers that compete for the permits of one semaphore, and before that for one lock.
type throng struct {
	masters, dead    int
	clients, callers int // callers of each client
	permits          int
	section          time.Duration
}

func (th throng) setting() string {
	return fmt.Sprintf("%d of %d masters, %dx%d, K=%d, %dms", th.masters-th.dead, th.masters, th.clients, th.callers, th.permits, th.section.Milliseconds())
}

func (th throng) title() string {
	return fmt.Sprintf("%s with %d callers each for %s, held for %d ms each time, with %d of %d masters alive; beside the same callers for one lock",
		counted(th.clients, "client"), th.callers, counted(th.permits, "permit"), th.section.Milliseconds(), th.masters-th.dead, th.masters)
}

// measure measures the permits right after the lock.
func (th throng) measure(ctx context.Context, e *env) ([]figure, error) {
	if err := e.fleet.kill(th.dead); err != nil {
		return nil, err
	}
	sleep(ctx, time.Second) // clients notice it
	callers := slices.Repeat(e.clients, th.callers)
	lock, _, err := th.run(ctx, e, 1, callers, client.Lock)
	if err != nil {
		return nil, err
	}
	permits, used, err := th.run(ctx, e, th.permits, callers, func(cl client, ctx context.Context, name string) (hold, error) {
		return cl.(ourClient).Client.Lock(ctx, name, redlock.Permits(th.permits))
	})
	if err != nil {
		return nil, err
	}
	rate := func(s samples) float64 { return float64(len(s)-len(callers)) / used.wall.Seconds() }
	var sum time.Duration
	for _, wait := range permits {
		sum += wait
	}
	mean, n := sum/time.Duration(len(permits)), float64(len(permits)-len(callers))
	return slices.Concat(
		[]figure{
			{"throughput", "permits/s", rate(permits)},
			{"one lock", "locks/s", rate(lock)},
			{"throughput / one lock", "", rate(permits) / rate(lock)},
			{"wait mean", "ms", in(time.Millisecond, mean)},
		},
		permits.figures("wait", time.Millisecond, 50, 99, 100),
		[]figure{
			{"wait p99 less the mean, in sections", "", float64(permits.percentile(99)-mean) / float64(th.section)},
			{"masters' CPU per permit", "µs", used.masters.cpu() / n},
			{"script calls per permit", "", used.masters.scripts() / n},
		},
	), nil
}

// run returns how long the callers waited, see contend, and what that used.
func (th throng) run(ctx context.Context, e *env, most int, callers []client, take taker) (all samples, used usage, err error) {
	used, err = e.fleet.during(func() error {
		waits, err := contend(ctx, callers, most, th.section, 4*duration, take)
		all = slices.Concat(waits...)
		return err
	})
	if err == nil && len(all) == len(callers) {
		err = errors.New("nobody got a permit")
	}
	return all, used, err
}
