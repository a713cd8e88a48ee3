package main

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestKeysLoseNothing walks at random, and has each state and the one that its key makes go on to
// the same states. What is left out of a key has no say.
func TestKeysLoseNothing(t *testing.T) {
	for i, k := range allCases() {
		if k.Nightly {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			walker, reader := newMover(k), newMover(k)
			code := newCoder(k)
			w := k.first()
			for step := range 60 {
				var made World
				key := bytes.Clone(code.write(w))
				w.arrange(k, code.order[:k.Masters])
				code.read(key, &made)
				if again := code.write(&made); !bytes.Equal(again, key) {
					t.Fatalf("step %d: key %x becomes %x", step, key, again)
				}
				next := walker.moves(w)
				want, got := keys(code, next), keys(code, reader.moves(&made))
				if !slices.EqualFunc(want, got, bytes.Equal) {
					t.Fatalf("step %d: %d states follow, and %d follow what the key makes", step, len(want), len(got))
				}
				to := next[r.IntN(len(next))]
				w = new(World)
				to.copyTo(w, k)
			}
		})
	}
}

// keys returns the keys of states, each once.
func keys(code *coder, items []*item) [][]byte {
	var all [][]byte
	for _, it := range items {
		all = append(all, bytes.Clone(code.write(&it.World)))
	}
	slices.SortFunc(all, bytes.Compare)
	return slices.CompactFunc(all, bytes.Equal)
}
