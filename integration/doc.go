// Package integration tests the lock on real Redis masters. It consists of tests only. Most are trials: client
// processes lock while masters and clients are harmed by a plan, all of them record what they were told and
// what they did, and a judge finds from this history alone whether every promise was kept. The rest are what
// only a real server can show and what no history tells, such as permissions.
//
//	trials_test.go       the trials: at random, and with plans of their own
//	restart_test.go      holds that survive restarts
//	overload_test.go     many clients at once, and masters that hang
//	redisson_test.go     Redisson beside us: who wakes whom
//	commands_test.go     which commands a lock costs a master
//	permissions_test.go  the ACL rule of the docs is enough, and none of it too much; what is not a lock is left alone
//	setup_test.go        the files of docs/deploy, TLS, passwords that change
//	doctor_test.go       what doctor finds on real servers
//	servers_test.go      Redis 8, Valkey 8 and 9, and masters of several kinds
//	fleet_test.go        helpers
//
// A trial consists of
//
//	fleet      Redis masters in containers, and the harm that can be done to each
//	wire       the network from one client to one master: a proxy
//	client     the client process
//	workload   what a client process does, and what it records
//	skew       builds programs whose wall clock is off
//	trial      the plan of faults, and the run
//	chaos      the command
//
// and internal/history, internal/judge and internal/picture, which are not for trials alone.
//
//	go test -p 1 -parallel 4 ./integration/...             what make chaos runs
//	go test ./integration -run TestRestarts -v             one test; of a trial, with the judge's report
//	go test ./integration -artifacts -outputdir out        keeps the history and the picture of each trial
//	go run ./integration/chaos -seed 7 -minutes 10         a long trial
//
// A test never skips: it installs what is missing (with apt-get, as root on Debian and the like), or says in
// one line what it lacks.
//
// # Concurrency
//
// Every test has a fleet of its own. Tests that measure time run one after another; the others after them, in
// parallel (t.Parallel). make soak runs them with the race detector.
//
// # Errors
//
// Each test has a deadline of its own. Containers that a dead run has left end by themselves, and the next run
// removes them.
package integration
