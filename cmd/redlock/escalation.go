package main

import "time"

// action is what has to be done to the command.
type action int

const (
	leave action = iota // let it run
	term                // ask it to end
	kill                // end it
)

// lookAgain is the longest time between two checks of the hold. Timers stand still while the machine
// sleeps, but the hold's own clock does not, so the first check after waking must come soon.
const lookAgain = time.Second

// killAgain is how often a process tree that is still there is killed again: a process that forks
// while the tree is being killed may have a child that was missed.
const killAgain = 20 * time.Millisecond

// escalation decides when a command whose hold is ending gets TERM, and when it gets KILL.
//
// Renewals come every third of the lease, so a healthy hold always has about two thirds of it left.
// When no more than grace is left, renewals have been failing for a while. The command gets TERM then,
// although the hold is still valid, so that it has the grace to end before validity ends and somebody
// else may start. KILL follows when validity ends.
//
// A hold can also end without that warning, if somebody freed it by force or the machine slept. Then
// the lock no longer covers anything that the command does. The command gets TERM at once, and the
// grace to leave its work in order.
//
// TERM is final: a renewal that succeeds after all does not take it back.
type escalation struct {
	grace    time.Duration
	termSent bool
	warned   bool // TERM came while the hold was still valid
	killSent bool
	killAt   time.Time
}

// step returns what to do now, and how soon to call step again at the latest. remaining is the hold's
// validity, and ended says whether its context has ended.
func (e *escalation) step(now time.Time, remaining time.Duration, ended bool) (action, time.Duration) {
	over := ended || remaining <= 0
	if e.killSent {
		return kill, killAgain
	}
	if e.termSent {
		if (over && e.warned) || !now.Before(e.killAt) {
			e.killSent = true
			return kill, killAgain
		}
		return leave, min(e.killAt.Sub(now), lookAgain)
	}
	if !over && remaining > e.grace {
		return leave, min(remaining-e.grace, lookAgain)
	}
	e.termSent, e.warned = true, !over
	left := e.grace
	if e.warned {
		left = remaining
	}
	e.killAt = now.Add(left)
	return term, min(left, lookAgain)
}
