// Package deterministic makes what runs in a synctest bubble repeatable: the same seed, the same order of
// goroutines and the same random numbers, in another process.
//
// A bubble fixes the time, but not the rest. Go draws at random which case of a select is taken, where the
// loop over a map begins, and which of two timers of the same instant goes off first; math/rand/v2 is
// seeded by the kernel; and a goroutine that the machine held up for 10 ms gives way to others. So
// `go run ./verify/simulation` builds its tests with a Go runtime that is changed in a few lines (edits/go.patch
// says which), and one goroutine at a time. Without that runtime, Seed does nothing.
package deterministic

// Seed makes everything that is random in a bubble follow from seed, from now on. A step is a turn of a
// goroutine, until it waits; the process ends if there are more. Seed reports whether it can: a program that
// was built in the ordinary way cannot.
func Seed(seed, steps uint64) bool { return seedRuntime(seed, steps) }

// Arrows returns how often machines of the protocol made each transition since Seed, as Arrow names it.
func Arrows() map[string]int { return arrows() }

// Branches returns how often scripts reached each of their branches since Seed, as in "acquire.lua:12 then".
func Branches() map[string]int { return branches() }
