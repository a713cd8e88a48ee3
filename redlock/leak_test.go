package redlock_test

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

const (
	leakWarning = "redlock: Hold is garbage without Unlock"
	lostWarning = "redlock: hold is lost"
)

// leaks checks that n Holds are reported as garbage, and no more after two collections. No time passes meanwhile.
func (l *lines) leaks(t *testing.T, n int) {
	t.Helper()
	for range 2 {
		collected := new(atomic.Bool)
		runtime.AddCleanup(new([64]*int), func(done *atomic.Bool) { done.Store(true) }, collected)
		collect(t, collected.Load)
	}
	collect(t, func() bool { return len(l.Lines(leakWarning)) >= n })
	if got := len(l.Lines(leakWarning)); got != n {
		t.Fatalf("%d Holds were reported as garbage, want %d", got, n)
	}
}

// collect collects garbage until done, which the runtime's goroutines bring about.
func collect(t *testing.T, done func() bool) {
	t.Helper()
	for range 100 {
		if done() {
			return
		}
		runtime.GC()
		for range 1000 {
			if done() {
				return
			}
			runtime.Gosched()
		}
	}
	t.Fatal("the garbage collector did not find what is garbage")
}

// over waits for the end of ctx, and for the log.
func over(ctx context.Context) {
	<-ctx.Done()
	synctest.Wait()
}

// watched is a subtest with a client whose log is kept.
func watched(cfg redlock.Config, f func(*testing.T, *redlocktest.Fleet, *redlock.Client, *lines)) func(*testing.T) {
	return masters(3, func(t *testing.T, fleet *redlocktest.Fleet) {
		w := new(lines)
		cfg.Logger = logger(w)
		f(t, fleet, open(t, fleet, cfg), w)
	})
}

// leaky is a Hold that drop makes garbage, and its context.
type leaky struct {
	ctx  context.Context
	hold *redlock.Hold
}

func leak(t *testing.T, ctx context.Context, c *redlock.Client, name string) *leaky {
	t.Helper()
	hold, err := c.Lock(ctx, name)
	check.OK(t, err, "Lock(%q)", name)
	return &leaky{ctx: hold.Context(), hold: hold}
}

// drop makes the Hold garbage. It is alive until then.
func (l *leaky) drop() context.Context {
	runtime.KeepAlive(l.hold)
	l.hold = nil
	return l.ctx
}

// The context of a Hold that leaked ends with the validity that was confirmed last.
func TestLeakedHoldEndsWithItsValidity(t *testing.T) {
	for _, age := range []time.Duration{0, time.Second, renewEvery + time.Second, 5*time.Minute + time.Second} {
		t.Run(age.String(), watched(redlock.Config{}, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client, w *lines) {
			d := open(t, fleet, redlock.Config{})
			start := time.Now()
			hold := leak(t, t.Context(), c, "a")
			owner := hold.hold.Owner()
			time.Sleep(age)
			ctx := hold.drop()
			w.leaks(t, 1)
			got := w.Lines(leakWarning)[0]
			check.That(t, strings.Contains(got, "name=a owner="+owner+" held="), "the warning says %s, want the name, the owner %q and how long it was held", got, owner)
			expect(t, "Cause at the leak", context.Cause(ctx))
			expect(t, "TryLock", second(d.TryLock(t.Context(), "a")), redlock.ErrTaken)

			over(ctx)
			cause := context.Cause(ctx)
			expect(t, "Cause", cause, redlock.ErrLost)
			check.Says(t, cause, "garbage without Unlock", "Cause")
			check.Equal(t, time.Since(start), age.Truncate(renewEvery)+validity, "the context ended after")
			if got := w.Lines(lostWarning); len(got) != 1 || !strings.Contains(got[0], "garbage without Unlock") {
				t.Errorf("the warnings of loss are %v, want one with the reason", got)
			}
			unlock(t, lock(t, t.Context(), d, "a"))
			expectFree(t, fleet, "a")
			expectQuiet(t, fleet)
		}))
	}
}

