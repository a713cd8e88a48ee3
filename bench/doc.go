// Command bench measures this library against other locks, and against the limit that the wire sets, on
// five real redis-server processes that it starts on the loopback interface.
//
//	go run .                                          everything, in over an hour; six rounds in 35 minutes
//	go run . -run 'contended/(1|32)x'                 some trials, by "scenario/setting"
//	go run . -contenders '^redlock$' -run parallel    one contender
//	go run . -page .                                  tables, in bench/RESULTS.md
//	go run . -page . -run kept                        one section of that page
//
// Each trial is measured in rounds, and within a round the contenders take turns, so that other
// load on the machine affects all of them alike. A figure is the median of its rounds, and the line below a
// table compares round by round. On a busy machine trust the ratios within one run, not a number by itself.
//
// # Where things are
//
// trials.go lists what is measured, and run.go sets the order: rounds, contenders, medians. The scenarios are in
// uncontended.go (kinds too: what else there is to take, beside Lock), parallel.go, far.go, handoff.go, contended.go,
// faults.go (frozen and dead), held.go (idle, and what a client keeps, too), storm.go and permits.go. Each kind of contender is a file, too:
// redlock.go, redsync.go, single.go (locks on one master), limit.go. fleet.go starts and ends the masters. meter.go reads what masters
// and client have used.
// page.go prints the tables, and writes bench/RESULTS.md.
//
// # Fairness
//
// All contenders have the same lease and the same 500 ms for one master's answer, and keep as many idle
// connections as they have callers. Work on the masters is counted by the masters (INFO), not by the clients.
//
// # Concurrency
//
// One goroutine runs the trials, one after another. The goroutines of a trial have ended when it
// returns, and the masters have ended when main returns, even after SIGINT or SIGTERM.
//
// # Errors
//
// A contender that fails a trial is reported with the reason and shown as "failed".
package main
