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

// candidates are processes that campaign for "a", with what they noted when they led.
type candidates struct {
	t     *testing.T
	fleet *redlocktest.Fleet
	all   sync.WaitGroup

	mu     sync.Mutex
	terms  []term
	leader int // 0: none
}

type term struct {
	who   int
	token int64
	began time.Time
}

// candidate campaigns with a client of its own until the context ends, and leads for as long as it can.
// cut takes it away from all masters.
func (c *candidates) candidate(ctx context.Context, who int) (cut func()) {
	var cfg redlock.Config
	var wires []*redlocktest.Wire
	for _, m := range c.fleet.Masters() {
		w := m.Wire()
		wires = append(wires, w)
		cfg.Pools = append(cfg.Pools, dialing(w.Dial))
	}
	client := open(c.t, c.fleet, cfg)
	c.all.Go(func() {
		err := client.Lead(ctx, "a", func(ctx context.Context) error {
			c.begin(term{who, redlock.Token(ctx), time.Now()})
			<-ctx.Done()
			c.end()
			return nil
		})
		expect(c.t, "Lead", err, context.Canceled)
	})
	synctest.Wait()
	return func() {
		for _, w := range wires {
			w.Cut(true, true)
		}
	}
}

func (c *candidates) begin(now term) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leader != 0 {
		c.t.Errorf("%d leads beside %d", now.who, c.leader)
	}
	if n := len(c.terms); n > 0 && now.token <= c.terms[n-1].token {
		c.t.Errorf("%d leads with token %d after %d", now.who, now.token, c.terms[n-1].token)
	}
	c.leader = now.who
	c.terms = append(c.terms, now)
}

func (c *candidates) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leader = 0
}

// expectLeader wants who to lead in the n-th term, since then.
func (c *candidates) expectLeader(who, n int, since time.Time) {
	c.t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.terms) != n || c.leader != who || !c.terms[n-1].began.Equal(since) {
		c.t.Errorf("terms %+v, and %d leads; want %d to do so in the term %d, since %v", c.terms, c.leader, who, n, since)
	}
}

// One process leads until it resigns, which hands over at once, or is cut off, which costs the others what
// was left of its lease. It has stopped by then, and campaigns again.
func TestLead(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
		c := &candidates{t: t, fleet: fleet}
		ctx, stop := context.WithCancel(t.Context())
		first, resign := context.WithCancel(ctx)
		start := time.Now()
		c.candidate(first, 1)
		c.expectLeader(1, 1, start)
		cut := c.candidate(ctx, 2)
		time.Sleep(time.Second)
		c.candidate(ctx, 3)
		time.Sleep(2 * time.Minute)
		c.expectLeader(1, 1, start)

		resigned := time.Now()
		resign()
		c.expectLeader(2, 2, resigned)
		time.Sleep(2 * time.Minute)

		cut()
		time.Sleep(lease + time.Second)
		c.mu.Lock()
		if last := c.terms[len(c.terms)-1]; c.leader != 3 || len(c.terms) != 3 || last.began.Sub(resigned) > 2*time.Minute+lease+time.Second {
			t.Errorf("terms %+v, and %d leads a lease after the second was cut off", c.terms, c.leader)
		}
		c.mu.Unlock()
		stop()
		c.all.Wait()
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
