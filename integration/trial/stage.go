package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"example.com/redlock/integration/fleet"
	"example.com/redlock/integration/workload"
	"example.com/redlock/internal/beside"
	"example.com/redlock/internal/history"
)

// stage is what acts are carried out on.
type stage struct {
	masters map[string]*fleet.Master
	clients map[string]*slot
	rec     *history.Recorder
	how     func(string) kind // kindOf, except in tests

	mu     sync.Mutex
	faults int   // guarded by mu, as is err
	err    error // what makes the trial worthless
}

// perform carries out a plan and returns when all of it is over. If an act is planned for a moment or more after the end
// of another, and that ends late, the act and the rest of the plan are as much later.
//
// Goroutines: one per act, which ends when the act is mended; perform waits for all before calm, and before
// it returns. When ctx ends, what was begun is mended and nothing else is begun.
func (s *stage) perform(ctx context.Context, plan Plan) error {
	var wg sync.WaitGroup
	began := s.rec.Now()
	ended := make([]chan time.Duration, len(plan.Acts))
	for i, a := range plan.Acts {
		for j, before := range plan.Acts[:i] {
			due := before.At + before.Lasts + moment
			if ended[j] == nil || due > a.At {
				continue
			}
			began = max(began, <-ended[j]-due)
			ended[j] = nil
		}
		wait(ctx, began+a.At-s.rec.Now())
		if ctx.Err() != nil {
			break
		}
		if a.Kind != calm {
			ended[i] = make(chan time.Duration, 1)
			wg.Go(func() {
				s.carryOut(ctx, a)
				ended[i] <- s.rec.Now()
			})
			continue
		}
		wg.Wait()
		s.tell(workload.Calm)
		wait(ctx, a.Lasts)
		s.tell(workload.Harm)
		began = s.rec.Now() - a.At - a.Lasts // faults may have been over late
	}
	wg.Wait()
	s.rec.Add(history.Event{What: history.Over})
	s.tell(workload.Calm)
	return errors.Join(ctx.Err(), s.err)
}

// tell tells all clients something.
func (s *stage) tell(what string) {
	for _, c := range s.clients {
		if p := c.now(); p != nil {
			p.tell(what)
		}
	}
}

// carryOut does one act, and mends it when its time is over. If it could not be done, its Mended event says so.
func (s *stage) carryOut(ctx context.Context, a Act) {
	k := s.how(a.Kind)
	s.mu.Lock()
	s.faults++
	id := s.faults
	s.mu.Unlock()
	s.rec.Add(history.Event{What: history.Fault, ID: id, Fault: a.Kind, On: s.processes(a.On), Forgets: k.forgets == history.Throughout, Text: a.String()})
	began := s.rec.Now()
	patience := 2 * time.Minute // a busy Docker engine takes long
	if k.part == client {
		patience = 0
	}
	text := ""
	if err := s.do(ctx, k.begin, a, patience); err != nil {
		text = "could not be done: " + err.Error()
	}
	for k.again != nil && s.rec.Now() < began+a.Lasts-a.Every && ctx.Err() == nil {
		wait(ctx, a.Every)
		_ = s.do(ctx, k.again, a, 0) // the master may have other troubles
	}
	wait(ctx, began+a.Lasts-s.rec.Now())
	mended := history.Event{What: history.Mended, ID: id, Fault: a.Kind, Text: text, From: s.rec.Now(), Forgets: k.forgets == history.Mending}
	// It must be mended even if the trial is to end.
	if err := s.do(context.WithoutCancel(ctx), k.mend, a, patience); err != nil {
		s.fail(fmt.Errorf("fault %d, %v, could not be mended: %w", id, a, err))
	}
	s.rec.Add(mended)
}

// do does a deed to all at the same time. If it fails for one, it is tried again for that one until patience ends.
func (s *stage) do(ctx context.Context, d deed, a Act, patience time.Duration) error {
	if d == nil {
		return nil
	}
	return errors.Join(beside.All(d(s, a), func(do func() error) error { return again(ctx, patience, do) })...)
}

// fail notes an error that makes the trial worthless.
func (s *stage) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = errors.Join(s.err, err)
}

// processes replaces the names of slots by those of the processes that are in them now.
func (s *stage) processes(on []string) []string {
	on = slices.Clone(on)
	for i, name := range on {
		if c := s.clients[name]; c != nil {
			on[i] = c.now().who
		}
	}
	return on
}

// again does something until it succeeds, for no longer than that.
func again(ctx context.Context, most time.Duration, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		err := do()
		if err == nil {
			return nil
		}
		wait(ctx, 100*time.Millisecond)
		if ctx.Err() != nil {
			return err
		}
	}
}

// wait sleeps for d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// only returns those of all whose names are in on, or all if on is nil.
func only[T any](all map[string]T, on []string) (some []T) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if on == nil || slices.Contains(on, name) {
			some = append(some, all[name])
		}
	}
	return some
}
