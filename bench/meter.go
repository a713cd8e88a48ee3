package main

import (
	"runtime"
	"syscall"
	"time"
)

// usage is what a stretch of a trial used, or the readings of the meters at one end of it.
type usage struct {
	wall          time.Duration // since the process began
	cpu           time.Duration // of this process: the client, and the benchmark's small share
	allocs, bytes uint64
	masters       counters
}

var begin = time.Now()

// meters reads the meters at the start of a stretch.
func (f *fleet) meters() (usage, error) {
	masters, err := f.counters()
	u := readProcess()
	u.masters = masters
	return u, err
}

// used returns what was used since before. It reads the process first, and meters reads it last, so
// that asking the masters is not part of the stretch.
func (f *fleet) used(before usage) (usage, error) {
	u := readProcess()
	masters, err := f.counters()
	return usage{
		wall:    u.wall - before.wall,
		cpu:     u.cpu - before.cpu,
		allocs:  u.allocs - before.allocs,
		bytes:   u.bytes - before.bytes,
		masters: masters.since(before.masters),
	}, err
}

func readProcess() usage {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	var process syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &process) // fails only for wrong arguments
	return usage{
		wall:   time.Since(begin),
		cpu:    time.Duration(process.Utime.Nano() + process.Stime.Nano()),
		allocs: memory.Mallocs,
		bytes:  memory.TotalAlloc,
	}
}
