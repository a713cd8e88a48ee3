package main

import "slices"

// graph has the edges that count for liveness, in the order of the states that they leave.
type graph struct {
	goals []bool
	to    []uint32
	ends  []uint64 // of each state, where its edges end in to
}

func (g *graph) state(goal bool) { g.goals = append(g.goals, goal) }

// edge adds an edge from the state whose edges have not ended.
func (g *graph) edge(to uint32) {
	from := uint64(0)
	if n := len(g.ends); n > 0 {
		from = g.ends[n-1]
	}
	if !slices.Contains(g.to[from:], to) {
		g.to = append(g.to, to)
	}
}

func (g *graph) end() { g.ends = append(g.ends, uint64(len(g.to))) }

// traps returns the first state from which no goal can be reached, and how many there are.
func (g *graph) traps() (first uint32, count int) {
	from, starts := g.backwards()
	reaches := slices.Clone(g.goals)
	var todo []uint32
	for id, goal := range g.goals {
		if goal {
			todo = append(todo, uint32(id))
		}
	}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, f := range from[starts[id]:starts[id+1]] {
			if !reaches[f] {
				reaches[f] = true
				todo = append(todo, f)
			}
		}
	}
	first = none
	for id, ok := range reaches {
		if !ok {
			count++
			first = min(first, uint32(id))
		}
	}
	return first, count
}

// expect returns how many steps lie between the worst state and one where all is well, and which state that is:
// the mean, if each of the edges that leave a state is as likely as any other. That is the least solution of
//
//	steps(state) = 0 where all is well, else 1 + the mean of steps(next)
//
// It is found by iteration from below, from the last states to the first, since most edges lead forward.
func (g *graph) expect() (most float64, worst uint32) {
	steps := make([]float64, len(g.goals))
	for change := 1.0; change > exactness; {
		change = 0
		for id := len(steps) - 1; id >= 0; id-- {
			from := uint64(0)
			if id > 0 {
				from = g.ends[id-1]
			}
			if g.goals[id] {
				continue
			}
			sum := 0.0
			for _, to := range g.to[from:g.ends[id]] {
				sum += steps[to]
			}
			n := 1 + sum/float64(g.ends[id]-from)
			change = max(change, n-steps[id])
			steps[id] = n
			if n > most {
				most, worst = n, uint32(id)
			}
		}
	}
	return most, worst
}

// exactness is how little an iteration may change any state for the last one to be good.
const exactness = 1e-4

// backwards returns the edges by the states that they lead to: those to state id begin at
// starts[id].
func (g *graph) backwards() (from []uint32, starts []uint64) {
	starts = make([]uint64, len(g.goals)+2)
	for _, to := range g.to {
		starts[to+2]++
	}
	for i := range g.goals {
		starts[i+2] += starts[i+1]
	}
	from = make([]uint32, len(g.to))
	edge := uint64(0)
	for id, end := range g.ends {
		for ; edge < end; edge++ {
			at := &starts[g.to[edge]+1]
			from[*at] = uint32(id)
			*at++
		}
	}
	return from, starts[:len(g.goals)+1]
}
