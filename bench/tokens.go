package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// What fencing tokens cost: many goroutines of one client, each on names of its own, in turns
// with as many of a client that goes without tokens.

func tokensTrials() []trial {
	var trials []trial
	for _, n := range []int{1, 256} {
		trials = append(trials, trial{
			scenario: "tokens",
			setting:  strconv.Itoa(n),
			title:    fmt.Sprintf("what fencing tokens cost: %d goroutines, each on names of its own, with tokens and without, in turns", n),
			among:    []string{ours.name, tokenless.name},
			measure: func(ctx context.Context, e *env, c contender) ([]figure, error) {
				return measureTokens(ctx, e, c, n)
			},
		})
	}
	return trials
}

// measureTokens measures c beside a client without tokens. Where c goes without tokens
// itself, the ratio of the two is what chance makes of 1.
func measureTokens(ctx context.Context, e *env, c contender, n int) (_ []figure, err error) {
	var sides [2]*side
	for i, opened := range []contender{c, tokenless} {
		cl, err := e.open(ctx, opened, lease)
		if err != nil {
			return nil, err
		}
		defer closing(cl.Close, &err)
		// Names of one length, so that bytes compare.
		sides[i] = &side{cl: cl, names: numbered(fmt.Sprintf("bench%d:", i), 64*maxCallers), callers: make([]strokes, n)}
		if err := sides[i].run(ctx, names(), e.duration/2); err != nil { // buffers grow meanwhile
			return nil, err
		}
		clear(sides[i].callers)
	}
	const turns = 4 // the more, the more alike is what else the machine does to both
	for range turns {
		for _, s := range sides { // strictly: who has just had a turn would be faster in the next
			if err := s.turn(ctx, e.fleet, e.duration/2); err != nil {
				return nil, err
			}
		}
	}
	s, without := sides[0], sides[1]
	acquires := s.acquires()
	locks, masters := float64(len(acquires)), s.used.masters
	return []figure{
		{"throughput", "locks/s", s.throughput()},
		{"throughput / without tokens", "", s.throughput() / without.throughput()},
		{"CPU per lock / without tokens", "", s.cpuPerLock() / without.cpuPerLock()},
		{"acquire p50", "µs", micros(acquires.percentile(50))},
		{"client CPU per lock", "µs", micros(s.used.cpu) / locks},
		{"masters' CPU per lock", "µs", micros(masters.cpu) / locks},
		{"script calls per lock", "", float64(masters.scripts()) / locks},
		{"commands per lock", "", float64(masters.sent(c.plain)) / locks},
		{"GET and SET in scripts per lock", "", float64(masters.calls["get"]+masters.calls["set"]) / locks},
		{"on the wire per lock", "B", float64(masters.wire) / locks},
	}, nil
}

// side is one of two clients that take turns, what it has done so far, and what that used.
type side struct {
	cl      client
	names   []string
	callers []strokes
	used    usage
}

// turn measures the callers for d.
func (s *side) turn(ctx context.Context, f *fleet, d time.Duration) error {
	before, err := f.meters()
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := s.run(ctx, s.names, d); err != nil {
		return err
	}
	took := time.Since(begun)
	sleep(ctx, settling) // until the masters have done what no caller waits for
	used, err := f.used(before)
	used.wall = took
	s.used = s.used.plus(used)
	return err
}

// run has the callers lock and unlock for d, each its share of names.
func (s *side) run(ctx context.Context, names []string, d time.Duration) error {
	each := len(names) / len(s.callers)
	// Goroutines: the callers. Each ends with the cycle in which d does; Wait waits for them.
	var callers errgroup.Group
	for i := range s.callers {
		own := names[i*each : (i+1)*each]
		callers.Go(func() error { return s.callers[i].run(ctx, s.cl, own, d) })
	}
	return callers.Wait()
}

func (s *side) acquires() samples {
	var all []samples
	for _, c := range s.callers {
		all = append(all, c.acquires)
	}
	return slices.Concat(all...)
}

func (s *side) throughput() float64 { return float64(len(s.acquires())) / s.used.wall.Seconds() }

// cpuPerLock is that of client and masters, which depends less on what else the machine does.
func (s *side) cpuPerLock() float64 {
	return micros(s.used.cpu+s.used.masters.cpu) / float64(len(s.acquires()))
}
