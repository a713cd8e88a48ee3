package main

import (
	"slices"

	"example.com/redlock/multilock/attempt"
)

// A client knows its own masters only, by their places in its set. While the set is changed, some
// clients have another one.

// sets fills in which masters each caller has, and which masters are alike.
func (k *Case) sets(times attempt.Config) {
	for c := range k.Callers {
		k.configs[c] = times
		k.configs[c].Masters = len(k.masters(c))
		if k.keeps(c) {
			k.configs[c].Keep = ticks(k.Keep)
		}
		for m := range k.Masters {
			k.places[c][m] = slices.Index(k.masters(c), m)
		}
	}
	for m := 1; m < k.Masters; m++ {
		k.class[m] = k.class[m-1]
		for c := range k.Callers {
			if k.has(c, m) != k.has(c, m-1) {
				k.class[m] = m
			}
		}
	}
}

// masters returns the masters of a caller, in the order in which it knows them.
func (k *Case) masters(c int) []int {
	if k.Sets == nil {
		return everybody[:k.Masters]
	}
	return k.Sets[k.client(c)]
}

var everybody = []int{0, 1, 2, 3, 4}

// config is what the machines of a caller are told.
func (k *Case) config(c int) *attempt.Config { return &k.configs[c] }

// place returns where a caller has master m in its set.
func (k *Case) place(c, m int) int { return k.places[c][m] }

// has reports whether a caller has master m in its set.
func (k *Case) has(c, m int) bool { return k.places[c][m] >= 0 }

// alike reports whether two masters are in the same sets. They can change places.
func (k *Case) alike(m, n int) bool { return !k.Near && k.class[m] == k.class[n] }
