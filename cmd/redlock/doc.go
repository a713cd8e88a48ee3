// Command redlock runs a command while it holds a lock that a majority of independent
// Redis masters granted, shows who holds one, and frees one by hand.
//
//	export REDLOCK_MASTERS=m1:6379,m2:6379,m3:6379
//	redlock run --name nightly -- ./report.sh
//	redlock inspect nightly
//	redlock unlock --force nightly
//	redlock demo
//
// The help texts are the manual: redlock --help, redlock run --help. manual.tmpl has all of them but the flags.
//
// # Where things are
//
// main.go sets up the subcommands, exit.go names the exit codes. run.go has the steps of redlock run:
// check, lock (lock.go), start (child_*.go: the command as a process tree, and its terminal, one file per kind of
// system), supervise (supervise.go), unlock. inspect.go, list.go and clients.go have what is shown of
// masters, page.go how it is printed, watch.go how often. demo.go has the setting of redlock demo,
// story.go what happens in it, and record.go what --html draws.
//
// # Concurrency
//
// The main goroutine takes every decision. Others wait for the lock (lock.go), start and reap the
// command (child_*.go), and play the second contender in the demo. The comment of each function that
// starts goroutines says what ends them.
//
// # Errors
//
// Run methods return an [*exitError], which carries the exit code. No error and no log line contains a
// master's URL, since a URL may contain a password. The command of redlock run gets the URLs, as it
// gets the rest of the environment.
package main
