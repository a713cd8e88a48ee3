// Package fleet runs Redis masters in containers of their own, and harms them: for the tests of
// integration, and for trials.
//
// Each master is a container (dockertest) that keeps its address whatever is done to it. If there is no
// image, it is built from the machine's redis-server. Where that is impossible, as on a Mac, redis:7 is
// pulled; REDLOCK_REDIS_IMAGE names another image. Everything works with Redis 6.2 and later.
//
// # Concurrency
//
// All methods may be called by any number of goroutines. Acts on one master that are commands wait for
// each other; those on its container or its clock wait for nothing.
//
// # Errors
//
// An act returns when it has taken effect, or an error that names the act and the master. Containers end
// by themselves after [Config].Life, and are labelled with the time after which the next run on the
// machine removes them, so a process that dies leaves none for long.
package fleet
