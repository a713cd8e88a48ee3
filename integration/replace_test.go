package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/redlock/redlock"
)

// TestReplaceMaster: the last master is replaced for good while four processes compete for a lock, as
// docs/operations.md says: one step after the other, each rolled out process by process. No two of them
// have the lock at once, tokens grow, no hold is lost, and a hold of a client with the set of before is
// handed over to a waiter with the one of after.
func TestReplaceMaster(t *testing.T) {
	t.Parallel()
	type set []int
	for _, tt := range []struct {
		name    string
		masters int
		dead    bool  // the last master dies first, or else is shut down at the end
		apart   bool  // processes of before and of after miss another master each
		steps   []set // from the second set on
		hurt    bool  // another master is killed in the middle of each step, and comes back empty
		long    bool
	}{
		{"dead", 3, true, false, []set{{0, 1}, {0, 1, 3}}, false, false},
		{"still works", 3, false, true, []set{{0, 1, 2, 3}, {0, 1, 3}}, false, false},
		{"the only one", 1, false, false, []set{{0, 1}, {1}}, false, false},
		{"dead, of five, others are killed", 5, true, false, []set{{0, 1, 2, 3}, {0, 1, 2, 3, 5}}, true, true},
	} {
		if tt.long && testing.Short() {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx := begin(t, 3*time.Minute)
			f := startFleet(ctx, t, fleetConfig{Masters: tt.masters + 1})
			gone, fresh := f.masters[tt.masters-1], f.masters[tt.masters]
			fresh.kill(ctx, t) // there is no such master yet
			r := newRollout(ctx, t, f, f.masters[:tt.masters], tt.apart)
			if tt.dead {
				gone.kill(ctx, t)
				r.journal.wait(ctx, t, 20)
			} else {
				fresh.start(ctx, t)
				r.grants(ctx, t, fresh)
			}
			for i, step := range tt.steps {
				if tt.dead && i == 1 {
					fresh.start(ctx, t)
				}
				var masters []*master
				for _, m := range step {
					masters = append(masters, f.masters[m])
				}
				var harm func()
				if tt.hurt {
					harm = func() {
						m := masters[i]
						m.kill(ctx, t)
						r.journal.wait(ctx, t, 20)
						m.start(ctx, t)
						r.grants(ctx, t, m)
					}
				}
				r.step(ctx, t, masters, harm)
			}
			if !tt.dead {
				gone.stop(ctx, t)
			}
			// The new master counts: where there are others, one of them is no longer needed.
			eventually(ctx, t, 30*time.Second, fresh.name+" counts", func() error { return fresh.counts("orders:42") })
			if tt.masters > 1 {
				f.masters[0].kill(ctx, t)
			}
			r.journal.wait(ctx, t, 50)
			r.end(t)
		})
	}
}

// rollout is a service of several processes, which compete for a lock, and one more client, whose hold of
// another name lives through each step.
type rollout struct {
	f       *fleet // of the masters that are configured now
	cfg     redlock.Config
	program string
	journal *journal
	workers []*worker
	elder   *redlock.Client
	hold    *redlock.Hold
	apart   bool
	steps   int // so far
	started int // processes
}

func newRollout(ctx context.Context, t *testing.T, f *fleet, masters []*master, apart bool) *rollout {
	t.Helper()
	const lease = 3 * time.Second
	r := &rollout{f: f.with(masters), apart: apart, program: buildWorker(ctx, t), journal: newJournal(t)}
	r.cfg = redlock.Config{Lease: lease, MaxLease: lease, RestartGuard: lease, NodeTimeout: time.Second} // for a busy machine
	for range 4 {
		r.workers = append(r.workers, r.process(t))
	}
	r.elder = r.f.client(r.cfg)
	r.hold = mustLock(ctx, t, r.elder, "invoices:7")
	r.journal.wait(ctx, t, 20)
	return r
}

// with is the fleet of some of the masters.
func (f *fleet) with(masters []*master) *fleet {
	return &fleet{t: f.t, log: f.log, masters: masters}
}

// reached is the fleet as processes reach it. Where it is to be apart, those of before and of after a step
// each miss another one of the masters that they share: where majorities need not meet, theirs do not.
func (r *rollout) reached() *fleet {
	if !r.apart {
		return r.f
	}
	masters := slices.Clone(r.f.masters)
	missed := *masters[r.steps%2]
	missed.addr = "127.0.0.1:" + machine.engine.FreePort() // where nobody listens
	masters[r.steps%2] = &missed
	return r.f.with(masters)
}

