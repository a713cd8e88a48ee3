package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// env is what a trial works with.
type env struct {
	fleet    *fleet
	duration time.Duration // of one measurement
}

// trial is one thing to measure, for each contender in turn.
type trial struct {
	scenario string
	setting  string        // tells the trials of a scenario apart
	title    string        // what is done, for the reader
	among    []string      // names of the contenders that it makes sense for; nil: all that are not apart
	limit    time.Duration // of one measurement, with opening and closing; zero: maxTrial
	measure  func(ctx context.Context, e *env, c contender) ([]figure, error)
}

// figure is one number that a measurement gives.
type figure struct {
	name, unit string
	value      float64
}

func (t trial) id() string { return t.scenario + "/" + t.setting }

func (t trial) fits(c contender) bool {
	if t.among == nil {
		return !c.apart
	}
	return slices.Contains(t.among, c.name)
}

// suited returns those of contenders that fit.
func (t trial) suited(contenders []contender) []contender {
	var suited []contender
	for _, c := range contenders {
		if t.fits(c) {
			suited = append(suited, c)
		}
	}
	return suited
}

func allTrials(long bool) []trial {
	return slices.Concat(
		uncontendedTrials(), parallelTrials(), tokensTrials(), handoffTrials(), contendedTrials(),
		stallsTrials(), frozenTrials(), farTrials(), waitersTrials(), heldTrials(long), memoryTrials(),
	)
}

// maxTrial bounds one measurement, should a contender hang.
const maxTrial = 3 * time.Minute

// measureAll runs each trial for so many rounds and reports its medians. A contender that
// fails is out of that trial; the others go on.
func measureAll(ctx context.Context, e *env, trials []trial, contenders []contender, rounds int, r *report) error {
	for _, t := range trials {
		suited := t.suited(contenders)
		results := make([]result, len(suited))
		for round := range rounds {
			for k := range suited {
				i := (k + round) % len(suited) // nobody is always the first
				if results[i].err != nil {
					continue
				}
				figures, err := e.measure(ctx, t, suited[i])
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if err != nil {
					results[i].err = err
					continue
				}
				results[i].rounds = append(results[i].rounds, figures)
			}
		}
		if err := r.trial(t, suited, results); err != nil {
			return err
		}
	}
	return nil
}

// measure measures one contender once, on masters without keys.
func (e *env) measure(ctx context.Context, t trial, c contender) ([]figure, error) {
	if err := e.fleet.flush(); err != nil {
		return nil, fmt.Errorf("flushing: %w", err)
	}
	runtime.GC() // what the one before left is not this one's
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(t.limit, maxTrial))
	defer cancel()
	return t.measure(ctx, e, c)
}

// result is how one contender fared in one trial.
type result struct {
	rounds [][]figure
	err    error
}

// values returns the values that the rounds gave for a figure, none where it is missing.
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
