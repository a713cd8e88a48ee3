package redlock_test

import "testing"

// portion is how many of all seeds of a simulation to run: with -short, as make unit does under the race
// detector, which makes each ten times as slow, a fifth. make sim runs all without it.
func portion(all uint64) uint64 {
	if testing.Short() {
		return (all + 4) / 5
	}
	return all
}