// What is no leak is not reported, and is renewed as usual.
func TestNoLeak(t *testing.T) {
	goesOn := func(t *testing.T, ctx context.Context, w *lines) {
		t.Helper()
		for range 2 {
			w.leaks(t, 0)
			time.Sleep(2 * time.Minute)
		}
		expect(t, "Cause after four minutes", context.Cause(ctx))
	}
	for name, test := range map[string]func(*testing.T, *redlock.Client, *lines){
		"Do": func(t *testing.T, c *redlock.Client, w *lines) {
			expect(t, "Do", c.Do(t.Context(), "a", func(ctx context.Context) error {
				goesOn(t, ctx, w)
				return nil
			}))
		},
		"an Unlock that the end of another context calls": func(t *testing.T, c *redlock.Client, w *lines) {
			parent, cancel := context.WithCancel(t.Context())
			ctx := func() context.Context {
				hold := must(c.Lock(parent, "a"))(t, "Lock")
				context.AfterFunc(parent, func() { _ = hold.Unlock(parent) }) // nil if the masters answer at once
				return hold.Context()
			}()
			goesOn(t, ctx, w)
			cancel()
			over(ctx)
			expect(t, "Cause", context.Cause(ctx), redlock.ErrNotHeld)
		},
		"Unlock": func(t *testing.T, c *redlock.Client, w *lines) {
			l := leak(t, t.Context(), c, "a")
			unlock(t, l.hold)
			l.drop()
		},
		"Unlock of an inner level": func(t *testing.T, c *redlock.Client, w *lines) {
			outer := lock(t, redlock.WithOwner(t.Context()), c, "a")
			inner := leak(t, outer.Context(), c, "a")
			unlock(t, inner.hold)
			inner.drop()
			goesOn(t, outer.Context(), w)
		},
		"Close": func(t *testing.T, c *redlock.Client, w *lines) {
			l := leak(t, t.Context(), c, "a")
			expect(t, "Close", c.Close())
			l.drop()
		},
		"a fixed lease that is left to end": func(t *testing.T, c *redlock.Client, w *lines) {
			func() { expect(t, "TryLockFor", second(c.TryLock(t.Context(), "a", redlock.Lease(lease)))) }()
			w.leaks(t, 0)
			rest(lease)
			got := w.Lines(lostWarning)
			check.That(t, len(got) == 1 && !strings.Contains(got[0], "garbage"), "the warnings of loss are %v, want one, without a word of garbage", got)
		},
	} {
		t.Run(name, watched(redlock.Config{}, func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client, w *lines) {
			test(t, c, w)
			w.leaks(t, 0)
		}))
	}
}

// TestManyClients: the log warns, once, of many clients that are made and not closed.
func TestManyClients(t *testing.T) {
	for name, tt := range map[string]struct {
		close bool
		anew  bool // half of them are closed before the others are made
		pause time.Duration
		want  int
	}{
		"not closed": {want: 1},
		"closed":     {close: true},
		"made anew":  {anew: true, want: 2},
		"slowly":     {pause: 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, pools := new(lines), redlocktest.Start(t, 1).Pools()
				var all []*redlock.Client
				for i := range 50 {
					if tt.anew && i == 25 {
						for _, c := range all {
							c.Close()
						}
					}
					c, err := redlock.New(redlock.Config{Pools: pools, Logger: slog.New(slog.NewTextHandler(log, nil))})
					check.OK(t, err)
					all = append(all, c)
					defer c.Close()
					if tt.close {
						c.Close()
					}
					time.Sleep(tt.pause)
				}
				synctest.Wait() // for the log
				check.Equal(t, len(log.Lines("many clients are made")), tt.want, "warnings")
			})
		})
	}
}

// A hold is renewed for MaxHold from its last Lock, and then ends with its validity, which Extend may move. The cause and
// the log say so.
func TestMaxHold(t *testing.T) {
	const most = time.Minute
	const capped = "was renewed for Config.MaxHold 1m0s, and no longer"
	for name, more := range map[string]func(*testing.T, *redlock.Client, *redlock.Hold) *redlock.Hold{
		"once": nil,
		"in each level": func(t *testing.T, _ *redlock.Client, outer *redlock.Hold) *redlock.Hold {
			time.Sleep(renewEvery / 2)
			inner := got(t, "Enter", outer.Enter, t.Context())
			unlock(t, outer)
			return inner
		},
		"and extended": func(t *testing.T, _ *redlock.Client, hold *redlock.Hold) *redlock.Hold {
			time.Sleep(most)
			expect(t, "Extend", hold.Extend(t.Context(), lease))
			return hold
		},
	} {
		t.Run(name, watched(redlock.Config{MaxHold: most}, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client, w *lines) {
			start, age := time.Now(), most-renewEvery+validity // the renewal that would be due at MaxHold is not made
			hold := lock(t, t.Context(), c, "a")
			if more != nil {
				hold, age = more(t, c, hold), most+validity
			}
			expectEnd(t, hold, start, age, redlock.ErrLost)
			check.Says(t, context.Cause(hold.Context()), capped, "Cause")
			synctest.Wait() // for the log
			got := w.Lines(lostWarning)
			check.That(t, len(got) == 1 && strings.Contains(got[0], capped), "the warnings of loss are %v, want one with %q", got, capped)
			expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrLost)
			expectFree(t, fleet, "a")
			expectQuiet(t, fleet)
		}))
	}
}
