package main

import (
	"context"
	"runtime"
	"time"
)

// size is what this process keeps.
type size struct {
	goroutines int
	heap       int64 // bytes in use
}

// settling is how long late answers and closing connections may take.
const settling = 250 * time.Millisecond

// settled waits until what was begun has ended, and returns what is left of it.
func settled(ctx context.Context) size {
	sleep(ctx, settling)
	// Twice: a sync.Pool gives up its items with the second collection.
	runtime.GC()
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return size{goroutines: runtime.NumGoroutine(), heap: int64(memory.HeapAlloc)}
}

// since returns what came to it from before to s.
func (s size) since(before size) size {
	return size{goroutines: s.goroutines - before.goroutines, heap: s.heap - before.heap}
}
