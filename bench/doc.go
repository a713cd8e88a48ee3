// Command bench measures this library against other locks, and against the limit that the
// wire sets, on five real redis-server processes that it starts on the loopback interface.
//
//	go run .                                          everything, in about a quarter of an hour
//	go run . -run 'contended/(1|32)x'                 some trials, by "scenario/setting"
//	go run . -contenders '^(redlock|limit)$' -run parallel -cpuprofile cpu.prof
//	go run . -page ../docs                            tables, in docs/benchmarks.md
//	go run . -page ../docs -run far                   one section of that page
//
// Each trial is measured in rounds, and within a round the contenders take turns, so that other
// load on the machine affects all of them alike. In trials where clients mostly wait for masters
// that are far away, the contenders are measured at the same time. A figure is the median of its
// rounds. On a busy machine trust the ratios within one run, not a number by itself.
//
// # Where things are
//
// run.go sets the order: rounds, contenders, medians. Each scenario is a file: uncontended.go,
// parallel.go, handoff.go, contended.go, frozen.go, dead.go, far.go (one master is far away), remote.go (all
// of them are), held.go, idle.go, storm.go, kept.go, kinds.go (what else there is to take, beside Lock).
// So is each kind of contender: redlock.go, redsync.go, single.go (locks on one master), limit.go,
// elsewhere.go (etcd and Postgres, whose servers other.go starts for the time that they are measured).
// Scenarios share healthy.go, which compares with healthy masters, holding.go, which keeps many locks,
// and rested.go, which locks after pauses. fleet.go starts and ends the masters, proxy.go moves a
// master away. counters.go and meter.go read what masters and client have used. report.go prints,
// page.go writes docs/benchmarks.md.
//
// # Fairness
//
// All contenders have the same lease and the same 500 ms for one master's answer (2 s where all
// masters are far away), and keep as many idle connections as they have callers. Work on the masters
// is counted by the masters (INFO), not by the clients. The proxy runs in this process and uses some
// of its CPU, so the healthy half of "far" goes through it too. Where all masters are far away, that
// cost is small beside the round trips.
//
// # Concurrency
//
// One goroutine runs the trials, one after another. The goroutines of a trial have ended when it
// returns, and the masters have ended when main returns, even after SIGINT or SIGTERM.
//
// # Errors
//
// A contender that fails a trial is reported with the reason and shown as "failed". Where it does
// not take part, it is shown as "-".
package main
