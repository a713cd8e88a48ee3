package redlock_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// event is something that TestSim is there to have happen: where it does not, the test passes and
// shows nothing.
type event int

const (
	// What callers got.
	locking event = iota
	lockingFor
	trying
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
var wanted = [events]struct {
	name  string
	least int
}{
	locking:    {"Lock", 20},
	lockingFor: {"LockFor", 8},
	trying:     {"TryLock", 3},
	doing:      {"Do", 8},
	entering:   {"re-entry", 7},
	extending:  {"Extend", 7},
	losing:     {"loss", 2},
	refused:    {"ErrTaken", 25},
	stranded:   {"ErrNoQuorum", 50},
	killing:    {"kill", 8},
	restarting: {"restart", 7},
	emptying:   {"restart without data", 2},
	freezing:   {"freeze", 9},
	cutting:    {"cut", 8},
	slowing:    {"slow", 25},
}

// tally is how often each event happened.
type tally [events]int

// total is the tally of all seeds that ran.
type total struct {
	mu    sync.Mutex
	seeds int
	sum   tally
}

func (all *total) add(t *tally) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.seeds++
	for e, n := range t {
		all.sum[e] += n
	}
}

// expect wants enough of each event. A few seeds that somebody replays need not have them all.
func (all *total) expect(t *testing.T) {
	if t.Failed() || all.seeds < 30 {
		return
	}
	var had []string
	for e, n := range all.sum {
		had = append(had, fmt.Sprintf("%s %d", wanted[e].name, n))
		if least := wanted[e].least * all.seeds / 10; n < least {
			t.Errorf("%d seeds had %d of %q, want at least %d", all.seeds, n, wanted[e].name, least)
		}
	}
	t.Logf("%d seeds: %s", all.seeds, strings.Join(had, ", "))
}
