// Package tally is for simulations: it counts how often each thing happened that they are there to
// have happen. Where a thing does not happen, the simulation passes and shows nothing.
package tally

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Event is something that a simulation is there to have happen.
type Event struct {
	Name  string
	Least int // how many each ten seeds have at least
}

// Total is the tally of all seeds that ran. Seeds may add to it at the same time.
type Total struct {
	events []Event

	mu    sync.Mutex
	seeds int
	sum   []int
}

// New makes the tally of events that have not happened yet.
func New(events []Event) *Total { return &Total{events: events, sum: make([]int, len(events))} }

// Add adds a seed, in which each event happened as often as counts says.
func (all *Total) Add(counts []int) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.seeds++
	for e, n := range counts {
		all.sum[e] += n
	}
}

// Expect wants enough of each event. A few seeds that somebody replays need not have them all.
func (all *Total) Expect(t *testing.T) {
	if t.Failed() || all.seeds < 30 {
		return
	}
	var had []string
	for e, n := range all.sum {
		event := all.events[e]
		had = append(had, fmt.Sprintf("%s %d", event.Name, n))
		if least := event.Least * all.seeds / 10; n < least {
			t.Errorf("%d seeds had %d of %q, want at least %d", all.seeds, n, event.Name, least)
		}
	}
	t.Logf("%d seeds: %s", all.seeds, strings.Join(had, ", "))
}
