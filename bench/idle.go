package main

import (
	"context"
	"runtime"
	"time"
)

// A client that has locked before and now does nothing.

func idleTrials() []trial {
	return []trial{{
		scenario: "idle",
		setting:  "1",
		title:    "a client that has locked before and is now idle",
		among:    []string{"redlock", "redsync-ff", "redsync", "redsync-ff/go", "bsm/1", "rueidislock/1"},
		measure:  measureIdle,
	}}
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
