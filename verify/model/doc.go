// Command model searches the protocol itself: every state that a few callers and masters can come
// to, within bounds. What callers do is the code of package multilock/attempt, Attempt.Step and
// Lag.Gained; what masters do is node/script/twin, which is held against the Lua
// scripts themselves. Nothing of the protocol is told a second time here. Random schedules are no
// substitute: 200,000 of them missed a bug that needs 16 steps.
//
//	go run ./verify/model                  the table of cases, some minutes on two processors
//	go run ./verify/model -run '^far' -v   some of them, with the way to what is found
//	go run ./verify/model -nightly         more masters, callers and faults: hours, and several GiB
//	go run ./verify/model -teeth           the few that find a broken rule, less than a minute
//
// A case fails when something is violated in a state (rules.go), when there is a state from which no
// way leads to where all callers are served and all masters are free, when that takes longer than it should
// (search.go), and when not all was seen. The way to the nearest such state is the shortest there is.
//
// # What is searched
//
// Time goes on in ticks, and the times of the protocol are set so that the margin for drift is about
// one tick. Messages take as long as the case says: delays that are free hide callers who block each
// other, since somebody is always lucky. Chance has two values. Everything else that may happen is a
// fault, and a case says how many there may be, and of what kind (faults.go): links that freeze for
// any time, messages that are lost, late, doubled, and carried out after those of a later
// connection; masters that restart empty, or with an older copy; callers that crash, sleep and give
// up; callers whose clock stands still while they sleep; masters whose clocks jump; locks that are freed
// by force.
//
// Liveness may not rely on faults: a way to progress must exist without them, once nothing goes wrong
// any more. A caller need not begin and need not come again, but it gives the lock back at
// some time.
//
// # Families
//
// Most cases are about a lock. In those called shared, some callers are readers, and a writer may
// become one. In those called
// changing, clients do not have the same masters: the set is being changed, or names move from one set to
// another, by way of processes that lock them in both (cases.go, pair.go). Some of these are unsafe, and the
// search fails where it does not find that. Those called order are about first come, first served (rules.go),
// which is checked in all cases in which nothing goes wrong. In those called entered, the owner of a hold
// enters it again, and leaves it (caller.go): the model keeps its own account of who has an entry and what it
// wants. In those called still and jump, a client's clock falls behind those of the masters (faults.go); it
// learns that at any later moment, and until then it cannot know whether it has the lock.
//
// # What is not the code
//
// The driver: what sends the effects of a step, in their order, and hands answers back (caller.go). What package
// multilock decides beside the machine is told here again, in a few lines: when the next in the line of a client asks,
// or follows a release, and when a renewal that is due is made. So is how package redlock makes one hold of two
// (pair.go). Mutants of these rules change both.
// The network (network.go): channels that keep their order, until a connection breaks; releases
// that were not answered are sent again on the next one. What package node adds for a guarded
// master (master.go); what the answer of a master is worth whose clock ran ahead is the code of node/script.
// Their own tests are in multilock and node.
//
// # What is left out
//
// Clocks of clients that run at other rates (a master that ends a lease early does the same harm),
// Redisson, foreign data at the key, counters that expire, several names in one hold, several calls that
// enter a hold at once, and the batching of renewals. Callers hear of the masters one after
// the other in the same order when answers come in the same tick.
//
// # How states are kept
//
// A state is kept as its key only (coder.go), and made from it again. Instants are told by what is
// left, owners and tokens by rank, rounds by how long ago they were, and masters that are alike may
// change places, as callers may. What has no say any more is left out; a test walks at random and
// checks that nothing was left out that has.
package main
