// Package integration tests the lock on real Redis masters and hurts them: it kills, stops, restarts,
// freezes and cuts them off, and checks after each act that the promises still hold. It consists of
// tests only.
//
// Each master is a container of its own: package fleet starts it and harms it, and says which images
// will do. A test never skips: it installs what is missing (with apt-get, as root on Debian and the like), or
// says in one line what it lacks.
//
//	go test -race -short -parallel 4 ./integration         what make chaos runs
//	go test -race -parallel 4 ./integration                everything, with more rounds
//	go test -race ./integration -run TestExclusion -v      one test, with its timeline
//	go test ./integration -artifacts -outputdir out        keeps each test's timeline.txt
//
// A test that draws random numbers logs its seed. REDLOCK_SEED=n replays it, as far as that is
// possible with real servers.
//
// # Concurrency
//
// Every test has a fleet of its own. Tests that measure time run one after another. Those that mostly
// wait for leases run after them, in parallel (t.Parallel).
//
// # Errors
//
// Each test has a deadline of its own, and ends the process if it overruns. The containers end by
// themselves a little later, and the next run removes the rest.
package integration
