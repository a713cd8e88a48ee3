package multilock

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// simEvent is something that TestSim is there to have happen: where it does not, the test passes and
// shows nothing.
type simEvent int

const (
	// What callers got.
	granting simEvent = iota
	entering
	extending
	leaking
	losing
	refusing
	stranding

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
var simWanted = [simEvents]struct {
	name  string
	least int
}{
	granting:   {"grant", 90},
	entering:   {"re-entry", 3},
	extending:  {"Extend", 15},
	leaking:    {"leak", 1},
	losing:     {"loss", 4},
	refusing:   {"ErrTaken", 40},
	stranding:  {"ErrNoQuorum", 100},
	handingOff: {"hand-off", 180},
	dropping:   {"lost hand-off", 6},
	unplugging: {"client unplugged", 25},
	vanishing:  {"client vanished", 1},
	emptying:   {"restart without data", 4},
}

// simTally is how often each event happened.
type simTally [simEvents]int

func (s *sim) count(e simEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally[e]++
}

// simTotal is the tally of all seeds that ran.
type simTotal struct {
	mu    sync.Mutex
	seeds int
	sum   simTally
}

func (all *simTotal) add(t *simTally) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.seeds++
	for e, n := range t {
		all.sum[e] += n
	}
}

// expect wants enough of each event. A few seeds that somebody replays need not have them all.
func (all *simTotal) expect(t *testing.T) {
	if t.Failed() || all.seeds < 30 {
		return
	}
	var had []string
	for e, n := range all.sum {
		had = append(had, fmt.Sprintf("%s %d", simWanted[e].name, n))
		if least := simWanted[e].least * all.seeds / 10; n < least {
			t.Errorf("%d seeds had %d of %q, want at least %d", all.seeds, n, simWanted[e].name, least)
		}
	}
	t.Logf("%d seeds: %s", all.seeds, strings.Join(had, ", "))
}
