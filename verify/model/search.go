package main

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
)

// system is a graph of states, which are identified by their keys.
type system interface {
	// first is the state in which all begins.
	first() edge
	// next calls emit with every state that may follow the one with that key. It handles one state at a time.
	next(key []byte, emit func(edge))
}

// edge leads to a state.
type edge struct {
	key   []byte // the callee copies it
	wrong string // what is violated there; "": nothing
	goal  bool   // all are served there
	free  bool   // it needs no fault, and no late message: it counts for liveness
	cut   bool   // the state had no room for all
	hash  uint64 // of the key; expand adds it
}

// found is the result of a search.
type found struct {
	states, depth int

	wrong string   // what is violated, "" if nothing is
	trace []uint32 // the shortest way to it, or into the trap
	traps int      // states from which no way leads to the goal
	cut   int      // states that were left out, since they were too large or too many
	store *store
	graph graph
}

// What a search may find.
const (
	trapped = "liveness: no way leads to where all are served and all masters are free"
	cutOff  = "not all was seen"
)

// batch is how many states the workers get at a time.
const batch = 4096

// search looks at all states that can be reached, nearest first, until one violates a rule or there are more than limit.
// So a trace is as short as it can be. Then it goes backwards from the goals, along the edges that count for liveness:
// states that it does not reach are traps.
//
// Each of the systems has a goroutine of its own, which ends with the search. What they find is stored in the order of
// the states from which it was found, so that a search finds the same in each run.
func search(systems []system, limit int) found {
	f := found{store: newStore()}
	g := &f.graph
	var results [batch][]edge
	rooms := make([]room, len(systems))
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
		expand(systems, f.store, at, results[:n], rooms)
		for i := range n {
			if at == level {
				f.depth++
				level = f.store.len()
			}
			for _, r := range results[i] {
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

// room is where a worker puts the edges that it finds, and their keys. It is used again for the next batch.
type room struct {
	edges []edge
	keys  []byte
}

// expand computes the edges of the states from at on.
func expand(systems []system, s *store, at int, results [][]edge, rooms []room) {
	var wg sync.WaitGroup
	var turn atomic.Int32
	for w, sys := range systems {
		wg.Go(func() {
			edges, keys := rooms[w].edges[:0], rooms[w].keys[:0]
			for {
				i := int(turn.Add(1)) - 1
				if i >= len(results) {
					break
				}
				first := len(edges)
				sys.next(s.key(uint32(at+i)), func(e edge) {
					from := len(keys)
					keys = append(keys, e.key...)
					e.key = keys[from:]
					e.hash = hash(e.key)
					edges = append(edges, e)
				})
				results[i] = edges[first:]
			}
			rooms[w] = room{edges, keys}
		})
	}
	wg.Wait()
}

// none is no state.
const none = ^uint32(0)

var seed = maphash.MakeSeed()

func hash(key []byte) uint64 { return maphash.Bytes(seed, key) }

// store has the keys of the states that were found, in their order. It compares whole keys, not hashes: otherwise what it
// finds safe would be so only very probably. It is a table with open addressing over a few large slices: a Go map of the
// same keys takes twice the memory.
type store struct {
	chunks  [][]byte
	places  []uint64 // of each key: chunk, offset, length
	table   []uint32
	parents []uint32
}

const (
	smallChunk = 1 << 16 // the first, since most stores are small
	chunkSize  = 1 << offsetBits
	lengthBits = 12
	offsetBits = 24
)

func newStore() *store {
	s := &store{table: make([]uint32, 1<<10)}
	s.empty()
	return s
}

func (s *store) len() int { return len(s.places) }

// key returns the key of state id. It must not be changed.
func (s *store) key(id uint32) []byte {
	p := s.places[id]
	from := p >> lengthBits & (1<<offsetBits - 1)
	return s.chunks[p>>(lengthBits+offsetBits)][from : from+p&(1<<lengthBits-1)]
}

// put returns the state with that key and hash, and whether it is new. If so, it was found from parent.
func (s *store) put(key []byte, hash uint64, parent uint32) (id uint32, fresh bool) {
	at := s.slot(key, hash)
	if s.table[at] != none {
		return s.table[at], false
	}
	if len(key) >= 1<<lengthBits {
		panic("model: a key is too long")
	}
	last := len(s.chunks) - 1
	if last < 0 || len(s.chunks[last])+len(key) > cap(s.chunks[last]) {
		s.chunks = append(s.chunks, make([]byte, 0, min(chunkSize, smallChunk<<min(len(s.chunks), 8))))
		last++
	}
	place := uint64(last)<<(lengthBits+offsetBits) | uint64(len(s.chunks[last]))<<lengthBits | uint64(len(key))
	s.chunks[last] = append(s.chunks[last], key...)
	id = uint32(len(s.places))
	s.places = append(s.places, place)
	s.parents = append(s.parents, parent)
	s.table[at] = id
	if len(s.places)*2 > len(s.table) {
		s.grow()
	}
	return id, true
}

// clear forgets all states, and keeps the room that they had.
func (s *store) clear() {
	for i := range s.chunks {
		s.chunks[i] = s.chunks[i][:0]
	}
	s.chunks, s.places, s.parents = s.chunks[:min(1, len(s.chunks))], s.places[:0], s.parents[:0]
	s.empty()
}

// empty makes a table without states.
func (s *store) empty() {
	for i := range s.table {
		s.table[i] = none
	}
}

// slot returns where key is in the table, or would be.
func (s *store) slot(key []byte, hash uint64) uint64 {
	mask := uint64(len(s.table) - 1)
	at := hash & mask
	for s.table[at] != none && !bytes.Equal(s.key(s.table[at]), key) {
		at = (at + 1) & mask
	}
	return at
}

func (s *store) grow() {
	s.table = make([]uint32, 2*len(s.table))
	s.empty()
	mask := uint64(len(s.table) - 1)
	for id := range s.places {
		at := hash(s.key(uint32(id))) & mask
		for s.table[at] != none {
			at = (at + 1) & mask
		}
		s.table[at] = uint32(id)
	}
}

// path returns the states on the way from the first to id, both included.
func (s *store) path(id uint32) []uint32 {
	var path []uint32
	for ; id != none; id = s.parents[id] {
		path = append(path, id)
	}
	slices.Reverse(path)
	return path
}

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

// expect returns the mean number of steps from the worst state to a goal, if all edges that leave a state are equally
// likely, and which state that is. It is the least solution of
//
//	steps(goal) = 0, steps(state) = 1 + the mean of steps(next)
//
// which it approaches from below, going from the last state to the first, since most edges lead forward.
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

// exactness is how much the last iteration may change any state.
const exactness = 1e-4

// That all can be served does not say when: callers that get in each other's way, and give way at random, may do so for
// long. So the search also says how many ticks it takes on average, from the worst state, until all callers are served
// and all masters are free. Then no more callers begin, nothing goes wrong, and in each tick a holder may give the lock
// back or not.

// within are the bounds for that, of cases about split votes: what was found, rounded up. A change that makes it less
// lowers the bound, and one that makes it more needs a reason.
var within = map[string]float64{
	"far/two/1":                   10,
	"far/two/2":                   16,
	"far/two/3":                   23,
	"far/two, a master is dead/1": 12,
	"far/two, a master is dead/2": 19,
	"far/two, a master is dead/3": 27,
	"far/three/1":                 16,
	"far/three/2":                 27,
	"far/three/3":                 40,
	"far/one waits, two try/1":    9,
	"far/one waits, two try/2":    16,
	"far/one waits, two try/3":    21,
	"order/WWWW":                  16,
	"shared/RWR":                  13,
}

// progress says how long a case without violations takes, and whether that is too long.
func (f *found) progress(k *Case) (verdict string) {
	most, bound := within[k.Name]
	if f.wrong != "" || !bound {
		return "ok"
	}
	ticks, worst := f.graph.expect()
	if ticks > most {
		f.wrong, f.trace = fmt.Sprintf("%s, %.1f instead of %.1f", tooSlow, ticks, most), f.store.path(worst)
	}
	return fmt.Sprintf("ok, served in %.1f ticks", ticks)
}

// worker is a case as a graph of states, for one goroutine.
type worker struct {
	k       *Case
	move    *mover
	code    *coder
	from    World
	checked int
}

func newWorker(k *Case) *worker { return &worker{k: k, move: newMover(k), code: newCoder(k)} }

func (x *worker) first() edge {
	return x.edge(&item{World: *x.k.first()})
}

func (x *worker) edge(it *item) edge {
	return edge{
		key: x.code.write(&it.World), wrong: it.wrong, goal: it.goal(x.k), free: !it.toll, cut: it.cut,
	}
}

func (x *worker) next(key []byte, emit func(edge)) {
	x.code.read(key, &x.from)
	if x.checked < 5000 {
		x.checked++
		if !bytes.Equal(x.code.write(&x.from), key) {
			panic("model: a state that was made from a key has another")
		}
	}
	for _, it := range x.move.moves(&x.from) {
		emit(x.edge(it))
	}
}

// retrace walks along the keys of a trace and tells what happened. It goes on with the states themselves, not with those
// made from their keys, so that names stay the same. It puts the masters in the order that they have in the key, since
// callers hear from one after the other in that order.
func (x *worker) retrace(keys [][]byte, tell func(step int, happened []string)) {
	w := x.k.first()
	x.code.write(w)
	for step, key := range keys {
		if step > 0 {
			w.log = []string{}
			next := x.move.moves(w)
			i := slices.IndexFunc(next, func(it *item) bool { return bytes.Equal(x.code.write(&it.World), key) })
			if i < 0 {
				panic("model: a trace cannot be walked again")
			}
			w = new(World)
			next[i].copyTo(w, x.k)
		}
		w.arrange(x.k, x.code.order[:x.k.Masters])
		tell(step, w.log)
		w.log = nil
	}
}
