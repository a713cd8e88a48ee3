package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
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
	setting  string   // tells the trials of a scenario apart
	title    string   // what is done, for the reader
	among    []string // names of the contenders that take part
	measure  measurement
}

// measurement measures one contender once.
type measurement func(ctx context.Context, e *env, c contender) ([]figure, error)

// figure is one number that a measurement gives.
type figure struct {
	name, unit string
	value      float64
}

func (t trial) id() string { return t.scenario + "/" + t.setting }

// suited returns the contenders that take part in t.
func (t trial) suited(contenders []contender) []contender {
	var suited []contender
	for _, c := range contenders {
		if slices.Contains(t.among, c.name) {
			suited = append(suited, c)
		}
	}
	return suited
}

func allTrials() []trial {
	return slices.Concat(
		uncontendedTrials(), parallelTrials(), handoffTrials(), contendedTrials(),
		frozenTrials(), deadTrials(), heldTrials(), idleTrials(), stormTrials(), keptTrials(), kindsTrials(),
	)
}

// maxTrial limits the length of one measurement, in case a contender hangs.
const maxTrial = 3 * time.Minute

// measureAll runs each trial for rounds rounds and reports its medians. A contender that fails drops
// out of that trial; the others go on.
func measureAll(ctx context.Context, e *env, trials []trial, contenders []contender, rounds int, r *report) error {
	for _, t := range trials {
		p := part{trial: t, contenders: t.suited(contenders)}
		p.results = make([]result, len(p.contenders))
		for round := range rounds {
			for k := range p.contenders {
				i := (k + round) % len(p.contenders) // nobody is always the first
				if p.results[i].err == nil {
					e.measure(ctx, t, p.contenders[i], &p.results[i])
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

// measure measures a contender once, on empty masters, or on servers of its own if it needs them, and adds
// to its result.
func (e *env) measure(ctx context.Context, t trial, c contender, res *result) {
	ctx, cancel := context.WithTimeout(ctx, maxTrial)
	defer cancel()
	if res.err = e.fleet.flush(); res.err != nil {
		return
	}
	runtime.GC() // the garbage of earlier contenders is not theirs
	own := *e
	if c.start != nil {
		if own.fleet, res.err = c.start(ctx); res.err != nil {
			return
		}
		defer closing(own.fleet.close, &res.err)
	}
	figures, err := t.measure(ctx, &own, c)
	if res.err = err; err == nil {
		res.rounds = append(res.rounds, figures)
	}
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
