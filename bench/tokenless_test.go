package main

import (
	"strings"
	"testing"

	"example.com/redlock/redlocktest"
)

// Both clients lock on the same masters, so one could meet the scripts of the other.
func TestTokenlessTouchesNoCounter(t *testing.T) {
	fleet := redlocktest.Start(t, mastersN)
	const counter, old = "redlock_fence:{name}", "9000000000000000" // larger than any proposal
	for _, c := range []struct {
		contender contender
		touches   bool
	}{{ours, true}, {tokenless, false}, {ours, true}, {tokenless, false}} {
		t.Run(c.contender.name, func(t *testing.T) {
			cl, err := c.contender.open(fleet.URLs(), times{lease, patience})
			if err != nil {
				t.Fatalf("open = %v", err)
			}
			for range 20 { // so often that each master has seen the scripts
				if err := cycle(t.Context(), cl, "warm"); err != nil {
					t.Fatalf("cycle = %v", err)
				}
			}
			for _, m := range fleet.Masters() {
				m.FlushAll()
				m.Set(counter, old)
			}
			h, err := cl.Lock(t.Context(), "name")
			if err != nil {
				t.Fatalf("Lock = %v", err)
			}
			token := h.(interface{ Token() int64 }).Token()
			if got := token > 9e15; got != c.touches || token <= 0 {
				t.Errorf("token = %d, want above %s: %v", token, old, c.touches)
			}
			if _, err := cl.Lock(t.Context(), "other"); err != nil {
				t.Fatalf("Lock = %v", err)
			}
			if err := cl.Close(); err != nil { // it gives the holds back, and all masters have answered then
				t.Fatalf("Close = %v", err)
			}
			for i, m := range fleet.Masters() {
				if got := m.Get(counter) != old; got != c.touches {
					t.Errorf("master %d: the counter is %s, want a change from %s: %v", i, m.Get(counter), old, c.touches)
				}
				if got := strings.Contains(strings.Join(m.Keys(), " "), "redlock_fence:{other}"); got != c.touches {
					t.Errorf("master %d has the keys %q, want a new counter among them: %v", i, m.Keys(), c.touches)
				}
			}
		})
	}
}

// What is cut out must be there, or the contender would be redlock by another name.
func TestTokenlessRefusesAnotherScript(t *testing.T) {
	fleet := redlocktest.Start(t, mastersN)
	for _, c := range []struct {
		name         string
		script, text string
		want         string
	}{
		{"no such text", "-- acquire.lua:", "redis.call('incr', counter)\n", "0 times, want once:\nredis.call('incr', counter)"},
		{"it is there often", "-- acquire.lua:", "local ", " times, want once:\nlocal "},
		{"no such script", "-- take.lua:", counterText, `sent no script that begins with "-- take.lua:"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			cl, err := openTokenless(fleet.URLs(), times{lease, patience}, &scissors{script: c.script, text: c.text})
			if err == nil {
				t.Fatalf("openTokenless = nil, want an error; Close = %v", cl.Close())
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("openTokenless = %v, want it to say %q", err, c.want)
			}
		})
	}
}

// A contender that is apart takes part where it is named, and nowhere else.
func TestApart(t *testing.T) {
	for _, trial := range allTrials(true) {
		if got, want := trial.fits(tokenless), trial.scenario == "tokens"; got != want {
			t.Errorf("%s: fits(%s) = %v, want %v", trial.id(), tokenless.name, got, want)
		}
	}
	all := trial{}
	if got := all.suited([]contender{{name: "a"}, {name: "b", apart: true}, {name: "c"}}); len(got) != 2 || got[0].name != "a" || got[1].name != "c" {
		t.Errorf("suited = %v, want a and c", got)
	}
}
