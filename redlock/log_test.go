package redlock_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// A log handler is given the caller's context, which carries the ID of a trace.
func TestLogHasTheContext(t *testing.T) {
	masters(3, func(t *testing.T, fleet *redlocktest.Fleet) {
		type traceID struct{}
		var mu sync.Mutex
		carried := make(map[string]any) // by the context of each message
		c := open(t, fleet, redlock.Config{Logger: slog.New(handled(func(ctx context.Context, message string) {
			mu.Lock()
			defer mu.Unlock()
			carried[message] = ctx.Value(traceID{})
		}))})
		ctx := context.WithValue(t.Context(), traceID{}, "4bf92f35")
		hold := lock(t, ctx, c, "a")
		each(fleet, 0, 2, (*redlocktest.Master).Freeze)
		waits := within(t, ctx, time.Minute)
		expect(t, "Lock", second(c.Lock(waits, "b")), context.DeadlineExceeded)
		expect(t, "Cause", context.Cause(hold.Context()), redlock.ErrLost)
		each(fleet, 0, 2, (*redlocktest.Master).Thaw)
		time.Sleep(settle)
		ends := within(t, ctx, time.Second)
		fails := errors.New("no")
		expect(t, "Lead", c.Lead(ends, "c", func(context.Context) error { return fails }), context.DeadlineExceeded)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		for _, message := range []string{"waiting for a quorum", "renewal failed", "hold is lost", "leads no more, and campaigns again"} {
			check.Equal[any](t, carried["redlock: "+message], "4bf92f35", "the ID in the context of %q", message)
		}
	})(t)
}

// handled is a log handler that calls a function with each message. slog's own hold a mutex while they write, so one that
// blocks would block the test as well.
type handled func(ctx context.Context, message string)

func (f handled) Enabled(context.Context, slog.Level) bool { return true }
func (f handled) WithAttrs([]slog.Attr) slog.Handler       { return f }
func (f handled) WithGroup(string) slog.Handler            { return f }
func (f handled) Handle(ctx context.Context, r slog.Record) error {
	f(ctx, r.Message)
	return nil
}

// A client without a Logger sends warnings, and nothing else, to slog.Default.
func TestDefaultLog(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	synctest.Test(t, func(t *testing.T) {
		var log lines
		fleet := redlocktest.Start(t, 3)
		open(t, fleet, redlock.Config{})
		slog.SetDefault(logger(&log)) // later than New: a client may be a package's variable
		fleet.Master(0).Kill()
		time.Sleep(time.Minute)
		fleet.Master(0).Restart()
		time.Sleep(time.Minute)
		check.That(t, log.count("redlock: master is down") == 1 && len(log.Lines()) == 1, "the log has %s, want that a master is down", &log)
	})
}

// TestAHandlerThatBlocksStallsNothing: if the log handler blocks forever at any message, callers lock and unlock, holds
// are renewed and end in time, and Close returns.
func TestAHandlerThatBlocksStallsNothing(t *testing.T) {
	for _, at := range []string{
		"master is up", "master is down", "waiting for a quorum", "renewal failed", "renewals succeed again", "hold is lost",
	} {
		t.Run(at, masters(3, func(t *testing.T, fleet *redlocktest.Fleet) {
			blocked, let := false, make(chan struct{})
			defer close(let)
			c := open(t, fleet, redlock.Config{Logger: slog.New(handled(func(_ context.Context, message string) {
				if message == "redlock: "+at {
					blocked = true
					<-let
				}
			}))})
			within := func(what string, limit time.Duration, do func() error, want ...error) {
				t.Helper()
				done := make(chan error, 1)
				go func() { done <- do() }()
				select {
				case err := <-done:
					expect(t, what, err, want...)
				case <-time.After(limit):
					t.Fatalf("%s has not returned after %v", what, limit)
				}
			}
			var held *redlock.Hold
			within("Lock", time.Second, func() (err error) {
				held, err = c.Lock(t.Context(), "held")
				return err
			})
			fleet.Master(0).Freeze()
			time.Sleep(10 * lease)
			each(fleet, 1, 3, (*redlocktest.Master).Freeze)
			within("Do", lease, func() error {
				time.AfterFunc(lease/2, func() { each(fleet, 0, 3, (*redlocktest.Master).Thaw) })
				return c.Do(t.Context(), "waits", func(context.Context) error { return nil })
			})
			time.Sleep(10 * lease)
			expect(t, "Cause after 20 leases", context.Cause(held.Context()))
			each(fleet, 0, 2, (*redlocktest.Master).Freeze)
			within("the context", lease, func() error {
				<-held.Context().Done()
				return context.Cause(held.Context())
			}, redlock.ErrLost)
			within("Unlock", time.Second, func() error { return held.Unlock(t.Context()) }, redlock.ErrLost)
			within("Close", 2*time.Second, c.Close)
			synctest.Wait()
			check.Equal(t, blocked, true, "blocked at %s", at)
		}))
	}
}
