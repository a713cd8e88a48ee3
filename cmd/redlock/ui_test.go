package main

import (
	"testing"
	"time"

	"example.com/redlock/redlocktrace"
)

// TestStanding: the page says that all is well, that no other master may fail, or that there are no locks, and
// only of masters that can grant locks.
func TestStanding(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		states  []redlocktrace.State
		how     standing
		verdict string
	}{
		{[]redlocktrace.State{"up", "behind", "steady"}, well, "All is well: 3 of 3 masters can grant locks."},
		{[]redlocktrace.State{"granting", "up", "down"}, strained, "Locks work, but no other master may fail: 2 of 3 masters can grant locks, 2 are needed."},
		{[]redlocktrace.State{"up", "up", "up", "up", "refused"}, strained, "Locks work, but only 1 more may fail: 4 of 5 masters can grant locks, 3 are needed."},
		{[]redlocktrace.State{"up", "unsteady", ""}, none, "No locks: 1 of 3 masters can grant locks, 2 are needed."},
		{[]redlocktrace.State{"guarded", "guarded", "guarded"}, none, "No locks: 0 of 3 masters can grant locks, 2 are needed."},
		{[]redlocktrace.State{"up"}, well, "All is well: 1 of 1 master can grant locks."},
	} {
		var masters []uiMaster
		for _, state := range c.states {
			masters = append(masters, uiMaster{State: state})
		}
		if got := healthOf(masters, now); got.How != c.how || got.Verdict != c.verdict {
			t.Errorf("%q: %s, %q; want %s, %q", c.states, got.How, got.Verdict, c.how, c.verdict)
		}
	}
	connected := []uiMaster{{State: "up", Until: now.Add(time.Second)}}
	if got := healthOf(connected, now).How; got != none {
		t.Errorf("with a guard for another second: %s", got)
	}
	if got := healthOf(connected, now.Add(time.Second)).How; got != well {
		t.Errorf("once the guard has passed: %s", got)
	}
}
