// Command model searches the protocol itself: every state that a few callers and masters can reach, within bounds.
// Callers run the code of package multilock/attempt, Attempt.Step and Lag.Gained. Masters run node/script/twin, which
// tests compare with the Lua scripts. So nothing of the protocol is written a second time here. Random schedules are no
// substitute: 200,000 of them missed a bug that needs 16 steps.
//
//	go run ./verify/model                  the table of cases, some minutes on two processors
//	go run ./verify/model -run '^far' -v   some of them, with the way to each violation
//	go run ./verify/model -nightly         more masters, callers and faults: hours, and several GiB
//	go run ./verify/model -teeth           the few that find a broken rule, less than a minute
//
// A case fails in one of four ways: a state violates a rule (rules.go); from some state, no way leads to a state in
// which all callers are served and all masters are free; that takes longer than it should (search.go); or the search
// had to leave states out. It prints the shortest way to the first failure.
//
// # What is searched
//
// Time advances in ticks. The leases of the cases make the margin for drift about one tick. A message takes as long as
// the case says: if delays were free, somebody would always be lucky, and callers who block each other would not show.
// A random number is one of two. Everything else that may happen is a fault (faults.go), and a case says which kinds
// may happen, and how many of them: links that freeze for any time; messages that are lost, late, doubled, or carried
// out after those of a later connection; masters that restart empty, or with an older copy; callers that crash, sleep
// or give up; callers whose clock stands still while they sleep; masters whose clocks jump; locks that are freed by
// force.
//
// Liveness must not rely on faults: once nothing goes wrong any more, there must be a way to progress without them. A
// caller may never begin, and may never come again, but it does give its lock back.
//
// # Families
//
// Most cases are about a lock. The other families are named by the beginning of their cases' names:
//
//	shared       some callers are readers, and a writer may become one
//	changing     clients have different masters, since the set is being changed, or names move from one set to
//	             another by way of processes that lock them in both (cases.go, pair.go). Some of these are unsafe, and
//	             the search fails if it does not find that
//	order        first come, first served (rules.go). All cases in which nothing goes wrong check that
//	entered      the owner of a hold enters it again, and leaves it (caller.go). The model keeps its own account of
//	             who has an entry and what it wants
//	still, jump  a client's clock falls behind those of the masters (faults.go). The client learns that at some later
//	             moment, and until then it cannot know whether it has the lock
//
// # What is not the code
//
// Some of what the product does is written here again, in a few lines, and mutants of those rules change both places:
//
//   - the driver, which sends the effects of a step in their order and hands answers back (caller.go);
//   - what package multilock decides outside the machine: when the next in a client's line asks, or follows a release,
//     and when a renewal that is due is made;
//   - how package redlock makes one hold of two (pair.go);
//   - the network (network.go): a channel keeps its order until its connection breaks, and releases that were not
//     answered are sent again on the next one;
//   - what package node adds for a guarded master (master.go). What the answer of a master is worth whose clock ran
//     ahead is the code of node/script.
//
// The tests of these are in multilock and node.
//
// # What is left out
//
// Clocks of clients that run at other rates (a master that ends a lease early does the same harm), Redisson, foreign
// data at the key, counters that expire, several names in one hold, several calls that enter a hold at once, and the
// batching of renewals. Answers that come in the same tick reach a caller in the order of the masters.
//
// # How states are kept
//
// The search keeps the key of a state only, and makes the state from it again (coder.go). Instants become the time that
// is left until them, owners and tokens their ranks, and rounds how long ago they were. Masters that are alike may
// change places, and so may callers. What can no longer have an effect is left out of the key; a test walks at random
// and checks that nothing else is.
package main
