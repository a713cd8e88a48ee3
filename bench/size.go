package main

import (
	"context"
	"runtime"
	"time"
)

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
