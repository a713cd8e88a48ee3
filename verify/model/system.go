package main

import "bytes"

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
	w := x.k.first()
	return x.edge(&item{World: *w})
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
	next := x.move.moves(&x.from)
	for i := range next {
		emit(x.edge(next[i]))
	}
}

// retrace tells the way along the keys of a trace. It goes on with the states themselves, not with
// those that their keys make: so names stay the same. Masters are put in the order that they have
// there, since callers hear of one after the other.
func (x *worker) retrace(keys [][]byte, tell func(step int, w *World, happened []string)) {
	w := x.k.first()
	x.code.write(w)
	w.arrange(x.k, x.code.order[:x.k.Masters])
	for step, key := range keys {
		if step > 0 {
			w.log = &entry{}
			found := false
			next := x.move.moves(w)
			for i := range next {
				if bytes.Equal(x.code.write(&next[i].World), key) {
					w = new(World)
					next[i].World.copyTo(w, x.k)
					w.arrange(x.k, x.code.order[:x.k.Masters])
					found = true
					break
				}
			}
			if !found {
				panic("model: a trace cannot be walked again")
			}
		}
		tell(step, w, w.log.lines())
		w.log = nil
	}
}
