// Command redlock runs a command while it holds a lock that a majority of independent
// Redis masters granted, shows who holds one, and frees one by hand.
//
//	export REDLOCK_MASTERS=m1:6379,m2:6379,m3:6379
//	redlock run --name nightly -- ./report.sh
//	redlock inspect nightly
//	redlock unlock --force nightly
//	redlock demo
//
// The help texts are the manual: redlock --help, redlock run --help.
//
// # Where things are
//
// main.go wires the subcommands, exit.go names the exit codes. run.go is the order of events of
// redlock run: check, lock (acquire.go), start (child_*.go: the command as a tree of processes, once
// per kind of system), watch (supervise.go, by the rules of ladder.go), unlock. demo.go is the
// stage of redlock demo, story.go what happens on it; claims.go keeps the score.
//
// # Concurrency
//
// One goroutine, the main one, takes every decision. Beside it run those that wait for the lock
// (acquire.go), the one that starts and reaps the command (child_*.go), and in the demo the
// second contender. The comment of each function that starts some says what ends them.
//
// # Errors
//
// Run methods return an [*exitError], which carries the exit code. No error and no log line has a
// master's URL in it: a URL may have a password. The command of redlock run gets them, as it gets the
// rest of the environment.
package main
