package redlock_test

import "example.com/redlock/internal/tally"

// event is something that TestSim is there to have happen: where it does not, the test passes and
// shows nothing.
type event int

const (
	// What callers got.
	locking event = iota
	lockingFor
	trying
	reading
	permitting
	downgrading
	doing
	entering
	extending
	losing
	refused
	stranded

	// What was done to masters.
	killing
	restarting
	emptying
	freezing
	cutting
	slowing

	events // how many kinds there are
)

// wanted are the names of the events, and how many of each ten seeds have at least: about a third
// of what they have in fact.
var wanted = [events]tally.Event{
	locking:     {Name: "Lock", Least: 20},
	lockingFor:  {Name: "LockFor", Least: 8},
	trying:      {Name: "TryLock", Least: 3},
	reading:     {Name: "RLock", Least: 15},
	permitting:  {Name: "Acquire", Least: 10},
	downgrading: {Name: "Downgrade", Least: 2},
	doing:       {Name: "Do", Least: 8},
	entering:    {Name: "re-entry", Least: 7},
	extending:   {Name: "Extend", Least: 7},
	losing:      {Name: "loss", Least: 2},
	refused:     {Name: "ErrTaken", Least: 25},
	stranded:    {Name: "ErrNoQuorum", Least: 50},
	killing:     {Name: "kill", Least: 8},
	restarting:  {Name: "restart", Least: 7},
	emptying:    {Name: "restart without data", Least: 2},
	freezing:    {Name: "freeze", Least: 9},
	cutting:     {Name: "cut", Least: 8},
	slowing:     {Name: "slow", Least: 25},
}
