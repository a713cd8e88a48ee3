package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"time"

	"example.com/redlock/multilock/protocol"
)

// report searches cases and tells of each in a line.
type report struct {
	to     io.Writer
	traces bool
	first  bool // stop at the first that fails
	whole  bool // these are all cases, so that all transitions should have been made

	states int
	memory uint64 // most that was in use, in bytes
	taken  arrows
}

// limit is how many states a case may have: with more it would not fit into 6 GiB. Those that are to
// find broken rules are small, and a broken rule may make states without end.
const (
	limit      = 16_000_000
	teethLimit = 1_000_000
)

// all searches cases one after the other, each on all processors, and is false if one fails.
func (r *report) all(cases []*Case) (ok bool) {
	start := time.Now()
	failed := 0
	for _, k := range cases {
		if !r.one(k) {
			failed++
			if r.first {
				break
			}
		}
	}
	fmt.Fprintf(r.to, "%d cases, %d states, %.0f s, %.1f GiB; %d failed\n",
		len(cases), r.states, time.Since(start).Seconds(), float64(r.memory)/(1<<30), failed)
	if r.whole {
		r.arrows()
	}
	return failed == 0
}

func (r *report) one(k *Case) (ok bool) {
	start := time.Now()
	var systems []system
	for range runtime.GOMAXPROCS(0) {
		systems = append(systems, newWorker(k))
	}
	most := limit
	if r.first {
		most = teethLimit
	}
	f := search(systems, most)
	r.note(k, &f)
	verdict := "ok"
	if f.wrong != "" {
		verdict = "FAIL " + f.wrong
	}
	switch {
	case f.traps > 0:
		verdict += fmt.Sprintf(": from %d states, first in step %d", f.traps, len(f.trace)-1)
	case f.cut > 0:
		verdict += fmt.Sprintf(": %d states left", f.cut)
	case f.wrong != "":
		verdict += fmt.Sprintf(", in step %d", len(f.trace)-1)
	}
	ok = f.wrong == ""
	if k.Unsafe {
		if ok = f.wrong == twoHolders; ok {
			verdict = fmt.Sprintf("ok: unsafe, as it must be, in step %d", len(f.trace)-1)
		} else {
			verdict = "FAIL to find what is unsafe: " + verdict
		}
	}
	fmt.Fprintf(r.to, "%-52s %9d states %3d deep %6.1f s  %s\n", k.Name, f.states, f.depth, time.Since(start).Seconds(), verdict)
	if r.traces && f.trace != nil {
		var keys [][]byte
		for _, id := range f.trace {
			keys = append(keys, f.store.key(id))
		}
		newWorker(k).retrace(keys, func(step int, w *World, happened []string) { w.tell(r.to, k, step, happened) })
	}
	return ok
}

// note adds up what a case has seen, and has its memory given back.
func (r *report) note(k *Case, f *found) {
	r.states += f.states
	for from := range r.taken.contender {
		for to := range r.taken.contender {
			if k.taken.contender[from][to].Load() {
				r.taken.contender[from][to].Store(true)
			}
			if k.taken.hold[from][to].Load() {
				r.taken.hold[from][to].Store(true)
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r.memory = max(r.memory, m.Sys-m.HeapReleased)
	debug.FreeOSMemory()
}

// arrows lists the transitions that no case has made.
func (r *report) arrows() {
	for _, a := range protocol.Arrows {
		if !r.taken.contender[a.From][a.To].Load() {
			fmt.Fprintf(r.to, "no contender went from %v to %v (%s)\n", a.From, a.To, a.Why)
		}
	}
	for _, a := range protocol.HoldArrows {
		if !r.taken.hold[a.From][a.To].Load() {
			fmt.Fprintf(r.to, "no hold went from %v to %v (%s)\n", a.From, a.To, a.Why)
		}
	}
}
