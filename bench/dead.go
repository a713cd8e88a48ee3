package main

import (
	"context"
	"time"
)

// One caller, as in uncontended, when one server is dead: connections to it are refused.

func deadTrials() []trial {
	return []trial{{
		scenario: "dead",
		setting:  "1",
		title:    "one caller, fresh names, and one server has been dead for some seconds",
		among:    []string{"redlock", "redsync-ff", "redsync", "etcd/3"},
		measure:  measureDead,
	}}
}

// failover is how long servers have to find out that one of them is dead, and to elect another leader.
const failover = 5 * time.Second

func measureDead(ctx context.Context, e *env, c contender) (_ []figure, err error) {
	own := *e
	if c.start == nil { // other contenders need all of the masters
		if own.fleet, err = startFleet(ctx, e.fleet.program, mastersN); err != nil {
			return nil, err
		}
		defer closing(own.fleet.close, &err)
	}
	cl, err := own.open(ctx, c, lease)
	if err != nil {
		return nil, err
	}
	defer closing(cl.Close, &err)
	if err := own.fleet.masters[len(own.fleet.masters)-1].process.Process.Kill(); err != nil {
		return nil, err
	}
	sleep(ctx, failover)
	s := newTimings()
	if err := s.run(ctx, cl, names(), e.duration); err != nil {
		return nil, err
	}
	return s.percentiles(), nil
}
