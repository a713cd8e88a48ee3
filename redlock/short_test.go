package redlock_test

import "testing"

// portion is how many of all seeds of a simulation to run: with -short, as make unit does under the race
// detector, which makes each ten times as slow, a tenth. make sim runs all without it.
func portion(all uint64) uint64 {
	if testing.Short() {
		return (all + 9) / 10
	}
	return all
}
