package script

import (
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlocktest"
)

func TestRenewScript(t *testing.T) {
	renew := func(heal bool) *Command {
		cmd := Renew(lease, []Renewal{{Owner: NewOwner("k", id("me:1")), Count: 2, Token: 50}})
		if !heal {
			return guarded(cmd)
		}
		return cmd
	}
	noLock := func(what string) Answer {
		return Answer{Outcome: Done, Renewed: []Renewed{NotLock}, Errors: map[int]error{0: notLock(what)}}
	}
	is := func(r Renewed) Answer { return Answer{Outcome: Done, Renewed: []Renewed{r}} }
	mine := func(left time.Duration, fence string, fenceLeft time.Duration) lock {
		return lock{owner: id("me:1"), count: "2", left: left, fence: fence, fenceLeft: fenceLeft}
	}
	yours := lock{owner: id("you:1"), count: "1", left: time.Second, fence: "40"}
	runScripts(t, []scriptCase{
		{
			name:   "extended",
			before: mine(time.Second, "50", time.Second),
			cmd:    renew(false), answer: is(Extended), after: mine(lease, "50", fenceLeft),
		},
		{
			name:   "never shortened",
			before: mine(time.Minute, "50", time.Second),
			cmd:    renew(false), answer: is(Extended), after: mine(time.Minute, "50", fenceLeft),
		},
		{
			name:   "the counter is lower",
			before: mine(time.Second, "49", time.Second),
			cmd:    renew(false), answer: is(Extended), after: mine(lease, "50", fenceLeft),
		},
		{
			name:   "the counter is higher",
			before: mine(time.Second, "1000", time.Second),
			cmd:    renew(false), answer: is(Extended), after: mine(lease, "1000", fenceLeft),
		},
		{
			name:   "the counter is lost",
			before: mine(time.Second, "", 0),
			cmd:    renew(false), answer: is(Extended), after: mine(lease, "50", fenceLeft),
		},
		{
			name:   "garbage in the counter",
			before: mine(time.Second, "x", 0),
			cmd:    renew(false), answer: is(Extended), after: mine(lease, "x", fenceLeft),
		},
		{
			// The count of a renewal may be older than that of a re-entry.
			name:   "the count is left alone",
			before: lock{owner: id("me:1"), count: "3", left: time.Second, fence: "50"},
			cmd:    renew(true), answer: is(Extended),
			after: lock{owner: id("me:1"), count: "3", left: lease, fence: "50", fenceLeft: fenceLeft},
		},
		{name: "absent", before: lock{fence: "40"}, cmd: renew(false), answer: is(Absent), after: lock{fence: "40"}},
		{
			name:   "absent, to heal",
			before: lock{fence: "40"},
			cmd:    renew(true), answer: is(Healed), after: mine(lease, "50", fenceLeft), again: is(Extended),
		},
		{
			name:   "absent, to heal, the counter is higher",
			before: lock{fence: "60", fenceLeft: time.Minute},
			cmd:    renew(true), answer: is(Healed), after: mine(lease, "60", fenceLeft), again: is(Extended),
		},
		{name: "another has it", before: yours, cmd: renew(false), answer: is(Foreign), after: yours},
		{name: "another has it, to heal", before: yours, cmd: renew(true), answer: is(Foreign), after: yours},
		{
			name:   "no lock at the key",
			before: lock{other: "text", fence: "40"},
			cmd:    renew(true), answer: noLock("string"), after: lock{other: "text", fence: "40"},
		},
		{
			name:   "another program's hash",
			before: lock{owner: "name", count: "bob", fence: "40"},
			cmd:    renew(true), answer: noLock("hash 1"), after: lock{owner: "name", count: "bob", fence: "40"},
		},
	})
}

func TestRenewScriptKeepsAllDigits(t *testing.T) {
	runScripts(t, []scriptCase{{
		name:   "large token",
		cmd:    Renew(lease, []Renewal{{Owner: NewOwner("k", id("me:1")), Count: 1, Token: big}}),
		answer: Answer{Outcome: Done, Renewed: []Renewed{Healed}},
		after:  lock{owner: id("me:1"), count: "1", left: lease, fence: decimal(big), fenceLeft: fenceLeft},
		again:  Answer{Outcome: Done, Renewed: []Renewed{Extended}},
	}})
}

// TestRenewScriptBatch: what is wrong with one key of a batch does not touch the others.
func TestRenewScriptBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := redlocktest.Start(t, 1)
		m := f.Master(0)
		conn := f.Pools()[0].Get()
		defer conn.Close()

		var holds []Renewal
		hold := func(key string) {
			holds = append(holds, Renewal{Owner: NewOwner(key, id("me:1")), Count: 1, Token: 50})
		}
		hold("mine")
		m.HSet("mine", id("me:1"), "1")
		hold("text")
		m.Set("text", "text")
		hold("yours")
		m.HSet("yours", id("you:1"), "1")
		hold("absent")
		hold("hash for a counter")
		m.HSet("hash for a counter", id("me:1"), "1")
		m.HSet("redlock_fence:{hash for a counter}", "a", "b")
		hold("garbage counter")
		m.HSet("garbage counter", id("me:1"), "1")
		m.Set("redlock_fence:{garbage counter}", "x")
		hold("last")
		m.HSet("last", id("me:1"), "1")

		got := run(t, conn, Renew(lease, holds))
		want := []Renewed{Extended, NotLock, Foreign, Healed, Extended, Extended, Extended}
		if got.Err != nil || !reflect.DeepEqual(got.Renewed, want) {
			t.Errorf("renew: got %v (%v), want %v", got.Renewed, got.Err, want)
		}
		for i, h := range holds {
			want := time.Duration(0)
			if got.Renewed != nil && got.Renewed[i] >= Extended {
				want = lease
			}
			if left := m.TTL(h.Key); left != want {
				t.Errorf("time left of %s: got %v, want %v", h.Key, left, want)
			}
		}
		if got := m.HGet("redlock_fence:{hash for a counter}", "a"); got != "b" {
			t.Errorf("a hash in place of a counter: got %q, want it untouched", got)
		}
	})
}
