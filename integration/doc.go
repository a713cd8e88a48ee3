// Package integration runs the lock on real Redis masters and hurts them: it kills,
// stops, restarts, freezes and cuts them off, and checks after each act that the
// promises still hold. It has tests only.
//
// Each master is a container of its own (dockertest). The image is built on the spot
// from the machine's redis-server when none is there. Where that is not possible, as on a Mac,
// redis:7 is pulled; REDLOCK_REDIS_IMAGE names another image. A test never skips: what it lacks
// it installs (apt-get, as root on Debian and its kin) or names in one line.
//
//	go test -race -short -parallel 4 ./integration         what make chaos runs
//	go test -race -parallel 4 ./integration                all of it, with more of what needs numbers
//	go test -race ./integration -run TestExclusion -v      one test, with its timeline
//	go test ./integration -artifacts -outputdir out        keeps each test's timeline.txt
//
// A test that draws random numbers logs its seed; REDLOCK_SEED=n replays it, as far as
// real servers replay at all.
//
// # Concurrency
//
// Every fleet is a test's own. Tests that measure time run one after another; those that mostly wait
// for leases run beside each other after them (t.Parallel).
//
// # Errors
//
// Each test has a deadline of its own and ends the process when it passes it. The
// containers end by themselves a little later, and the next run sweeps the rest.
package integration
