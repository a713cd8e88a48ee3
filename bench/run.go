package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"time"
)

// env is what a measurement is given.
type env struct {
	fleet     *fleet
	contender contender
	clients   []client // of the contender
}

// duration is how long one measurement lasts, where a scenario does not need longer.
const duration = 150 * time.Millisecond

// maxTrial limits the length of one measurement, in case a contender hangs.
const maxTrial = 3 * time.Minute

// measureAll runs each trial for rounds rounds and reports its medians. A contender that fails drops
// out of that trial; the others go on.
func measureAll(ctx context.Context, e *env, trials []trial, contenders []contender, rounds int, r *report) error {
	for _, t := range trials {
		p := part{trial: t, contenders: t.suited(contenders)}
		p.results = make([]result, len(p.contenders))
		for round := range min(rounds, cmp.Or(t.rounds, rounds)) {
			for k := range p.contenders {
				i := (k + round) % len(p.contenders) // nobody is always the first
				if res := &p.results[i]; res.err == nil {
					var figures []figure
					if figures, res.err = e.measure(ctx, t, p.contenders[i]); res.err == nil {
						res.rounds = append(res.rounds, figures)
					}
				}
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		r.add(p)
	}
	return nil
}

// measure measures a contender once, on empty masters, or on masters of its own if the trial needs them.
func (e *env) measure(ctx context.Context, t trial, c contender) (_ []figure, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxTrial)
	defer cancel()
	if err := e.fleet.flush(); err != nil {
		return nil, err
	}
	runtime.GC() // the garbage of earlier contenders is not theirs
	own := env{fleet: e.fleet, contender: c}
	if t.fresh > 0 {
		own.contender.masters = t.fresh
		if own.fleet, err = startFleet(ctx, t.fresh); err != nil {
			return nil, err
		}
		defer own.fleet.close()
	}
	clients, closeAll, err := own.open(ctx, t.clients, cmp.Or(t.lease, lease))
	if err != nil {
		return nil, err
	}
	defer closing(closeAll, &err)
	own.clients = clients
	return t.measure(ctx, &own)
}

// result is how one contender fared in one trial.
type result struct {
	rounds [][]figure
	err    error
}

// values returns the values of a figure, one for each round that has it.
func (r result) values(name string) []float64 {
	var values []float64
	for _, figures := range r.rounds {
		for _, f := range figures {
			if f.name == name {
				values = append(values, f.value)
			}
		}
	}
	return values
}

// counted returns n and the noun, in the plural unless n is 1.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// closing closes what a measurement opened. It sets *err to the error, unless *err has one already.
func closing(closeIt func() error, err *error) {
	if closed := closeIt(); *err == nil {
		*err = closed
	}
}
