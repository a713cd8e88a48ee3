package main

import (
	"bytes"
	"sync"
	"sync/atomic"
)

// system is a graph of states, which are known by their keys. States that differ in names only
// may have the same key.
type system interface {
	// first is the state in which all begins.
	first() edge
	// next calls emit with every state that may follow the one with that key. It may be called
	// for one state at a time; others of the same system for others meanwhile.
	next(key []byte, emit func(edge))
}

// edge leads to a state.
type edge struct {
	key   []byte // the callee copies it
	wrong string // what is violated there, "" if nothing is
	goal  bool   // all is well there
	free  bool   // it needs no fault, and no message that is late: it counts for liveness
	cut   bool   // the state is too large to be looked at
}

// found is what a search came to.
type found struct {
	states, edges, depth int

	wrong string   // what is violated, "" if nothing is
	trace []uint32 // the shortest way to it, or into the trap
	traps int      // states from which no way leads to the goal
	cut   int      // states that were too large, or too many, to be looked at
	store *store
	graph graph
}

// What a search may find.
const (
	trapped = "liveness: no way leads to where all are served and all masters are free"
	cutOff  = "not all was seen"
)

// batch is how many states are handed to the workers at a time.
const batch = 4096

// search looks at all states that can be reached, nearest first, until one violates something or
// there are more than limit. So a trace is as short as can be. Then it looks backwards, from the
// states where all is well along the edges that count: what it does not come to is a trap.
//
// Each of systems is worked by a goroutine of its own, which ends with the search. What they find
// is stored in the order of the states it follows from: a search finds the same in each run.
func search(systems []system, limit int) found {
	f := found{store: newStore()}
	g := &f.graph
	var results [batch][]result
	begin := systems[0].first()
	f.store.put(begin.key, hash(begin.key), none)
	g.state(begin.goal)
	if begin.wrong != "" {
		return f.violated(begin.wrong, []uint32{0})
	}
	for at, level := 0, 0; at < f.store.len(); {
		if f.store.len() > limit {
			f.cut += f.store.len() - at
			break
		}
		n := min(batch, f.store.len()-at)
		expand(systems, f.store, at, results[:n])
		for i := range n {
			if at == level {
				f.depth++
				level = f.store.len()
			}
			for _, r := range results[i] {
				f.edges++
				if r.cut {
					f.cut++
					continue
				}
				id, fresh := f.store.put(r.key, r.hash, uint32(at))
				if fresh {
					g.state(r.goal)
				}
				if r.wrong != "" {
					return f.violated(r.wrong, append(f.store.path(uint32(at)), id))
				}
				if r.free {
					g.edge(id)
				}
			}
			g.end()
			at++
		}
	}
	f.states = f.store.len()
	if f.cut > 0 {
		f.wrong = cutOff
		return f
	}
	var first uint32
	if first, f.traps = g.traps(); f.traps > 0 {
		f.wrong, f.trace = trapped, f.store.path(first)
	}
	return f
}

func (f found) violated(what string, trace []uint32) found {
	f.states, f.wrong, f.trace = f.store.len(), what, trace
	return f
}

// result is an edge that has been copied.
type result struct {
	edge
	hash uint64
}

// expand computes what follows states from at on.
func expand(systems []system, s *store, at int, results [][]result) {
	var wg sync.WaitGroup
	var turn atomic.Int32
	for _, sys := range systems {
		wg.Go(func() {
			for {
				i := int(turn.Add(1)) - 1
				if i >= len(results) {
					return
				}
				out := results[i][:0]
				sys.next(s.key(uint32(at+i)), func(e edge) {
					e.key = bytes.Clone(e.key)
					out = append(out, result{e, hash(e.key)})
				})
				results[i] = out
			}
		})
	}
	wg.Wait()
}
