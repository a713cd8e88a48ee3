package deterministic

// seedRuntime is another one where the Go runtime can be seeded: see verify/simulation/overlay.go.
func seedRuntime(uint64) bool { return false }
