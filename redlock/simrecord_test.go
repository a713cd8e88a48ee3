package redlock_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/history"
	"example.com/redlock/internal/judge"
	"example.com/redlock/internal/picture"
	"example.com/redlock/redlock"
)

// record is the history of a seed.
type record struct {
	mu     sync.Mutex // of the seed
	out    check.Output
	own    *history.Recorder // of what no client tells
	replay string            // the command that runs the seed again
}

// begin records the setup.
func (s *sim) begin(replay string) {
	s.replay = replay
	s.own = history.NewRecorder(&s.out, "", s.now)
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
	s.own.Add(history.Event{What: history.RunBegan, Run: run})
}

func (s *sim) now() time.Duration { return time.Since(s.start) }

// mouth writes what a client tells to the history, unless it was killed before.
type mouth struct {
	*sim
	c *simClient
}

func (m mouth) Write(line []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.c.gone {
		return len(line), nil
	}
	return m.out.Write(line)
}

// history returns the history so far.
//
// An ErrOverlap may be explained by a jump of a clock: a master that has just restarted says that it is old if its clock
// was set ahead, so a newcomer takes the run id that others still publish for another master's. See Limits in
// docs/design/clients.md.
func (s *sim) history(t *testing.T) *history.History {
	t.Helper()
	events, err := history.Read(strings.NewReader(s.out.String()))
	check.OK(t, err)
	for i, e := range events {
		if s.regime == skewing && e.Err == history.Unknown && strings.Contains(e.Text, redlock.ErrOverlap.Error()) {
			events[i].Err = history.NoQuorum
		}
	}
	h, err := history.Merge(events)
	check.OK(t, err)
	return h
}

// judge checks the history. If it fails, the history is kept, with a picture.
func (s *sim) judge(t *testing.T, all *tally) {
	h := s.history(t)
	report, err := judge.Judge(h)
	check.OK(t, err, "the history is wrong")
	all.add(h.Events, report)
	for _, v := range report.Violations() {
		inSets := v.Check == judge.Turns && s.fleet == nil // who comes first is settled in each set
		if v.Unpromised != "" || inSets {
			continue
		}
		t.Error(judge.Tell(v))
	}
	view, err := h.View()
	check.OK(t, err)
	for _, c := range view.Calls {
		if c.Deadline > 0 && c.Result != nil { // no machine is in the way, so it returns at once
			check.AtMost(t, c.Returned, c.Deadline+time.Millisecond, "%s of %s, which began at %v, returned", c.Do, c.Who, c.At)
		}
		// A client takes it that a master told the time halfway between question and answer, either of which may stall. Its
		// first calls wait until it has connected, and LockAll only begins to wait after a try.
		if s.regime == stalling && c.Since != 0 && c.Do.Waits() && c.Do != history.LockAll && c.At > time.Second+8*s.trip {
			off := time.UnixMicro(c.Since).Sub(s.start.Add(c.At))
			check.AtMost(t, off.Abs(), busy/2+time.Millisecond/10, "the place of %s of %s, which began at %v, is off that time", c.Do, c.Who, c.At)
		}
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

// wanted is how often ten seeds of TestSim have each kind of event at least, and what the check of turns looks at. Each fault
// of all regimes happens once.
var wanted = map[string]int{"grant": 60, "enter": 5, "extend": 5, "downgrade": 2, "lost": 2, "write": 30, "taken": 5, "noquorum": 1, judge.Turns: 300}

// tally counts the kinds of events in all seeds. Without those that are wanted, TestSim would pass and show nothing.
type tally struct {
	mu    sync.Mutex
	seeds int
	had   map[string]int
}

// add adds a seed. Seeds may be added at the same time.
func (all *tally) add(events []history.Event, report *judge.Report) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.seeds++
	for _, e := range events {
		all.had[kindOf(e)]++
	}
	for _, c := range report.Checks {
		all.had[c.Name] += c.Looked
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
