package deterministic

// Report is what became of a seed: a line of JSON of the tests that ran it, for the program that started them.
type Report struct {
	Seed       uint64
	Holds      int
	Faults     map[string]int
	Violations int
	Unpromised int
	Failed     bool
}
