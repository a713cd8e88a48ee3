package picture

import (
	"cmp"
	"slices"
)

// handOffs finds who was handed a lock by whom: a call that waited when the holder before unlocked, and was
// granted the lock within a third of the lease. Later than that no hand-off wins: two renewals must fit into
// what is left. Of several readers the last one to unlock hands over.
func handOffs(bars []bar, lease at) []handOff {
	type key struct{ name, slot int }
	// The order of what happened to each key.
	type step struct {
		at   at
		bar  int
		gone bool // unlocked, rather than granted
	}
	steps := map[key][]step{}
	var keys []key
	for i, b := range bars {
		k := key{b.Name, b.Slot}
		if steps[k] == nil {
			keys = append(keys, k)
		}
		steps[k] = append(steps[k], step{at: b.At, bar: i})
		if b.How == unlocked {
			steps[k] = append(steps[k], step{at: b.End, bar: i, gone: true})
		}
	}
	var found []handOff
	for _, k := range keys {
		slices.SortStableFunc(steps[k], func(a, b step) int { return cmp.Compare(a.at, b.at) })
		from := -1 // who unlocked last, as long as nobody else had the lock alone since
		for _, s := range steps[k] {
			if s.gone {
				from = s.bar
				continue
			}
			to := bars[s.bar]
			if from >= 0 && to.Do.Waits() && to.Asked < bars[from].End && to.At-bars[from].End <= lease/3 {
				found = append(found, handOff{From: from, To: s.bar})
			}
			if !to.Shared {
				from = -1
			}
		}
	}
	slices.SortFunc(found, func(a, b handOff) int {
		return cmp.Or(cmp.Compare(bars[a.To].At, bars[b.To].At), cmp.Compare(a.To, b.To))
	})
	return found
}
