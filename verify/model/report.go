package main

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"example.com/redlock/internal/beside"
	"example.com/redlock/multilock/attempt"
)

// report searches cases and tells of each in a line, in their order.
type report struct {
	to     io.Writer
	traces bool
	first  bool // stop at the first that fails
	whole  bool // these are all cases, so that all transitions should have been made

	mu     sync.Mutex // of what all cases add up
	states int
	memory uint64 // most that was in use, in bytes

	taken arrows
}

// limit is how many states a case may have: with more it would not fit into 6 GiB. Those that are to
// find broken rules are small, and a broken rule may make states without end.
const (
	limit      = 16_000_000
	teethLimit = 1_000_000
)

// all searches cases, and is false if one fails. The large ones come last.
func (r *report) all(cases []*Case) (ok bool) {
	start := time.Now()
	var small, large []*Case
	for _, k := range cases {
		if k.Nightly {
			large = append(large, k)
		} else {
			small = append(small, k)
		}
	}
	failed := r.each(small, runtime.GOMAXPROCS(0)) + r.each(large, 1) // one of which fills the memory
	fmt.Fprintf(r.to, "%d cases, %d states, %.0f s, %.1f GiB; %d failed\n",
		len(cases), r.states, time.Since(start).Seconds(), float64(r.memory)/(1<<30), failed)
	if r.whole {
		r.arrows()
	}
	return failed == 0
}

// told is what is told of a case.
type told struct {
	text bytes.Buffer
	ok   bool
}

// each searches so many cases at a time, on its share of the processors each, tells of them in their order, and
// returns how many failed.
//
// Goroutines: one that has the cases searched; each waits for it.
func (r *report) each(cases []*Case, atATime int) (failed int) {
	done := make(map[*Case]chan *told)
	for _, k := range cases {
		done[k] = make(chan *told, 1)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	var enough atomic.Bool
	wg.Go(func() {
		beside.Each(cases, atATime, func(k *Case) {
			t := &told{ok: true}
			if !enough.Load() {
				t.ok = r.one(&t.text, k, runtime.GOMAXPROCS(0)/atATime)
			}
			done[k] <- t
		})
	})
	for _, k := range cases {
		t := <-done[k]
		_, _ = t.text.WriteTo(r.to)
		if !t.ok {
			failed++
			enough.Store(r.first)
		}
	}
	return failed
}

// one searches a case on so many processors.
func (r *report) one(to io.Writer, k *Case, processors int) (ok bool) {
	start := time.Now()
	k.taken = &r.taken
	var systems []system
	for range processors {
		systems = append(systems, newWorker(k))
	}
	most := limit
	if r.first {
		most = teethLimit
	}
	f := search(systems, most)
	r.note(&f)
	verdict := f.progress(k)
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
	fmt.Fprintf(to, "%-52s %9d states %3d deep %6.1f s  %s\n", k.Name, f.states, f.depth, time.Since(start).Seconds(), verdict)
	if f.trace != nil && r.traces {
		var keys [][]byte
		for _, id := range f.trace {
			keys = append(keys, f.store.key(id))
		}
		newWorker(k).retrace(keys, func(step int, w *World, happened []string) { w.tell(to, k, step, happened) })
	}
	return ok
}

// note adds up what a case has seen, and has its memory given back.
func (r *report) note(f *found) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.states += f.states
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r.memory = max(r.memory, m.Sys-m.HeapReleased)
	debug.FreeOSMemory()
}

// arrows lists the transitions that no case has made.
func (r *report) arrows() {
	for _, a := range attempt.Arrows {
		if !r.taken.made[a.From][a.To].Load() {
			fmt.Fprintf(r.to, "no attempt went from %v to %v (%s)\n", a.From, a.To, a.Why)
		}
	}
}
