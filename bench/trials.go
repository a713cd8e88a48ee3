package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// trial is one thing to measure, for each contender in turn.
type trial struct {
	scenario string
	setting  string        // tells the trials of a scenario apart
	title    string        // what is done, for the reader
	among    []string      // names of the contenders that take part
	clients  int           // how many the measurement finds open, and warmed up
	lease    time.Duration // of their locks; 0: lease
	rounds   int           // it is measured no more often, since it takes minutes; 0: as often as all
	fresh    int           // on so many masters that have just started, and end with the measurement; 0: on those that all share
	measure  measurement
}

// measurement measures the contender of e once.
type measurement func(ctx context.Context, e *env) ([]figure, error)

// figure is one number that a measurement gives.
type figure struct {
	name, unit string
	value      float64
}

func (t trial) id() string { return t.scenario + "/" + t.setting }

// suited returns the contenders that take part in t.
func (t trial) suited(contenders []contender) []contender {
	var suited []contender
	for _, c := range contenders {
		if slices.Contains(t.among, c.name) {
			suited = append(suited, c)
		}
	}
	return suited
}

// allTrials returns them in the order of the page.
func allTrials() (all []trial) {
	add := func(scenario string, among []string, trials ...trial) {
		for _, t := range trials {
			t.scenario, t.among = scenario, among
			all = append(all, t)
		}
	}
	add("uncontended", []string{"redlock", "redsync-ff", "redsync", "redsync-ff/go", "bsm/1", "rueidislock/1", "limit"},
		trial{setting: "1", title: "one caller, fresh names", clients: 1, measure: measureUncontended})
	for _, n := range []int{1, 16, 256, maxCallers} {
		add("parallel", []string{"redlock", "redsync-ff", "redsync", "redsync-ff/go", "bsm/1", "rueidislock/1", "limit"},
			trial{setting: strconv.Itoa(n), title: counted(n, "goroutine") + ", each on names of its own", clients: 1, measure: measureParallel(n)})
	}
	add("far", []string{"redlock", "redsync-ff", "redsync", "limit"}, trial{
		setting: "1", title: fmt.Sprintf("one caller, fresh names, and masters to which a round trip takes %v longer: a relay holds back what passes", away),
		measure: measureFar, // it opens the client
	})
	for _, ms := range []time.Duration{0, 1, 10, 200} {
		add("handoff", []string{"redlock", "redsync-ff", "redsync", "redsync-ff/go", "rueidislock/1"}, trial{
			setting: fmt.Sprintf("2x%dms", ms),
			title:   fmt.Sprintf("two clients take turns on one name, held for %d ms, up to half of that more or less, and the next asks as soon as it is taken: from the call of Unlock until the other's Lock returns", ms),
			clients: 2, measure: measureHandoff(ms * time.Millisecond),
		})
	}
	contenders := []string{"redlock", "redsync-ff", "redsync", "rueidislock/1"}
	for _, section := range []time.Duration{0, time.Millisecond} {
		for _, n := range []int{1, 4, 16, 32} {
			add("contended", contenders, trial{
				setting: fmt.Sprintf("%dx%dms", n, section.Milliseconds()),
				title:   fmt.Sprintf("%s on one name, held for %d ms each time", counted(n, "client"), section.Milliseconds()),
				clients: n, measure: measureContended(1, section),
			})
		}
	}
	add("contended", contenders, trial{
		setting: "4x4x1ms", title: "4 clients with 4 callers each on one name, held for 1 ms each time",
		clients: 4, measure: measureContended(4, time.Millisecond),
	})
	for n := 1; n <= mastersN/2; n++ {
		add("frozen", []string{"redlock", "redsync-ff", "redsync", "redsync-ff/go", "limit"}, trial{
			setting: strconv.Itoa(n), title: fmt.Sprintf("one caller, fresh names, %d of %d masters frozen", n, mastersN),
			clients: 1, measure: measureFrozen(n),
		})
	}
	add("dead", []string{"redlock", "redsync-ff", "redsync"}, trial{
		setting: "1", title: "one caller, fresh names, and one server has been dead for some seconds",
		fresh: mastersN, clients: 1, measure: measureDead,
	})
	add("held", []string{"redlock", "redsync-ff", "bsm/1", "rueidislock/1"}, trial{
		setting: strconv.Itoa(keptN),
		title:   fmt.Sprintf("%d locks held, with a lease of %v, renewed every third of it", keptN, keptLease),
		clients: 1, lease: keptLease, measure: measureHeld,
	})
	add("idle", []string{"redlock", "redsync"},
		trial{
			setting: strconv.Itoa(idleN),
			title:   fmt.Sprintf("%d clients that locked once and have been idle for %v, for %v more; less what the masters need without them; %d rounds at most", idleN, idleFor, idleFor, idleRounds),
			rounds:  idleRounds,
			measure: measureIdle(idleN, false), // it opens the clients
		},
		trial{
			setting: fmt.Sprint(waitingN, " waiting"),
			title:   fmt.Sprintf("%d clients that have waited for %v for one name, for %v more; less what the masters need without them; %d rounds at most", waitingN, idleFor, idleFor, idleRounds),
			rounds:  idleRounds,
			clients: 1, lease: longLease, // it has the lock
			measure: measureIdle(waitingN, true),
		})
	storm := func(setting, who string, measure measurement) {
		add("storm", []string{"redlock", "redsync-ff", "redsync"}, trial{
			setting: setting,
			title: fmt.Sprintf("%s, held for 0 ms each time; the masters have just started, and starting is part of the first wait; connections: that one master was asked for, for each client; failed: not done after %v; %d rounds at most",
				who, stormLimit, stormRounds),
			rounds: stormRounds, fresh: mastersN, measure: measure,
		})
	}
	for _, n := range []int{32, 300, 1000} {
		storm(strconv.Itoa(n), fmt.Sprintf("%d clients start at once, and each takes one name %d times", n, stormTimes),
			measureStorm(n, stormTimes, func(int) string { return "storm" }))
	}
	storm("2000 names", "2000 clients start at once, and each takes a name of its own once",
		measureStorm(2000, 1, func(i int) string { return fmt.Sprint("storm:", i) }))
	kept := []string{"redlock", "redlock, kept", "redsync-ff", "limit"}
	add("kept", kept,
		trial{setting: "same name", title: "one caller, the same name again and again", clients: 1, measure: measureSameName},
		trial{setting: "alternating", title: "two clients in turn, each three times; the first Lock of the three", clients: 2, measure: measureAlternating})
	for _, local := range []int{100, 90, 25} {
		add("kept", kept, trial{
			setting: fmt.Sprintf("%d %%", local),
			title:   fmt.Sprintf("4 clients with 4 goroutines each, 1,000 names, of which each client has its 250; %d %% of its locks are of those", local),
			clients: 4, measure: measureLocal(local),
		})
	}
	for _, r := range []rivals{
		{masters: 5, clients: 6, callers: 3, permits: 8, section: 2 * time.Millisecond},
		{masters: 3, dead: 1, clients: 6, callers: 3, permits: 8, section: 2 * time.Millisecond},
		{masters: 5, dead: 2, clients: 6, callers: 3, permits: 8, section: 2 * time.Millisecond},
		{masters: 5, clients: 6, callers: 3, permits: 1, section: 2 * time.Millisecond},
		{masters: 5, clients: 4, callers: 2, permits: 4, section: 2 * time.Millisecond},
		{masters: 3, clients: 8, callers: 20, permits: 100, section: 20 * time.Millisecond},
		{masters: 5, clients: 8, callers: 20, permits: 1000, section: 20 * time.Millisecond},
		{masters: 5, clients: 8, callers: 4, permits: 4, section: 10 * time.Millisecond},
	} {
		add("permits", []string{"redlock"}, trial{setting: r.setting(), title: r.title(), fresh: r.masters, clients: r.clients, measure: r.measure})
	}
	add("kinds", []string{"redlock"}, trial{
		setting: "1", title: "one caller, fresh names: a reader's lock, one of ten permits, and four names together, each beside a Lock",
		clients: 1, measure: measureKinds,
	})
	return all
}
