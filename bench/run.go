package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// env is what every trial is given.
type env struct {
	fleet    *fleet
	duration time.Duration // of one measurement
}

// trial is one thing to measure, for each contender in turn.
type trial struct {
	scenario string
	setting  string        // tells the trials of a scenario apart
	title    string        // what is done, for the reader
	among    []string      // names of the contenders that take part; nil for all but those that have to be named
	also     []string      // names of contenders that take part though they have to be named
	limit    time.Duration // of one measurement, with opening and closing; zero means maxTrial
	waiting  bool          // clients mostly wait, so the contenders are measured at the same time
	measure  measurement
}

// measurement measures one contender once.
type measurement func(ctx context.Context, e *env, c contender) ([]figure, error)

// figure is one number that a measurement gives.
type figure struct {
	name, unit string
	value      float64
}

// inAll is the unit of figures that are added up over the rounds. A median would hide what should
// never happen but happened once.
const inAll = "in all rounds"

// over combines the values of f in all rounds: their median, or their sum.
func (f figure) over(rounds []float64) float64 {
	if f.unit != inAll {
		return median(rounds)
	}
	var sum float64
	for _, v := range rounds {
		sum += v
	}
	return sum
}

func (t trial) id() string { return t.scenario + "/" + t.setting }

func (t trial) fits(c contender) bool {
	return t.among == nil && !c.named || slices.Contains(t.among, c.name) || slices.Contains(t.also, c.name)
}

// suited returns the contenders that take part in t.
func (t trial) suited(contenders []contender) []contender {
	var suited []contender
	for _, c := range contenders {
		if t.fits(c) {
			suited = append(suited, c)
		}
	}
	return suited
}

func allTrials() []trial {
	return slices.Concat(
		uncontendedTrials(), parallelTrials(), handoffTrials(), contendedTrials(),
		frozenTrials(), deadTrials(), farTrials(), heldTrials(), idleTrials(), stormTrials(), keptTrials(), kindsTrials(),
	)
}

// maxTrial limits the length of one measurement, in case a contender hangs.
const maxTrial = 3 * time.Minute

// measureAll runs each trial for rounds rounds and reports its medians. A contender that fails drops
// out of that trial; the others go on.
func measureAll(ctx context.Context, e *env, trials []trial, contenders []contender, rounds int, r *report) error {
	for _, t := range trials {
		suited := t.suited(contenders)
		results := make([]result, len(suited))
		for round := range rounds {
			if t.waiting {
				e.measure(ctx, t, suited, results)
			} else {
				for k := range suited {
					i := (k + round) % len(suited) // nobody is always the first
					e.measure(ctx, t, suited[i:i+1], results[i:i+1])
				}
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		if err := r.trial(t, suited, results); err != nil {
			return err
		}
	}
	return nil
}

// measure measures contenders once, at the same time, on empty masters, and adds to their results. It
// skips those that have failed before.
func (e *env) measure(ctx context.Context, t trial, contenders []contender, results []result) {
	cleared := e.fleet.flush()
	runtime.GC() // the garbage of earlier contenders is not theirs
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(t.limit, maxTrial))
	defer cancel()
	// Goroutines: one per contender. Each ends with its measurement; Wait waits for them.
	var measuring sync.WaitGroup
	for i, c := range contenders {
		res := &results[i]
		if res.err != nil {
			continue
		}
		if cleared != nil {
			res.err = fmt.Errorf("flushing: %w", cleared)
			continue
		}
		measuring.Go(func() {
			figures, err := e.measureOne(ctx, t, c)
			if err != nil {
				res.err = err
				return
			}
			res.rounds = append(res.rounds, figures)
		})
	}
	measuring.Wait()
}

// measureOne measures c, with servers of its own if it needs them.
func (e *env) measureOne(ctx context.Context, t trial, c contender) (_ []figure, err error) {
	if c.start == nil {
		return t.measure(ctx, e, c)
	}
	own := *e
	if own.fleet, err = c.start(ctx); err != nil {
		return nil, err
	}
	defer closing(own.fleet.close, &err)
	return t.measure(ctx, &own, c)
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