// process starts a process with the masters that are configured now.
func (r *rollout) process(t *testing.T) *worker {
	t.Helper()
	who := fmt.Sprintf("worker%d-of-%d", r.started, len(r.f.masters))
	r.started++
	w := r.reached().startWorker(t, r.program, who, nil, r.cfg, "-stay", "20ms", "contend", r.journal.name, who)
	w.line(t)
	return w
}

// grants waits until a master is past its guard.
func (r *rollout) grants(ctx context.Context, t *testing.T, m *master) {
	t.Helper()
	client := r.f.with([]*master{m}).client(r.cfg)
	if err := client.Ready(ctx); err != nil {
		t.Fatalf("%s grants nothing: %v", m.name, err)
	}
	r.f.close(client)
}

// step rolls out another set, process by process. harm is called in the middle. The hold that was taken
// with the set of before lives on for as long as there are clients of both, and is handed over to the
// first that wants it with the set of after.
func (r *rollout) step(ctx context.Context, t *testing.T, masters []*master, harm func()) {
	t.Helper()
	r.f = r.f.with(masters)
	r.steps++
	r.f.log.event("rolling out %d masters", len(masters))
	heir := r.f.client(r.cfg)
	if err := heir.Ready(ctx); err != nil {
		t.Fatalf("Ready with %d masters = %v", len(masters), err)
	}
	if hold, err := heir.TryLock(ctx, "invoices:7"); !errors.Is(err, redlock.ErrTaken) {
		t.Fatalf("TryLock of what a client with the set of before holds = %v, %v, want ErrTaken", hold, err)
	}
	inherited := make(chan *redlock.Hold, 1)
	go func() { // ends with the test's context
		defer close(inherited)
		if hold, err := heir.Lock(ctx, "invoices:7"); err == nil {
			inherited <- hold
		}
	}()
	for i, old := range r.workers {
		r.workers[i] = r.process(t)
		r.journal.wait(ctx, t, 10)
		if i == 1 && harm != nil {
			harm()
		}
		r.journal.served(ctx, t, old.who)
		r.over(t, old)
		r.journal.wait(ctx, t, 10)
	}
	select {
	case hold := <-inherited:
		t.Fatalf("%v was taken beside %v", hold, r.hold)
	default:
	}
	token := r.hold.Token()
	mustUnlock(ctx, t, r.hold)
	quick(t, time.Second, "handing over from one set to the other", func() { r.hold = <-inherited })
	if r.hold == nil || r.hold.Token() <= token {
		t.Fatalf("the hold after token %d is %v, want one with a larger token", token, r.hold)
	}
	r.f.close(r.elder)
	r.elder = heir
	eventually(ctx, t, 30*time.Second, "all clients are seen to have the new set", func() error { return r.done(ctx) })
}

// done returns nil if the clients of the masters are the processes and the client that holds the other
// name, each with the number of masters that is configured now: the step is done.
func (r *rollout) done(ctx context.Context) error {
	clients, err := r.elder.Clients(ctx)
	for _, c := range clients {
		if len(c.Terms.Masters) != len(r.f.masters) {
			err = errors.Join(err, fmt.Errorf("%v has %d masters", &c, len(c.Terms.Masters)))
		}
	}
	if len(clients) != len(r.workers)+1 {
		err = errors.Join(err, fmt.Errorf("there are %d clients, want %d", len(clients), len(r.workers)+1))
	}
	return err
}

// over ends a process, which must not have lost a hold.
func (r *rollout) over(t *testing.T, w *worker) {
	t.Helper()
	said := w.end(t)
	r.f.log.event("%s: %s", w.who, said)
	if !strings.Contains(said, " lost 0 ") {
		t.Errorf("%s: %s, want none lost", w.who, said)
	}
}

// end ends the service, and looks at what it did.
func (r *rollout) end(t *testing.T) {
	t.Helper()
	if err := live(r.hold); err != nil {
		t.Error(err)
	}
	for _, w := range r.workers {
		r.over(t, w)
	}
	found := r.journal.check(t, r.f.log, 1)
	if len(found.turns) != r.started {
		t.Errorf("%d of %d processes had the lock: %v", len(found.turns), r.started, found.turns)
	}
}
