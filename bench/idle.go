package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"time"
)

// Clients that have locked before and now do nothing.

const (
	idleN   = 1000
	idleFor = 10 * time.Second
)

func idleTrials() []trial {
	return []trial{
		{
			scenario: "idle",
			setting:  "1",
			title:    "a client that has locked before and is now idle",
			among:    []string{"redlock", "redsync-ff", "redsync", "redsync-ff/go", "bsm/1", "rueidislock/1"},
			measure:  measureIdle,
		},
		{
			scenario: "idle",
			setting:  strconv.Itoa(idleN),
			title:    fmt.Sprintf("%d such clients for %v; less what the masters need without them", idleN, idleFor),
			among:    []string{"redlock", "redsync"},
			measure:  measureIdleMany,
		},
	}
}

// measureIdleMany measures what clients that do nothing cost the masters, which ask their system for the time
// and much else ten times a second even without them.
func measureIdleMany(ctx context.Context, e *env, c contender) (_ []figure, err error) {
	settled(ctx)
	alone, err := e.use(ctx, idleFor)
	if err != nil {
		return nil, err
	}
	_, closeAll, err := e.openMany(ctx, c, idleN)
	if err != nil {
		return nil, err
	}
	defer closing(closeAll, &err)
	settled(ctx)
	used, err := e.use(ctx, idleFor)
	if err != nil {
		return nil, err
	}
	each := float64(idleN*c.masters) * used.wall.Seconds()
	return []figure{{"one master's CPU per client and second", "µs", micros(used.masters.cpu-alone.masters.cpu) / each}}, nil
}

func measureIdle(ctx context.Context, e *env, c contender) (_ []figure, err error) {
	before := settled(ctx)
	alone, err := e.fleet.counters()
	if err != nil {
		return nil, err
	}
	cl, err := e.open(ctx, c, lease)
	if err != nil {
		return nil, err
	}
	defer closing(cl.Close, &err)
	idle := settled(ctx).since(before)
	now, err := e.fleet.counters()
	if err != nil {
		return nil, err
	}
	return []figure{
		{"goroutines", "", float64(idle.goroutines)},
		{"connections per master", "", float64(now.since(alone).connections) / float64(c.masters)},
		{"heap", "kB", float64(idle.heap) / 1000},
	}, nil
}

// size is how many goroutines and how much memory this process has.
type size struct {
	goroutines int
	heap       int64 // bytes in use
}

// settling is how long late answers may take to arrive, and connections to close.
const settling = 250 * time.Millisecond

// settled waits until earlier work has ended, and returns what remains.
func settled(ctx context.Context) size {
	sleep(ctx, settling)
	// Twice: a sync.Pool drops its items at the second collection.
	runtime.GC()
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return size{goroutines: runtime.NumGoroutine(), heap: int64(memory.HeapAlloc)}
}

// since returns how much s is larger than before.
func (s size) since(before size) size {
	return size{goroutines: s.goroutines - before.goroutines, heap: s.heap - before.heap}
}
