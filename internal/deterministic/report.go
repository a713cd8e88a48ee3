package deterministic

import "fmt"

// Report is what became of a seed: a line of JSON of the tests that ran it, for the program that started them.
type Report struct {
	Seed       uint64
	Holds      int
	Faults     map[string]int
	Arrows     map[string]int // as Arrow names them
	Branches   map[string]int // of the scripts: all, those too that were not reached
	Violations int
	Unpromised int
	Failed     bool
}

// Arrow names a transition of a state machine.
func Arrow(from, to fmt.Stringer) string { return from.String() + " → " + to.String() }
