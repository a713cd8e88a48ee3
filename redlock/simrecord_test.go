package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/failure"
	"example.com/redlock/internal/history"
	"example.com/redlock/internal/judge"
	"example.com/redlock/internal/picture"
	"example.com/redlock/redlock"
)

// record is the history of a seed.
type record struct {
	mu     sync.Mutex
	events []history.Event
	replay string // the command that runs the seed again
}

// begin records the setup.
func (s *sim) begin(replay string) {
	s.replay = replay
	run := &history.Run{
		Title: fmt.Sprintf("simulation, seed %d", s.seed), Seed: s.seed,
		Lease: s.lease, MaxLease: s.lease, Guard: s.guard, NodeTimeout: s.timeout,
		Replay: replay,
	}
	if s.fleet != nil {
		for _, m := range s.fleet.Masters() {
			run.Masters = append(run.Masters, m.Name())
		}
	}
	s.add(history.Event{What: history.RunBegan, Run: run})
}

// add records an event that happens now.
func (s *sim) add(e history.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addLocked(e)
}

func (s *sim) addLocked(e history.Event) {
	e.At = time.Since(s.start)
	s.events = append(s.events, e)
}

// tell records an event of a client, unless that was killed before.
func (s *sim) tell(c *simClient, e history.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.gone {
		e.Who = c.who
		s.addLocked(e)
	}
}

func (s *sim) vanished(c *simClient) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.gone
}

// call records a call of f.
func (s *sim) call(c *simClient, e history.Event, f func(call int) error) error {
	s.mu.Lock()
	c.calls++
	e.What, e.Call = history.Called, c.calls
	s.mu.Unlock()
	s.tell(c, e)
	back := history.Event{What: history.Returned, Call: e.Call}
	err := f(e.Call)
	if err != nil {
		back.Err = failure.Of(err)
	}
	switch {
	case s.looksOld(err):
		back.Err = history.NoQuorum
	case back.Err == history.Unknown:
		back.Text = err.Error()
	}
	s.tell(c, back)
	return err
}

// looksOld reports whether err is an ErrOverlap that a jump of a clock explains: a master that has just restarted says that
// it is old if its clock was set ahead, so a newcomer takes the run id that others still publish for another master's. See
// Limits in docs/design/clients.md.
func (s *sim) looksOld(err error) bool {
	return s.regime == skewing && errors.Is(err, redlock.ErrOverlap)
}

// granted records a hold, and has it watched.
//
// Goroutines: one, which ends with the hold. run waits for it.
func (s *sim) granted(c *simClient, call int, hold *redlock.Hold) *simHeld {
	s.mu.Lock()
	c.holds++
	h := &simHeld{Hold: hold, number: c.holds}
	s.mu.Unlock()
	e := s.about(history.Granted, h)
	e.Call = call
	s.tell(c, e)
	s.callers.Go(func() { s.watch(c, h) })
	return h
}

// watch looks at a hold until it ends, and records its loss if it was not given back.
func (s *sim) watch(c *simClient, h *simHeld) {
	every := time.NewTicker(50 * time.Millisecond)
	defer every.Stop()
	for {
		select {
		case <-every.C:
			s.alive(c, h)
			continue
		case <-h.Context().Done():
		}
		s.mu.Lock()
		over := h.over
		s.mu.Unlock()
		if !over {
			e := s.about(history.Lost, h)
			e.Text = context.Cause(h.Context()).Error()
			s.tell(c, e)
		}
		return
	}
}

// about returns an event about a hold.
func (s *sim) about(what history.What, h *simHeld) history.Event {
	return history.Event{
		What: what, Hold: h.number, Name: h.Name(), Slot: slotOf(h), Shared: h.Shared(), Token: h.Token(),
		Until: h.Until().Sub(s.start),
	}
}

// slotOf counts slots from 1, and is 0 for a lock.
func slotOf(h *simHeld) int {
	if h.Name() == semaphore {
		return h.Slot() + 1
	}
	return 0
}

// alive records that a hold is valid, if it is.
func (s *sim) alive(c *simClient, h *simHeld) bool {
	if h.Context().Err() != nil {
		return false
	}
	s.tell(c, s.about(history.Alive, h))
	return true
}

// write works under a hold for some milliseconds, and unless it is a reader's writes to what it protects.
func (s *sim) write(c *caller, h *simHeld) {
	time.Sleep(c.upTo(8 * time.Millisecond))
	if h.Shared() || !s.alive(c.c, h) {
		return
	}
	time.Sleep(c.upTo(8 * time.Millisecond))
	s.tell(c.c, s.about(history.Wrote, h))
	s.alive(c.c, h)
}

// judge checks the history. If it fails, the history is kept, with a picture.
func (s *sim) judge(t *testing.T, all *tally) {
	h, err := history.Merge(s.events)
	check.OK(t, err)
	report, err := judge.Judge(h)
	check.OK(t, err, "the history is wrong")
	all.add(s.events)
	for _, v := range report.Violations() {
		inSets := v.Check == judge.Turns && s.fleet == nil // who comes first is settled in each set
		if v.Unpromised != "" || inSets {
			continue
		}
		t.Error(judge.Tell(v))
	}
	if t.Failed() {
		write(t, filepath.Join(t.ArtifactDir(), "history.jsonl"), h)
		page, err := os.Create(filepath.Join(t.ArtifactDir(), "history.html"))
		check.OK(t, err)
		defer page.Close()
		expect(t, "picture.Write", picture.Write(page, h, report.Violations()))
		t.Logf("replay it: %s", s.replay)
	}
}

// write writes a history to a file.
func write(t *testing.T, path string, h *history.History) {
	t.Helper()
	file, err := os.Create(path)
	check.OK(t, err)
	defer file.Close()
	expect(t, "Write", h.Write(file))
}

// wanted is how often ten seeds of TestSim have each kind of event at least. Each fault of all regimes happens once.
var wanted = map[string]int{"grant": 60, "enter": 5, "extend": 5, "downgrade": 2, "lost": 2, "write": 30, "taken": 5, "noquorum": 1}

// tally counts the kinds of events in all seeds. Without those that are wanted, TestSim would pass and show nothing.
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

// expect checks that there was enough of each kind. A few seeds that somebody replays need not have all.
func (all *tally) expect(t *testing.T) {
	if t.Failed() || all.seeds < 30 {
		return
	}
	least := maps.Clone(wanted)
	for _, f := range simFaults {
		if f.in == nil {
			least[f.name] = 1
		}
	}
	for what, least := range least {
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
