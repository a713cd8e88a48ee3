package multilock

import "example.com/redlock/internal/tally"

// simEvent is something that TestSim is there to have happen: where it does not, the test passes and
// shows nothing.
type simEvent int

const (
	// What callers got.
	granting simEvent = iota
	sharing
	permitting
	downgrading
	entering
	extending
	leaking
	losing
	refusing
	stranding
	upgrading

	// What was done to clients and masters.
	handingOff
	dropping
	unplugging
	vanishing
	emptying

	simEvents // how many kinds there are
)

// simWanted are the names of the events, and how many of each ten seeds have at least: about a
// third of what they have in fact.
var simWanted = [simEvents]tally.Event{
	granting:    {Name: "grant", Least: 90},
	sharing:     {Name: "reader", Least: 20},
	permitting:  {Name: "permit", Least: 10},
	downgrading: {Name: "downgrade", Least: 3},
	upgrading:   {Name: "ErrUpgrade", Least: 1},
	entering:    {Name: "re-entry", Least: 3},
	extending:   {Name: "Extend", Least: 15},
	leaking:     {Name: "leak", Least: 1},
	losing:      {Name: "loss", Least: 4},
	refusing:    {Name: "ErrTaken", Least: 40},
	stranding:   {Name: "ErrNoQuorum", Least: 100},
	handingOff:  {Name: "hand-off", Least: 180},
	dropping:    {Name: "lost hand-off", Least: 6},
	unplugging:  {Name: "client unplugged", Least: 25},
	vanishing:   {Name: "client vanished", Least: 1},
	emptying:    {Name: "restart without data", Least: 4},
}

func (s *sim) count(e simEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally[e]++
}
