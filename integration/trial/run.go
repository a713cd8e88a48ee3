package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/redlock/integration/fleet"
	"example.com/redlock/integration/wire"
	"example.com/redlock/integration/workload"
	"example.com/redlock/internal/beside"
	"example.com/redlock/internal/boottime"
	"example.com/redlock/internal/history"
	"example.com/redlock/internal/judge"
	"example.com/redlock/internal/picture"
)

// Config says what is tried.
type Config struct {
	Title   string
	Seed    uint64
	Lasts   time.Duration // until the last fault is over; what follows takes half a minute more
	Masters int
	Clients int
	Only    []string // kinds of faults; none: all

	Programs Programs
	Replay   string // the command that runs this trial again
	Out      string // folder for the history and what belongs to it
}

const lease = 3 * time.Second // also the longest, and the restart guard

// Run carries out a trial by a plan, writes its history to history.jsonl, and concludes it: see Conclude. An error
// says that something is wrong with the trial, or that a client failed or did not end. There may be a Report
// nevertheless, which says whether promises were broken.
func Run(ctx context.Context, cfg Config, plan Plan, out io.Writer) (*judge.Report, error) {
	parts := filepath.Join(cfg.Out, "parts")
	if err := errors.Join(os.RemoveAll(parts), os.MkdirAll(parts, 0o755)); err != nil { // of an earlier trial
		return nil, err
	}
	ran := run(ctx, cfg, plan, parts)
	h, err := merge(cfg.Out, parts)
	if err != nil {
		return nil, errors.Join(ran, err)
	}
	report, err := Conclude(out, cfg.Out, h)
	return report, errors.Join(ran, err)
}

// run has all parts of the history written.
//
// Goroutines: those of the wires, and one per master that watches it. All have ended when it returns.
func run(ctx context.Context, cfg Config, plan Plan, parts string) (err error) {
	began := boottime.Now()
	out, err := os.Create(filepath.Join(parts, "trial.jsonl"))
	if err != nil {
		return err
	}
	defer out.Close()
	rec := history.NewRecorder(out, "trial", func() time.Duration { return boottime.Now() - began })
	engine, err := fleet.Prepare()
	if err != nil {
		return err
	}
	f, err := engine.Start(ctx, fleet.Config{
		Masters: cfg.Masters,
		Durable: func(i int) bool { return plan.Durable != nil && plan.Durable[i] },
		Clocks:  true,
		Life:    cfg.Lasts + 10*time.Minute,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	s := &stage{masters: map[string]*fleet.Master{}, clients: map[string]*slot{}, rec: rec, how: kindOf}
	run := history.Run{
		Title: cfg.Title, Seed: cfg.Seed, Began: time.Now(),
		Lease: lease, MaxLease: lease, Guard: lease, NodeTimeout: lease / 10,
		Replay: cfg.Replay,
	}
	for _, m := range f.Masters() {
		s.masters[m.Name()] = m
		run.Masters = append(run.Masters, m.Name())
	}
	rec.Add(history.Event{What: history.RunBegan, Run: &run})
	if plan.Set == nil {
		plan.Set = run.Masters
	}
	defer s.close()
	for n := 1; n <= cfg.Clients; n++ {
		c := &slot{name: fmt.Sprint("c", n), ways: map[string]*wire.Wire{}, programs: cfg.Programs, folder: parts, rec: rec}
		s.clients[c.name] = c
		for _, m := range f.Masters() {
			w, err := wire.New(m.Addr())
			if err != nil {
				return err
			}
			c.ways[m.Name()] = w
		}
		c.cfg = workload.Usual(lease)
		c.cfg.Seed, c.cfg.Began = cfg.Seed<<8+uint64(n), began
		c.cfg.Guard, c.cfg.NodeTimeout = lease, lease/10
		if n%2 == 1 {
			c.cfg.Keep = lease / 3
		}
		if n%4 < 2 && cfg.Programs.Old != "" { // of those that keep locks and of others
			c.programs.Right = cfg.Programs.Old
		}
		c.reach(plan.Set)
		if err := c.start(0); err != nil {
			return err
		}
	}
	watching, enough := context.WithCancel(ctx)
	var watches sync.WaitGroup
	defer watches.Wait()
	defer enough()
	for _, m := range f.Masters() {
		watches.Go(func() { watch(watching, m, rec) })
	}
	if err := s.perform(ctx, plan); err != nil {
		return err
	}
	wait(ctx, 2*lease+7*time.Second) // lease, guard and 2 s, in which all waits must end, and calm
	if err := errors.Join(beside.All(only(s.clients, nil), func(c *slot) error { return c.now().end() })...); err != nil {
		return err
	}
	return errors.Join(s.audit(), rec.Err(), ctx.Err())
}

// close kills what has not ended and closes the wires.
func (s *stage) close() {
	for _, c := range s.clients {
		if p := c.now(); p != nil {
			_ = p.kill()
		}
		for _, w := range c.ways {
			_ = w.Close()
		}
	}
}

// merge puts together what all processes recorded.
func merge(folder, parts string) (*history.History, error) {
	files, err := filepath.Glob(filepath.Join(parts, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	var all [][]history.Event
	for _, file := range files {
		events, err := ReadEvents(file)
		if err != nil {
			return nil, err
		}
		all = append(all, events)
	}
	h, err := history.Merge(all...)
	if err != nil {
		return nil, err
	}
	out, err := os.Create(filepath.Join(folder, "history.jsonl"))
	if err != nil {
		return nil, err
	}
	return h, errors.Join(h.Write(out), out.Close())
}

// ReadEvents reads a file of a history, or of a part of it.
func ReadEvents(file string) ([]history.Event, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	events, err := history.Read(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
	}
	return events, nil
}

// outlive are the keys that stay for a while when nobody has or waits for anything, by how their names
// begin: the fencing counters, the clients' records and the sets of masters in use.
var outlive = []string{"redlock_fence:", "redlock_client:", "redlock_sets"}

// audit records what is left on each master.
func (s *stage) audit() error {
	return errors.Join(beside.All(only(s.masters, nil), func(m *fleet.Master) error {
		keys, err := m.Keys()
		if err != nil {
			return fmt.Errorf("what is left on %s: %w", m.Name(), err)
		}
		var left []string
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if !slices.ContainsFunc(outlive, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
				left = append(left, key+": "+keys[key])
			}
		}
		s.rec.Add(history.Event{What: history.Audited, Who: m.Name(), Left: left})
		return nil
	})...)
}

// Conclude judges a history, draws it, and reports to out and to the folder: to report.txt and picture.html. There is
// no Report if the history could not be judged.
func Conclude(out io.Writer, folder string, h *history.History) (*judge.Report, error) {
	found, err := judge.Judge(h)
	if err != nil {
		return nil, err
	}
	report, err := os.Create(filepath.Join(folder, "report.txt"))
	if err != nil {
		return found, err
	}
	out = io.MultiWriter(out, report)
	fmt.Fprint(out, found)
	for _, e := range h.Events {
		if e.What == history.Mended && e.Text != "" {
			fmt.Fprintf(out, "\nfault %d, %s, at %v %s\n", e.ID, e.Fault, e.At, e.Text)
		}
	}
	page, err := os.Create(filepath.Join(folder, "picture.html"))
	if err == nil {
		err = errors.Join(picture.Write(page, h, found.Violations()), page.Close())
	}
	return found, errors.Join(err, report.Close())
}
