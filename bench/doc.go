// Command bench measures this library beside other Redis locks, on five real redis-server
// processes that it starts on the loopback interface, and beside what the wire allows.
//
//	go run .                                          everything, in about a quarter of an hour
//	go run . -run 'contended/(1|32)x'                 some trials, by "scenario/setting"
//	go run . -contenders '^(redlock|limit)$' -run parallel -cpuprofile cpu.prof
//	go run . -json > figures.json
//	go run . -page ../docs                            tables and charts, in docs/benchmarks.md
//	go run . -page ../docs -run far                   one section of it
//
// Each trial is measured in rounds, and within a round for every contender in turn, so that
// what else the machine does falls on all of them; those that mostly wait, for masters far away,
// do so at the same time. A figure is the median of its rounds. On a busy machine trust the
// ratios within one run, and no number by itself.
//
// # Where things are
//
// run.go is the order of events: rounds, contenders, medians. A scenario is a file:
// uncontended.go, parallel.go, tokens.go, handoff.go, contended.go, stalls.go, frozen.go,
// far.go (one master is far away), remote.go (all of them are), waiters.go, held.go, memory.go;
// so is a contender: redlock.go, tokenless.go (redlock with a script cut), redsync.go, single.go
// (locks on one master), limit.go. What scenarios share: healthy.go measures beside a healthy
// fleet, holding.go keeps many locks, rested.go locks after pauses. fleet.go starts and ends the
// masters, program.go finds redis-server, proxy.go moves a master away; counters.go and
// meter.go read what masters and client have used, size.go what the client keeps; report.go
// prints, page.go and chart.go write docs/benchmarks.md.
//
// # Fairness
//
// All contenders have the same lease and the same 500 ms for one master's answer, or 2 s where
// all masters are far away, and keep as many idle connections as they have callers. What is
// counted on the masters is counted by the masters (INFO), not by the clients. The proxy runs in
// this process, which has its cost, and is there for the healthy state of "far" as well. Where
// all masters are far away that cost is little beside the round trips.
//
// # Concurrency
//
// One goroutine runs the trials one after another. Those that a trial starts have ended when it
// returns; the masters have ended when main returns, also after SIGINT and SIGTERM.
//
// # Errors
//
// A contender that fails a trial is reported with its reason, and shown as "failed"; what it
// cannot do is shown as "-".
package main
