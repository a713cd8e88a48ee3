package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// A wait that is cut short says that it was, why, and what it was waiting for.
func TestCutWaitSaysWhatItWaitedFor(t *testing.T) {
	why := errors.New("the customer left")
	taken := func(t *testing.T, fleet *redlocktest.Fleet) {
		lock(t, t.Context(), open(t, fleet, redlock.Config{}), "a")
	}
	killed := func(_ *testing.T, fleet *redlocktest.Fleet) { each(fleet, 0, 3, (*redlocktest.Master).Kill) }
	frozen := func(_ *testing.T, fleet *redlocktest.Fleet) { each(fleet, 0, 3, (*redlocktest.Master).Freeze) }
	guarded := func(_ *testing.T, fleet *redlocktest.Fleet) { each(fleet, 0, 3, (*redlocktest.Master).Restart) }

	for _, wait := range []struct {
		name       string
		cfg        redlock.Config
		begin      func(*testing.T, *redlocktest.Fleet)
		state, not error
	}{
		{"taken", redlock.Config{}, taken, redlock.ErrTaken, redlock.ErrNoQuorum},
		{"dead", redlock.Config{}, killed, redlock.ErrNoQuorum, redlock.ErrTaken},
		{"frozen", redlock.Config{}, frozen, redlock.ErrNoQuorum, redlock.ErrTaken},
		{"guarded", redlock.Config{RestartGuard: lease}, guarded, redlock.ErrNoQuorum, redlock.ErrTaken},
	} {
		for _, after := range []time.Duration{300 * time.Millisecond, 2 * time.Second} {
			for _, cut := range []struct {
				name string
				ctx  func(context.Context) (context.Context, context.CancelFunc)
				want []error
			}{
				{"deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
					return context.WithTimeout(ctx, after)
				}, []error{context.DeadlineExceeded}},
				{"deadline with a cause", func(ctx context.Context) (context.Context, context.CancelFunc) {
					return context.WithTimeoutCause(ctx, after, why)
				}, []error{context.DeadlineExceeded, why}},
				{"cancel", func(ctx context.Context) (context.Context, context.CancelFunc) {
					ctx, cancel := context.WithCancel(ctx)
					time.AfterFunc(after, cancel)
					return ctx, cancel
				}, []error{context.Canceled}},
				{"cancel with a cause", func(ctx context.Context) (context.Context, context.CancelFunc) {
					ctx, cancel := context.WithCancelCause(ctx)
					time.AfterFunc(after, func() { cancel(why) })
					return ctx, func() { cancel(nil) }
				}, []error{context.Canceled, why}},
			} {
				t.Run(fmt.Sprintf("%s/%s/%v", wait.name, cut.name, after), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						fleet := redlocktest.Start(t, 5)
						c := open(t, fleet, wait.cfg)
						wait.begin(t, fleet)
						ctx, cancel := cut.ctx(t.Context())
						defer cancel()
						start := time.Now()
						_, err := c.Lock(ctx, "a")
						if got := time.Since(start); got != after {
							t.Errorf("Lock returned after %v, want %v", got, after)
						}
						expect(t, "Lock", err, append(cut.want, wait.state)...)
						expectNot(t, "Lock", err, wait.not)
					})
				})
			}
		}
	}
}

// A caller that waits behind another one of its client waits for the same thing.
func TestCutWaitBehindAnotherCaller(t *testing.T) {
	for name, tt := range map[string]struct {
		begin func(*testing.T, *redlocktest.Fleet, *redlock.Client)
		want  error
	}{
		"another client has it": {func(t *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
			lock(t, t.Context(), open(t, fleet, redlock.Config{}), "a")
		}, redlock.ErrTaken},
		"the client itself has it": {func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
			lock(t, t.Context(), c, "a")
		}, redlock.ErrTaken},
		"the client itself has it, in an outage": {func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
			lock(t, t.Context(), c, "a")
			each(fleet, 0, 2, (*redlocktest.Master).Kill)
		}, redlock.ErrNoQuorum},
		"outage": {func(_ *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
			each(fleet, 0, 2, (*redlocktest.Master).Kill)
		}, redlock.ErrNoQuorum},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				tt.begin(t, fleet, c)
				for range 5 {
					go func() {
						ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
						defer cancel()
						_, err := c.Lock(ctx, "a")
						expect(t, "Lock", err, tt.want, context.DeadlineExceeded)
					}()
				}
				time.Sleep(6 * time.Second)
			})
		})
	}
}

