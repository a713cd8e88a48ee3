// Package integration runs the lock on real Redis masters and hurts them: it kills,
// stops, restarts, freezes and cuts them off, and checks after each act that the
// promises still hold. It has tests only.
//
// Each master is a container of its own (dockertest). The image is built on the spot
// from the machine's redis-server when none is there; REDLOCK_REDIS_IMAGE=redis:7
// names a stock image to use instead. A test never skips: what it lacks it installs
// (apt-get, as root on Debian and its kin) or names in one line.
//
//	go test -race ./integration                            all of it
//	go test -race ./integration -run TestExclusion -v      one test, with its timeline
//	go test ./integration -artifacts -outputdir out        keeps each test's timeline.txt
//
// A test that draws random numbers logs its seed; REDLOCK_SEED=n replays it, as far as
// real servers replay at all.
//
// # Concurrency
//
// Tests run one after another: they measure time, and every fleet is a test's own.
//
// # Errors
//
// Each test has a deadline of its own and ends the process when it passes it. The
// containers end by themselves a little later, and the next run sweeps the rest.
package integration
