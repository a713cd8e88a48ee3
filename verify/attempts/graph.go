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
	if !slices.Contains(g.to[g.begin(len(g.ends)):], to) {
		g.to = append(g.to, to)
	}
}

func (g *graph) end() { g.ends = append(g.ends, uint64(len(g.to))) }

// begin is where the edges of a state begin.
func (g *graph) begin(id int) uint64 {
	if id == 0 {
		return 0
	}
	return g.ends[id-1]
}

// next returns the states that edges of a state lead to.
func (g *graph) next(id int) []uint32 { return g.to[g.begin(id):g.ends[id]] }

// traps returns the first state from which no goal can be reached, and how many there are. Most edges lead forward,
// so states are looked at from the last to the first, until nothing changes.
func (g *graph) traps() (first uint32, count int) {
	reaches := slices.Clone(g.goals)
	for changed := true; changed; {
		changed = false
		for id := len(reaches) - 1; id >= 0; id-- {
			if !reaches[id] && slices.ContainsFunc(g.next(id), func(to uint32) bool { return reaches[to] }) {
				reaches[id], changed = true, true
			}
		}
	}
	first = uint32(slices.Index(reaches, false)) // none if there is none
	for _, ok := range reaches {
		count += int(1 - b2(ok))
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
			if g.goals[id] {
				continue
			}
			next, sum := g.next(id), 0.0
			for _, to := range next {
				sum += steps[to]
			}
			n := 1 + sum/float64(len(next))
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
