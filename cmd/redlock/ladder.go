package main

import "time"

// action is what has to be done to the command.
type action int

const (
	leave action = iota // let it run
	term                // ask it to end
	kill                // end it
)

// lookAgain bounds how long a look at the hold is trusted. Timers stand still while
// the machine sleeps, the hold's own clock does not: the first look after waking must come soon.
const lookAgain = time.Second

// killAgain is how often a tree of processes that does not go is killed again: one that forks
// while it is being killed can have a child that was not seen.
const killAgain = 20 * time.Millisecond

// ladder decides when a command whose hold is ending gets TERM and when KILL.
//
// Renewals come every third of the lease, so a healthy hold never has less than about two
// thirds of it left. Once no more than grace is left, renewals have been failing for a while:
// TERM, although the hold is still valid, so that the command has the grace to end
// before validity does and somebody else may start. KILL follows when validity ends.
//
// A hold can also end without that warning, when somebody freed it by force or the machine slept.
// Then nothing that the command still does is covered; it gets TERM at once, and the grace to
// leave its work in order.
//
// What has been told to end stays told: a renewal that succeeds after all does not call TERM back.
type ladder struct {
	grace  time.Duration
	termed bool
	warned bool // TERM came while the hold was still valid
	killed bool
	killAt time.Time
}

// step says what to do now, and when to ask again at the latest. remaining and ended are the
// hold's validity and whether its context has ended.
func (l *ladder) step(now time.Time, remaining time.Duration, ended bool) (action, time.Duration) {
	over := ended || remaining <= 0
	if l.killed {
		return kill, killAgain
	}
	if l.termed {
		if (over && l.warned) || !now.Before(l.killAt) {
			l.killed = true
			return kill, killAgain
		}
		return leave, min(l.killAt.Sub(now), lookAgain)
	}
	if !over && remaining > l.grace {
		return leave, min(remaining-l.grace, lookAgain)
	}
	l.termed, l.warned = true, !over
	left := l.grace
	if l.warned {
		left = remaining
	}
	l.killAt = now.Add(left)
	return term, min(left, lookAgain)
}
