package main

import (
	"bytes"
	"slices"
)

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

// retrace tells the way along the keys of a trace. It goes on with the states themselves, not with
// those that their keys make: so names stay the same. Masters are put in the order that they have
// there, since callers hear of one after the other.
func (x *worker) retrace(keys [][]byte, tell func(step int, w *World, happened []string)) {
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
		tell(step, w, w.log)
		w.log = nil
	}
}
