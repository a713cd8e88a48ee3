package main

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// Clients that have locked before and now do nothing.

const (
	idleN   = 1000
	idleFor = 10 * time.Second
)

func idleTrials() []trial {
	return []trial{{
		scenario: "idle",
		setting:  strconv.Itoa(idleN),
		title:    fmt.Sprintf("%d clients that have locked before and are now idle, for %v; less what the masters need without them", idleN, idleFor),
		among:    []string{"redlock", "redsync"},
		measure:  measureIdle,
	}}
}

// measureIdle measures what clients that do nothing cost the masters, which ask their system for the time
// and much else ten times a second even without them.
func measureIdle(ctx context.Context, e *env, c contender) (_ []figure, err error) {
	sleep(ctx, settling)
	alone, err := e.use(ctx, idleFor)
	if err != nil {
		return nil, err
	}
	_, closeAll, err := e.openMany(ctx, c, idleN)
	if err != nil {
		return nil, err
	}
	defer closing(closeAll, &err)
	sleep(ctx, settling)
	used, err := e.use(ctx, idleFor)
	if err != nil {
		return nil, err
	}
	each := float64(idleN*c.masters) * used.wall.Seconds()
	return []figure{{"one master's CPU per client and second", "µs", (used.masters.cpu() - alone.masters.cpu()) / each}}, nil
}
