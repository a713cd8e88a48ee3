package main

import (
	"runtime"
	"syscall"
	"time"
)

// usage is what a stretch of a trial has cost, or the state of the meters at one end of it.
type usage struct {
	wall          time.Duration // since the process began
	cpu           time.Duration // of this process: the client and the little that the benchmark does
	allocs, bytes uint64
	masters       counters
}

var begin = time.Now()

// meters reads the meters at the beginning of a stretch.
func (f *fleet) meters() (usage, error) {
	masters, err := f.counters()
	u := readProcess()
	u.masters = masters
	return u, err
}

// used returns what was used since before. The process is read first here and last in
// meters, so that asking the masters is not in between.
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

// plus returns what two stretches have cost.
func (u usage) plus(v usage) usage {
	return usage{
		wall:    u.wall + v.wall,
		cpu:     u.cpu + v.cpu,
		allocs:  u.allocs + v.allocs,
		bytes:   u.bytes + v.bytes,
		masters: u.masters.plus(v.masters),
	}
}

func readProcess() usage {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	var process syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &process) // both arguments are right, so it does not fail
	return usage{
		wall:   time.Since(begin),
		cpu:    time.Duration(process.Utime.Nano() + process.Stime.Nano()),
		allocs: memory.Mallocs,
		bytes:  memory.TotalAlloc,
	}
}
