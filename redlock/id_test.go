package redlock_test

// Owners of other clients, as their masters name them.
const (
	someone = "4a1f2b3c-0000-4000-8000-000000000001:7"  // one of Redisson's
	another = "4a1f2b3c-0000-4000-8000-000000000002:r1" // one of ours
)
