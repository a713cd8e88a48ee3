// Command model checks the protocol of docs/algorithm.md by trying everything that can
// happen, within small bounds: each state that can be reached is looked at, so that what it
// finds safe is safe there, and what is not comes with the shortest way to it. Random
// schedules are no substitute: 200,000 of them missed a bug that needs 16 steps.
//
//	go run ./model              the table of cases, about a minute
//	go run ./model -run '^heal/' -trace
//	go run ./model -nightly     minutes, and up to 4 GiB
//	go test -count=1 ./model    the same as the first, as a test
//
// A case is the protocol within bounds, with all its rules or with one broken. It fails
// when a broken rule does no harm, or other harm than the table says; when what is safe is
// violated; when there are more states than fit into memory; and when an action of the model
// happens in no case. So a rule that is in docs/algorithm.md for safety is here as a switch,
// with what happens without it. With the race detector, go test only searches a few cases
// of some seconds: there is nothing to race in the others, and they take ten times as long.
//
// # How to read it
//
// Begin with the rules: lockrules.go and tokenrules.go. Then a model is a state (lock.go,
// token.go), what masters do to it (lockmaster.go, tokenmaster.go: one function for each
// script in node), what owners do (lockowner.go, tokenowner.go), and what must never be:
// the functions wrong. The cases are in lockcases.go and tokencases.go. search.go, set.go
// and pack.go know nothing of locks.
//
// In the table, N is the number of masters, K of owners, L the lease and H the lease of a
// lock that is passed on, in ticks. For tokens, R is how many rounds of raising an owner has,
// G how often a master grants to one owner, and P how many proposals there are. Restarts are
// without end where no *1 says otherwise.
//
// # The lock
//
// Who holds it, and for how long. Time goes on in ticks, for all at once; a master may end
// a lease a tick early where clocks differ. What was sent is carried out at any later
// moment, any number of times, or never, and what comes back is read at any later moment, or
// never: late, lost, doubled and overtaking messages are all in that. That is more than
// connections do, which keep order, and lose what is under way when they break. A master
// restarts empty, with all it had, or with what it had on its disk; or a replica takes over.
// An owner whose every trace has gone makes room for a new one, so there is no end of owners,
// but only K at once.
//
// Some things are left out since they are covered by others that can do more harm:
//
//   - An owner's older asks. A master does the same for them, and their votes end earlier.
//   - The answer that is read late. A vote does not get longer by it, and nobody is
//     worse off for knowing of it: to hold, to wait and to give up are free choices.
//   - The queues. Any owner may be in any, at any place: its last ask may have been carried
//     out at any time before. See passOn.
//   - The clock of the guard. A master's age is what it is.
//
// # The token
//
// Which number a hold gets, without time: a master's lease may end at any moment. As long
// as masters keep their counters, tokens are unique and grow, whatever leases and proposals
// do; the order is that of a hold and of asks that begin after it, or of a hold and of who
// it was passed to. With the bound "leases" a vote ends no later than the lease on its master.
// Then holds do not overlap, and their tokens have to grow in their full order. Only with it
// do masters restart and lose counters, since a guard is made of time; and "clocks" says that
// who asks proposes more than the token of any hold that began before. Both are needed
// there, and the cases say so.
//
// # What is not modelled
//
// Hold counts and re-entry: they do not change who has a lock. The order in queues, and who
// gives way when: that is about progress, and nothing here is. Rounds of renewals that
// overlap: each is counted by itself. Redisson, which takes part in no majority. FLUSHALL and
// eviction, which are restarts that nobody guards: there the promise ends. More than five
// masters or three owners.
package main
