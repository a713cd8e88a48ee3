package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/redlock/redlock"
)

// register is who was given which name last.
type register struct {
	mu     sync.Mutex
	holds  map[string]*redlock.Hold
	grants int
}

// took checks a hold against the one before.
func (r *register) took(t *testing.T, hold *redlock.Hold) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.grants++
	name := hold.Name()
	if last := r.holds[name]; last != nil {
		if last.Context().Err() == nil && hold.Context().Err() == nil {
			t.Errorf("two holders of %q: with tokens %d and %d", name, last.Token(), hold.Token())
		}
		if hold.Token() <= last.Token() {
			t.Errorf("%q has token %d after %d", name, hold.Token(), last.Token())
		}
	}
	r.holds[name] = hold
}

// count returns how many holds there were.
func (r *register) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.grants
}

// process is one that locks names, and is restarted with other sets.
type process struct {
	sets *redlock.Sets
	stop context.CancelFunc
	wg   sync.WaitGroup
}

// start has callers lock one name or two together, until the process is stopped. Where others that do not
// go together with the process have ended just now, it is ready a minute later.
func (p *process) start(ctx context.Context, t *testing.T, r *register, cfg redlock.SetsConfig) {
	t.Helper()
	var err error
	if p.sets, err = redlock.NewSets(cfg); err != nil {
		t.Fatal(err)
	}
	sets := p.sets
	eventually(ctx, t, 2*time.Minute, "ready", func() error { return sets.Ready(ctx) })
	var short context.Context
	short, p.stop = context.WithCancel(ctx)
	for c := range 3 {
		p.wg.Go(func() {
			for i := c; short.Err() == nil; i++ {
				names := []string{fmt.Sprint("n", i%5), fmt.Sprint("n", i*i%5)}
				holds, err := sets.LockAll(short, names[:1+i%2]...)
				if err != nil {
					if short.Err() == nil {
						t.Errorf("LockAll = %v", err)
					}
					return
				}
				for _, name := range holds.Names() {
					r.took(t, holds.Hold(name))
				}
				if err := holds.Unlock(ctx); err != nil && !errors.Is(err, redlock.ErrLost) && !errors.Is(err, redlock.ErrNoQuorum) {
					t.Errorf("Unlock = %v", err)
				}
			}
		})
	}
}

// end ends the process.
func (p *process) end(t *testing.T) {
	t.Helper()
	p.stop()
	p.wg.Wait()
	if err := p.sets.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
}

// wantRefused wants a process with these sets to take no lock, since others came first.
func wantRefused(ctx context.Context, t *testing.T, what string, cfg redlock.SetsConfig) {
	t.Helper()
	sets, err := redlock.NewSets(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		_, err := sets.Lock(ctx, fmt.Sprint("n", i))
		why, ok := errors.AsType[*redlock.ConflictError](err)
		if !ok || !errors.Is(err, redlock.ErrRoute) || why.Client == nil || why.Client.Name != "fleet" {
			t.Errorf("%s: Lock = %v, want it refused, by fleet", what, err)
		}
	}
	if err := sets.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
}

// TestRolloutOfSets: four processes that lock names restart one after the other with other sets of
// masters: from one set to two in two rollouts, the first of which is taken back half-way and done again,
// and half of the way back. A master is killed and started again in each. No name has two holders at any
// time, and its tokens grow. A process that comes late, with the sets from before, takes no lock, nor does
// that of another operator, who has other sets in mind; those that run go on.
func TestRolloutOfSets(t *testing.T) {
	ctx := begin(t, 5*time.Minute)
	t.ArtifactDir() // which must outlive both fleets, for their timelines
	random := randomness(t)
	const lease = 2 * time.Second
	cfg := redlock.Config{Lease: lease, RestartGuard: lease, Name: "fleet"}
	fleets := []*fleet{startFleet(ctx, t, fleetConfig{Masters: 3}), startFleet(ctx, t, fleetConfig{Masters: 3})}
	sets := map[string]redlock.Config{"old": fleets[0].config(cfg), "new": fleets[1].config(cfg)}
	route := func(now, next string) redlock.SetsConfig {
		cfg := redlock.SetsConfig{Sets: make(map[string]redlock.Config), Now: strings.Fields(now), Next: strings.Fields(next)}
		for _, id := range append(cfg.Now, cfg.Next...) {
			cfg.Sets[id] = sets[id]
		}
		return cfg
	}
	before, moving, after, back := route("old", ""), route("old", "old new"), route("old new", ""), route("old new", "old")
	r := &register{holds: make(map[string]*redlock.Hold)}
	var all [4]process
	for i := range all {
		all[i].start(ctx, t, r, before)
	}
	// more waits for more holds, so that each step is under load, and whoever is stuck is noticed.
	more := func(what string) {
		before := r.count()
		eventually(ctx, t, time.Minute, "more holds "+what, func() error {
			if n := r.count() - before; n < 100 {
				return fmt.Errorf("%d", n)
			}
			return nil
		})
	}
	more("with the old set")
	for k, rollout := range []struct {
		what  string
		to    redlock.SetsConfig
		reach int // of the processes; the others stay as they are
	}{
		{"forth, half-way", moving, 2},
		{"half-way back", before, 2},
		{"forth", moving, 4},
		{"forth, the end", after, 4},
		{"back", back, 4},
	} {
		m := fleets[k%2].masters[random.IntN(3)]
		for n, i := range random.Perm(rollout.reach) {
			all[i].end(t)
			all[i].start(ctx, t, r, rollout.to)
			if n == 0 {
				m.kill(ctx, t)
				more("without " + m.name)
				m.start(ctx, t)
			}
			more(fmt.Sprintf("in the rollout %s, after process %d", rollout.what, i))
		}
		switch rollout.what {
		case "forth":
			wantRefused(ctx, t, "another operator", route("new", ""))
		case "forth, the end":
			wantRefused(ctx, t, "late", before)
			wantRefused(ctx, t, "another operator", route("old", "new"))
		}
	}
	for i := range all {
		all[i].end(t)
	}
	t.Logf("%d holds", r.count())
}
