// Package attempt is Redlock as one state machine: what becomes of a lock that a caller wants, from the
// first round until it is given back. It serves package multilock: its API is not stable.
//
// An [Attempt] asks all masters at once: that is a round. A yes is a vote of that master, which is valid
// for a time, and so is a hand-off. While a majority of the votes is valid at the same time the caller has the
// lock, until the q-th longest of them ends. To renew it is another round, whose yes makes a master's vote
// longer; to enter it again is one; and so is its release, which the masters are sent until they answer. A
// client may keep what its caller gave back, and take it over later.
//
// An Attempt is a value. Step takes the instant, what happened and a random number, changes the value, and
// says in [Effects] what to send. It reads no clock, starts nothing, waits for nothing and allocates nothing
// but room for rounds and entries. Package multilock drives it with real clocks, timers and masters; command model drives
// the same code through every order of events that a few callers and masters can meet.
//
// # Concurrency
//
// An Attempt belongs to whoever calls Step: one caller at a time.
package attempt
