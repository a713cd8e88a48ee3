package integration

import (
	"context"
	"errors"
	"fmt"
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

// TestChangeOfSets: clients pass from one set of masters to two at times of their own, while they lock
// one name or several together, and a master of each set is killed and started again. No name has two
// holders at any time, and its tokens grow.
func TestChangeOfSets(t *testing.T) {
	ctx := begin(t, 3*time.Minute)
	t.ArtifactDir() // which must outlive both fleets, for their timelines
	random := randomness(t)
	const lease = 2 * time.Second
	cfg := redlock.Config{Lease: lease, RestartGuard: lease}
	fleets := []*fleet{startFleet(ctx, t, fleetConfig{Masters: 3}), startFleet(ctx, t, fleetConfig{Masters: 3})}
	const clients, callers = 3, 3
	r := &register{holds: make(map[string]*redlock.Hold)}
	var all []*redlock.Sets
	var next [][]redlock.Set
	for range clients {
		sets := []redlock.Set{{ID: "old", Client: fleets[0].client(cfg)}, {ID: "new", Client: fleets[1].client(cfg)}}
		s, err := redlock.NewSets(sets[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range sets {
			if err := set.Client.Ready(ctx); err != nil {
				t.Fatal(err)
			}
		}
		all, next = append(all, s), append(next, sets)
	}

	short, stop := context.WithCancel(ctx)
	defer stop()
	var callersDone sync.WaitGroup
	for _, s := range all {
		for c := range callers {
			callersDone.Go(func() {
				for i := c; short.Err() == nil; i++ {
					names := []string{fmt.Sprint("n", i%5), fmt.Sprint("n", i*i%5)}
					holds, err := s.LockAll(short, names[:1+i%2]...)
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
	// more waits for more holds, so that each phase is under load, and whoever is stuck is noticed.
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
	order := random.Perm(clients)
	for k, step := range []func(i int) error{
		func(i int) error { return all[i].Change(ctx, next[i]...) },
		func(i int) error { return all[i].Finish(ctx) },
	} {
		m := fleets[k].masters[random.IntN(3)]
		for _, i := range order {
			if err := step(i); err != nil {
				t.Errorf("step %d of client %d = %v", k, i, err)
			}
			more(fmt.Sprintf("after step %d of client %d", k, i))
			if i == order[0] {
				m.kill(ctx, t)
				more("without " + m.name)
				m.start(ctx, t)
			}
		}
	}
	stop()
	callersDone.Wait()
	t.Logf("%d holds", r.count())
	for _, s := range all {
		if err := s.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	}
}
