package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// A process leads until it resigns, and the next one leads at once; or until it is cut off, and the next one leads after
// its lease. It has stopped by then, and campaigns again.
func TestLead(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
		var mu sync.Mutex
		var terms []string
		var token int64
		last := time.Now()
		tell := func(who int, what string) {
			mu.Lock()
			defer mu.Unlock()
			terms = append(terms, fmt.Sprintf("%d %s after %v", who, what, time.Since(last).Truncate(time.Second)))
			last = time.Now()
		}
		var all sync.WaitGroup
		// campaign leads for as long as it can. cutOff cuts its client off from all masters.
		campaign := func(ctx context.Context, who int) (cutOff func()) {
			wires, pools := wired(fleet, 0, 0, 1, 2)
			client := open(t, fleet, redlock.Config{Pools: pools})
			all.Go(func() {
				expect(t, "Lead", client.Lead(ctx, "a", func(ctx context.Context) error {
					tell(who, "leads")
					if redlock.Token(ctx) <= token { // the race detector checks that nobody else leads
						t.Errorf("%d leads with token %d after %d", who, redlock.Token(ctx), token)
					}
					token = redlock.Token(ctx)
					<-ctx.Done()
					tell(who, "stops")
					return nil
				}), context.Canceled)
			})
			synctest.Wait()
			return func() { cut(wires, true) }
		}
		ctx, stop := context.WithCancel(t.Context())
		first, resign := context.WithCancel(ctx)
		campaign(first, 1)
		cutOff := campaign(ctx, 2)
		time.Sleep(time.Second)
		campaign(ctx, 3)
		time.Sleep(35 * time.Second)
		resign()
		time.Sleep(35 * time.Second)
		cutOff()
		time.Sleep(lease + time.Second)
		mu.Lock()
		expectLines(t, "the elections", terms, []string{
			"1 leads after 0s", "1 stops after 36s", "2 leads after 0s",
			"2 stops after 59s", // its last renewal was 5 s before it was cut off
			"3 leads after 0s",
		})
		mu.Unlock()
		stop()
		all.Wait()
		expectFree(t, fleet, "a")
	})(t)
}

// A leader that fails resigns, and pauses longer each time. One that is done returns.
func TestLeadFails(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, other *redlock.Client) {
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
		check.Equal(t, log.count("leads no more, and campaigns again"), 10, "lines in the log")
		for i, mean := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 1, 2} {
			pause, least := began[i+1].Sub(began[i]), mean*time.Second/2
			if i == 8 {
				pause -= time.Minute
			}
			check.That(t, pause >= least && pause <= 3*least, "pause %d was %v, want %v to %v", i+1, pause, least, 3*least)
		}
		unlock(t, lock(t, t.Context(), other, "a"))

		// It waits through an error that may pass, and returns any other.
		each(fleet, 0, 2, refuse("NOPERM this user has no permissions to run the 'evalsha' command"))
		expect(t, "TryLock", second(other.TryLock(t.Context(), "a")), redlock.ErrNoQuorum)
		time.AfterFunc(10*time.Second, func() { each(fleet, 0, 2, refuse("")) })
		start := time.Now()
		expect(t, "Lead through a refusal", c.Lead(t.Context(), "a", func(context.Context) error { return nil }))
		check.AtLeast(t, time.Since(start), 10*time.Second, "while the masters refused it, Lead took")
		expectOwn(t, "Lead of no name", c.Lead(t.Context(), "", nil))
		ctx := within(t, t.Context(), time.Second)
		defer unlock(t, lock(t, t.Context(), other, "a"))
		expect(t, "Lead that is not elected", c.Lead(ctx, "a", nil), context.DeadlineExceeded, redlock.ErrTaken)
		expect(t, "Close", c.Close())
		expect(t, "Lead", c.Lead(t.Context(), "a", nil), redlock.ErrClosed)
	})(t)
}

// Close ends the pause.
func TestLeadEndsWithItsClient(t *testing.T) {
	bubble(3, func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
		time.AfterFunc(100*time.Millisecond, func() { c.Close() })
		start := time.Now()
		expect(t, "Lead", c.Lead(t.Context(), "a", func(context.Context) error { return errors.New("the disk is full") }), redlock.ErrClosed)
		check.Equal(t, time.Since(start), 100*time.Millisecond, "Lead returned after")
	})(t)
}

// Lead is done when fn returned nil while it led, whatever becomes of the release; unless that shows that others may have
// led meanwhile.
func TestLeadIsDone(t *testing.T) {
	for name, tt := range map[string]struct {
		during func(*redlocktest.Fleet, context.CancelFunc)
		terms  int
	}{
		"ctx ends behind fn": {func(fleet *redlocktest.Fleet, stop context.CancelFunc) {
			each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(10 * time.Millisecond) })
			time.AfterFunc(time.Millisecond, stop)
		}, 1},
		"the masters fall silent": {func(fleet *redlocktest.Fleet, _ context.CancelFunc) {
			each(fleet, 0, 3, (*redlocktest.Master).Freeze)
			time.AfterFunc(time.Minute, func() { each(fleet, 0, 3, (*redlocktest.Master).Thaw) })
		}, 1},
		"the masters forgot it": {func(fleet *redlocktest.Fleet, _ context.CancelFunc) {
			each(fleet, 0, 3, (*redlocktest.Master).FlushAll)
		}, 2},
	} {
		t.Run(name, bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			terms := 0
			expect(t, "Lead", c.Lead(ctx, "a", func(context.Context) error {
				switch terms++; {
				case terms > tt.terms:
					stop() // or it would go on forever
				case terms == 1:
					tt.during(fleet, stop)
				}
				return nil
			}))
			check.Equal(t, terms, tt.terms, "how often it led")
			each(fleet, 0, 3, (*redlocktest.Master).Thaw)
		}))
	}
}

// With Permits, so many lead at a time; with Lease, each for so long. Shared is refused.
func TestLeadTakesOptions(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		ctx := within(t, t.Context(), 20*time.Second)
		most, terms := 0, 0
		var lead []context.Context // of those that do: a context ends before the next one leads, and its function a little later
		var mu sync.Mutex
		var processes sync.WaitGroup
		for range 4 {
			other := open(t, fleet, redlock.Config{})
			processes.Go(func() {
				_ = other.Lead(ctx, "a", func(ctx context.Context) error {
					mu.Lock()
					lead = append(slices.DeleteFunc(lead, func(ctx context.Context) bool { return ctx.Err() != nil }), ctx)
					most, terms = max(most, len(lead)), terms+1
					mu.Unlock()
					<-ctx.Done()
					return nil
				}, redlock.Permits(2), redlock.Lease(5*time.Second))
			})
		}
		processes.Wait()
		check.That(t, most == 2 && terms >= 4, "%d led at a time, %d times in 20 s; want 2, and each for 5 s", most, terms)
		check.Says(t, c.Lead(t.Context(), "a", func(context.Context) error { return nil }, redlock.Shared()), "do not go together", "Lead of readers")
		check.Says(t, second(c.Lock(t.Context(), "a", redlock.Shared(), redlock.Permits(2))), "do not go together", "Lock")
	})(t)
}