func TestEndedContextSendsNothing(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		why := errors.New("the customer left")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		for name, lock := range map[string]func() error{
			"Lock":       func() error { return second(c.Lock(ctx, "a")) },
			"TryLock":    func() error { return second(c.TryLock(ctx, "a")) },
			"LockFor":    func() error { return second(c.LockFor(ctx, "a", time.Second)) },
			"TryLockFor": func() error { return second(c.TryLockFor(ctx, "a", time.Second)) },
			"Do": func() error {
				return c.Do(ctx, "a", func(context.Context) error {
					t.Error("Do has called fn")
					return nil
				})
			},
		} {
			expect(t, name, lock(), context.Canceled, why)
		}
		expectQuiet(t, fleet)
	})
}

// What a frozen or cut off majority was sent before the deadline it carries out later:
// it must not keep the lock, and a wait is not a second longer than its context.
func TestDeadlineDuringAnOutageLeavesNothing(t *testing.T) {
	for name, fault := range map[string]struct{ begin, end func(*redlocktest.Master) }{
		"frozen":  {(*redlocktest.Master).Freeze, (*redlocktest.Master).Thaw},
		"cut off": {(*redlocktest.Master).Cut, (*redlocktest.Master).Mend},
	} {
		for _, deadline := range []time.Duration{time.Millisecond, 300 * time.Millisecond, 499 * time.Millisecond, 3 * time.Second} {
			for _, outage := range []time.Duration{0, 100 * time.Millisecond, time.Second, 20 * time.Second} {
				t.Run(fmt.Sprintf("%s/%v/%v", name, deadline, outage), func(t *testing.T) {
					bubble(t, 5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
						each(fleet, 0, 3, fault.begin)
						ctx, cancel := context.WithTimeout(t.Context(), deadline)
						defer cancel()
						start := time.Now()
						_, err := c.Lock(ctx, "a")
						expect(t, "Lock", err, context.DeadlineExceeded, redlock.ErrNoQuorum)
						if got := time.Since(start); got != deadline {
							t.Errorf("Lock returned after %v, want %v", got, deadline)
						}
						time.Sleep(outage)
						each(fleet, 0, 3, fault.end)
						time.Sleep(settle)
						expectFree(t, fleet, "a")
					})
				})
			}
		}
	}
}

// A deadline at any moment of a try leaves no key, however slow each master is.
func TestDeadlineLeavesNothing(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			bubble(t, 5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				r := rand.New(rand.NewPCG(seed, 0))
				for range 20 {
					each(fleet, 0, 5, func(m *redlocktest.Master) { m.Delay(time.Duration(r.Int64N(int64(50 * time.Millisecond)))) })
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.Int64N(int64(100*time.Millisecond))))
					hold, err := c.Lock(ctx, "a")
					cancel()
					if err == nil {
						unlock(t, hold)
					}
					time.Sleep(300 * time.Millisecond)
					expectFree(t, fleet, "a")
				}
			})
		})
	}
}

// A try that failed, for whatever reason, has taken back its votes a round trip later.
func TestFailedTryLeavesNothing(t *testing.T) {
	bubble(t, 5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		each(fleet, 0, 3, func(m *redlocktest.Master) {
			m.HSet("a", someone, "1")
			m.Expire("a", time.Minute)
		})
		warm(t, c)
		each(fleet, 3, 5, func(m *redlocktest.Master) { m.Delay(10 * time.Millisecond) })
		_, err := c.TryLock(t.Context(), "a")
		expect(t, "TryLock", err, redlock.ErrTaken)
		time.Sleep(20 * time.Millisecond)
		for _, m := range fleet.Masters()[3:] {
			if got := m.Hash("a"); got != nil {
				t.Errorf("%s has %v", m.Name(), got)
			}
		}
		for _, m := range fleet.Masters()[:3] {
			if got := m.Holder("a"); got != someone {
				t.Errorf("%s has %q, want its holder untouched", m.Name(), got)
			}
		}
	})
}

// Masters so slow that no answer is in time: each try may take hold after it was given
// up, and each is taken back.
func TestAnswersThatAreAlwaysLateLeaveNothing(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(nodeTimeout) })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := c.Lock(ctx, "a")
		expect(t, "Lock", err, redlock.ErrNoQuorum, context.DeadlineExceeded)
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(0) })
		time.Sleep(2 * settle)
		expectFree(t, fleet, "a")
		hold := lock(t, t.Context(), c, "a")
		expectCount(t, fleet, hold, "1", 1)
	})
}
