package redlock_test

import (
	"sync"
	"testing"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/history"
)

// wanted are the things that TestSim is there to have happen, and how many of each ten seeds have at least.
var wanted = map[string]int{
	// What callers were granted, and told.
	"grant":     60,
	"enter":     5,
	"extend":    5,
	"downgrade": 2,
	"lost":      2,
	"accepted":  30,
	"taken":     5,
	"noquorum":  1,

	// What was done to masters, the network and clients.
	"kill-aof":     1,
	"restart":      1,
	"pause":        1,
	"cut":          1,
	"cut-client":   1,
	"cut-there":    1,
	"cut-back":     1,
	"slow":         1,
	"jitter":       1,
	"lossy":        1,
	"noise":        1,
	"reset":        1,
	"memory-full":  1,
	"client-kill":  1,
	"script-flush": 1,
	"demote":       1,
}

// tally counts how often each thing happened in all seeds: where it does not, TestSim passes and shows nothing.
type tally struct {
	mu    sync.Mutex
	seeds int
	had   map[string]int
}

// add adds a seed. Seeds may be added at the same time.
func (all *tally) add(events []history.Event) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.seeds++
	for _, e := range events {
		all.had[kindOf(e)]++
	}
}

// expect wants enough of each thing. A few seeds that somebody replays need not have them all.
func (all *tally) expect(t *testing.T) {
	if t.Failed() || all.seeds < 30 {
		return
	}
	for what, least := range wanted {
		least = least * all.seeds / 10
		check.That(t, all.had[what] >= least, "%d seeds had %d of %q, want at least %d", all.seeds, all.had[what], what, least)
	}
	t.Logf("%d seeds: %v", all.seeds, all.had)
}

// kindOf names what an event counts as.
func kindOf(e history.Event) string {
	switch e.What {
	case history.Fault:
		return e.Fault
	case history.Called:
		return string(e.Do)
	case history.Returned:
		return string(e.Err)
	}
	return string(e.What)
}
