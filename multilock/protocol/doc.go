// Package protocol is Redlock as state machines: what a caller's try for a lock does, and
// what a hold does, at each answer, message and moment. It serves package multilock: its API is not stable.
//
// A machine is a value. Step takes the instant, what happened and a random number, changes the
// value, and says in [Effects] or [HoldEffects] what to send. It reads no clock, starts nothing,
// waits for nothing and allocates nothing. Package multilock drives the machines with real clocks,
// timers and masters; command model drives the same code through every order of events that a few
// callers and masters can meet.
//
// A [Contender] tries to get the lock. Its states and the arrows between them are in states.go. A
// [Hold] is a lock that was won, until it is given back or lost.
//
// # Concurrency
//
// A machine belongs to whoever calls Step: one caller at a time.
package protocol
