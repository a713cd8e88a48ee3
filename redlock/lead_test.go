package redlock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// elections are processes that campaign for "a".
type elections struct {
	t     *testing.T
	fleet *redlocktest.Fleet
	all   sync.WaitGroup

	mu    sync.Mutex
	terms []term // one after the other
}

type term struct {
	who   int
	token int64
	began time.Time
	over  bool
}

// campaign campaigns with a client of its own until the context ends, and leads for as long as it can.
// cut takes it away from all masters.
func (e *elections) campaign(ctx context.Context, who int) (cut func()) {
	var cfg redlock.Config
	var wires []*redlocktest.Wire
	for _, m := range e.fleet.Masters() {
		w := m.Wire()
		wires = append(wires, w)
		cfg.Pools = append(cfg.Pools, dialing(w.Dial))
	}
	client := open(e.t, e.fleet, cfg)
	e.all.Go(func() {
		err := client.Lead(ctx, "a", func(ctx context.Context) error {
			e.mu.Lock()
			n := len(e.terms)
			if n > 0 && (!e.terms[n-1].over || redlock.Token(ctx) <= e.terms[n-1].token) {
				e.t.Errorf("%d leads with token %d after %+v", who, redlock.Token(ctx), e.terms[n-1])
			}
			e.terms = append(e.terms, term{who, redlock.Token(ctx), time.Now(), false})
			e.mu.Unlock()
			<-ctx.Done()
			e.mu.Lock()
			defer e.mu.Unlock()
			e.terms[n].over = true
			return nil
		})
		expect(e.t, "Lead", err, context.Canceled)
	})
	synctest.Wait()
	return func() {
		for _, w := range wires {
			w.Cut(true, true)
		}
	}
}

// expectLeader wants who to lead in the n-th term, which began then or up to late later.
func (e *elections) expectLeader(who, n int, then time.Time, late time.Duration) {
	e.t.Helper()
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.terms) != n {
		e.t.Fatalf("terms %+v, want %d", e.terms, n)
	}
	if last := e.terms[n-1]; last.who != who || last.over || last.began.Before(then) || last.began.Sub(then) > late {
		e.t.Errorf("the last term is %+v, want %d to lead since %v, or %v later", last, who, then, late)
	}
}

// One process leads until it resigns, which hands over at once, or is cut off, which costs the others what
// was left of its lease. It has stopped by then, and campaigns again.
func TestLead(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
		e := &elections{t: t, fleet: fleet}
		ctx, stop := context.WithCancel(t.Context())
		first, resign := context.WithCancel(ctx)
		start := time.Now()
		e.campaign(first, 1)
		e.expectLeader(1, 1, start, 0)
		cut := e.campaign(ctx, 2)
		time.Sleep(time.Second)
		e.campaign(ctx, 3)
		time.Sleep(2 * time.Minute)
		e.expectLeader(1, 1, start, 0)

		resigned := time.Now()
		resign()
		e.expectLeader(2, 2, resigned, 0)
		time.Sleep(2 * time.Minute)

		cut()
		gone := time.Now()
		time.Sleep(lease + time.Second)
		e.expectLeader(3, 3, gone, lease+time.Second)
		stop()
		e.all.Wait()
		expectFree(t, fleet, "a")
	})
}

// A process that fails resigns, and pauses longer each time; one that is done returns.
func TestLeadFails(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, other *redlock.Client) {
		var log lines
		c := open(t, fleet, redlock.Config{Logger: logger(&log)})
		broken := errors.New("the disk is full")
		var began []time.Time
		err := c.Lead(t.Context(), "a", func(context.Context) error {
			began = append(began, time.Now())
			switch len(began) {
			case 9:
				time.Sleep(time.Minute) // the pauses begin anew
			case 11:
				return nil
			}
			return broken
		})
		expect(t, "Lead", err)
		if n := log.count("could not lead, and campaigns again"); n != 10 {
			t.Errorf("%d lines in the log, want 10", n)
		}
		for i, mean := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 1, 2} {
			pause, least := began[i+1].Sub(began[i]), mean*time.Second/2
			if i == 8 {
				pause -= time.Minute
			}
			if pause < least || pause > 3*least {
				t.Errorf("pause %d was %v, want %v to %v", i+1, pause, least, 3*least)
			}
		}
		unlock(t, lock(t, t.Context(), other, "a"))

		// What passes is waited for, and what does not is returned.
		each(fleet, 0, 2, refuse("NOPERM this user has no permissions to run the 'evalsha' command"))
		expect(t, "TryLock", second(other.TryLock(t.Context(), "a")), redlock.ErrNoQuorum)
		time.AfterFunc(10*time.Second, func() { each(fleet, 0, 2, refuse("")) })
		start := time.Now()
		expect(t, "Lead through a refusal", c.Lead(t.Context(), "a", func(context.Context) error { return nil }))
		if took := time.Since(start); took < 10*time.Second {
			t.Errorf("Lead led after %v, while the masters refused it", took)
		}
		expectOwn(t, "Lead of no name", c.Lead(t.Context(), "", nil))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		defer unlock(t, lock(t, t.Context(), other, "a"))
		expect(t, "Lead that is not elected", c.Lead(ctx, "a", nil), context.DeadlineExceeded, redlock.ErrTaken)
		expect(t, "Close", c.Close())
		expect(t, "Lead", c.Lead(t.Context(), "a", nil), redlock.ErrClosed)
	})
}
