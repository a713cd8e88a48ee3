package redlock_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// lockAll is a LockAll that must succeed.
func lockAll(t *testing.T, ctx context.Context, c *redlock.Client, names ...string) *redlock.Holds {
	t.Helper()
	holds, err := c.LockAll(ctx, names)
	check.OK(t, err, "LockAll(%q)", names)
	t.Cleanup(func() { runtime.KeepAlive(holds) })
	return holds
}

// taking is LockAll in the background. It sends nil if that failed.
func taking(t *testing.T, c *redlock.Client, names []string, options ...redlock.Option) <-chan *redlock.Holds {
	got := make(chan *redlock.Holds, 1)
	go func() {
		holds, err := c.LockAll(t.Context(), names, options...)
		expect(t, "LockAll", err)
		got <- holds
	}()
	return got
}

// Several free names are locked, extended and unlocked in one round trip; also unlocked under the context of one of them.
func TestLockAllTakesOneRoundTrip(t *testing.T) {
	bubble(5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		const trip = 10 * time.Millisecond
		use(t, c, "warm")
		each(fleet, 0, 5, func(m *redlocktest.Master) { m.Delay(trip / 2) })
		takesOne := func(call string, do func()) {
			t.Helper()
			start := time.Now()
			do()
			check.Equal(t, time.Since(start), trip, "one round trip: %s of 4 names took", call)
		}
		var holds *redlock.Holds
		before := scripts(fleet)
		takesOne("LockAll", func() { holds = lockAll(t, t.Context(), c, "d", "b", "a", "c", "b") })
		synctest.Wait()
		check.Equal(t, scripts(fleet)-before, 4*5, "script calls of LockAll, one for each of 4 free names on each of 5 masters")
		expectLines(t, "Names", holds.Names(), []string{"a", "b", "c", "d"})
		for _, name := range holds.Names() {
			expectCount(t, fleet, holds.Hold(name), "1", 1)
		}
		check.Equal(t, holds.Hold("e"), nil, "Hold of another name")
		time.Sleep(5 * time.Second)
		takesOne("Extend", func() { expect(t, "Extend", holds.Extend(t.Context(), lease)) })
		check.Equal(t, holds.Remaining(), validity-trip, "Remaining after Extend")
		takesOne("Unlock", func() { expect(t, "Unlock", holds.Unlock(holds.Hold("b").Context())) })
		expect(t, "Cause", context.Cause(holds.Context()), redlock.ErrNotHeld)
		expect(t, "Extend after Unlock", holds.Extend(t.Context(), lease), redlock.ErrNotHeld)
		err := holds.Unlock(t.Context())
		expect(t, "second Unlock", err, redlock.ErrNotHeld)
		for _, name := range holds.Names() {
			expectFree(t, fleet, name)
			check.Says(t, err, fmt.Sprintf("unlock %q", name), "second Unlock")
		}
	})(t)
}

// A LockAll that waits for a name holds those before it in the order of their bytes, and none after it: so no two callers
// wait for each other.
func TestLockAllWaitsWithWhatComesBefore(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		other := open(t, fleet, redlock.Config{})
		b, d := lock(t, t.Context(), other, "b"), lock(t, t.Context(), other, "d")
		got := taking(t, c, []string{"e", "b", "d", "c", "a"})
		for _, step := range []struct {
			has, lacks []string
			then       *redlock.Hold
		}{
			{[]string{"a"}, []string{"c", "e"}, b},
			{[]string{"a", "b", "c"}, []string{"e"}, d},
		} {
			rest(time.Second)
			for _, name := range step.has {
				check.That(t, fleet.Master(0).Holder(name) != "", "nobody has %q while %q is waited for", name, step.then.Name())
			}
			for _, name := range step.lacks {
				expectFree(t, fleet, name)
			}
			unlock(t, step.then)
		}
		if holds := <-got; holds != nil {
			expect(t, "Err", holds.Context().Err())
			expect(t, "Unlock", holds.Unlock(t.Context()))
		}
	})(t)
}

// A LockAll that its context or Close cuts short gives all back, and says which name it waited for.
func TestCutLockAll(t *testing.T) {
	for name, tt := range map[string]struct {
		cut  func(cancel func(), waits *redlock.Client)
		want []error
		says string
	}{
		"the context ends": {func(cancel func(), _ *redlock.Client) { cancel() }, []error{context.Canceled, redlock.ErrTaken}, `lock "b"`},
		"Close":            {func(_ func(), waits *redlock.Client) { waits.Close() }, []error{redlock.ErrClosed}, `lock "`},
	} {
		t.Run(name, bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
			waits := open(t, fleet, redlock.Config{})
			b := lock(t, t.Context(), c, "b")
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(3*time.Second, func() { tt.cut(cancel, waits) })
			start := time.Now()
			holds, err := waits.LockAll(ctx, []string{"c", "b", "a"})
			took := time.Since(start)
			check.That(t, took == 3*time.Second && holds == nil, "LockAll = %v after %v, want no holds after 3s", holds, took)
			expect(t, "LockAll", err, tt.want...)
			check.Says(t, err, tt.says, "LockAll")
			expectFree(t, fleet, "a")
			expectFree(t, fleet, "c")
			unlock(t, b)
			expectFree(t, fleet, "b")
			expectQuiet(t, fleet)
		}))
	}
}

// While LockAll waits for a name, it uses up neither the fixed lease nor the MaxHold of those before it, and so does not
// start over, behind all others: whether it waits once for long, or several times.
func TestLockAllWaitsLongerThanItHolds(t *testing.T) {
	const short = 3 * time.Second
	for name, tt := range map[string]struct {
		limit   time.Duration
		options []redlock.Option
		freed   []time.Duration // when b, c and so on are, one after the other
		left    time.Duration   // when LockAll has returned, at least
		lasts   time.Duration   // the holds, from then on, at most
	}{
		"a long wait":         {0, []redlock.Option{redlock.Lease(short)}, []time.Duration{30 * time.Second}, short * 6 / 10, short},
		"short ones":          {0, []redlock.Option{redlock.Lease(short)}, []time.Duration{9 * short / 30, 18 * short / 30, 27 * short / 30, 36 * short / 30}, short * 6 / 10, short},
		"longer than MaxHold": {time.Minute, nil, []time.Duration{5 * time.Minute}, 19 * time.Second, 90 * time.Second},
	} {
		t.Run(name, bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, other *redlock.Client) {
			c := open(t, fleet, redlock.Config{MaxHold: tt.limit})
			names := []string{"a", "b", "c", "d", "e"}[:len(tt.freed)+1]
			for i, at := range tt.freed {
				busy := lock(t, t.Context(), other, names[i+1])
				time.AfterFunc(at, func() { unlock(t, busy) })
			}
			got := taking(t, c, names, tt.options...)
			time.Sleep(100 * time.Millisecond)
			has := fleet.Master(0).Holder("a")
			holds := <-got
			now := fleet.Master(0).Holder("a")
			check.That(t, now != "" && now == has, "%q has a in the end, want %q as at first", now, has)
			start := time.Now()
			time.Sleep(100 * time.Millisecond) // a lock that was handed over begins with a short lease
			check.AtLeast(t, holds.Remaining(), tt.left-100*time.Millisecond, "what is left")
			<-holds.Context().Done()
			check.Between(t, time.Since(start), tt.limit, tt.lasts, "the holds lasted for")
			time.Sleep(tt.lasts)
			for _, name := range names {
				check.Equal(t, holds.Hold(name).Remaining(), 0, "what is left of %s, which is not renewed for ever", name)
			}
			expect(t, "Unlock", holds.Unlock(t.Context()), redlock.ErrLost)
		}))
	}
}

// TestLockAllAfterAnOutage: if an outage used up most of a fixed lease while LockAll waited for another name, the lease is
// full when LockAll returns: nothing renews it later.
func TestLockAllAfterAnOutage(t *testing.T) {
	for cut := 10 * time.Second; cut < 18*time.Second; cut += 500 * time.Millisecond {
		t.Run(cut.String(), bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, other *redlock.Client) {
			lock(t, t.Context(), other, "b", redlock.Lease(9*time.Second+cut))
			time.AfterFunc(9*time.Second, func() {
				each(fleet, 0, 3, (*redlocktest.Master).Cut)
				time.Sleep(cut)
				each(fleet, 0, 3, (*redlocktest.Master).Mend)
			})
			holds := must(open(t, fleet, redlock.Config{}).LockAll(t.Context(), []string{"a", "b"}, redlock.Lease(lease)))(t, "LockAll")
			check.AtLeast(t, holds.Remaining(), lease/2, "what is left of %v", lease)
			expect(t, "Unlock", holds.Unlock(t.Context()))
		}))
	}
}

// A LockAll that starts over after a loss keeps its place in the masters' queue, and in its client's line.
func TestLockAllKeepsItsPlace(t *testing.T) {
	for _, own := range []bool{false, true} {
		t.Run(fmt.Sprintf("own=%t", own), bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
			other, later := open(t, fleet, redlock.Config{}), c
			if !own {
				later = open(t, fleet, redlock.Config{})
			}
			b := lock(t, t.Context(), other, "b")
			all := taking(t, c, []string{"a", "b"})
			time.Sleep(time.Second)
			var ones []*waiting
			for range 2 { // of one client, one bids and one stands in line
				ones = append(ones, locking(t, later, "b"))
				time.Sleep(time.Second)
			}
			seize(fleet, 0, 3) // for a minute
			time.Sleep(2 * time.Minute)
			unlock(t, b)
			time.Sleep(time.Second)
			served := ones[1:]
			if !own { // the first of the line bids, and cannot be put back
				served = ones
			}
			expectHolds(t, "though they began to wait later", served)
			if own {
				<-ones[0].done
				unlock(t, ones[0].hold)
			}
			expect(t, "Unlock", (<-all).Unlock(t.Context()))
			for _, w := range served {
				<-w.done
				unlock(t, w.hold)
			}
		}))
	}
}

// If the context has ended when LockAll loses a lock, as both may while the process is stopped, the error is that of the
// context and not of the loss, after which LockAll would have started over.
func TestLockAllEndsWithALoss(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		lock(t, t.Context(), open(t, fleet, redlock.Config{}), "b")
		time.AfterFunc(time.Second, func() { seize(fleet, 0, 3) })
		_, err := c.LockAll(lateContext{t.Context(), time.Now().Add(time.Second)}, []string{"a", "b"})
		expect(t, "LockAll", err, context.DeadlineExceeded, redlock.ErrTaken)
		expectNot(t, "LockAll", err, redlock.ErrLost, context.Canceled)
	})(t)
}

// lateContext has a late timer: Err says that it has ended, and Done does not.
type lateContext struct {
	context.Context
	end time.Time
}

func (c lateContext) Err() error {
	if time.Now().Before(c.end) {
		return nil
	}
	return context.DeadlineExceeded
}

// If a lock is lost while the others are tried, LockAll starts over, and TryLockAll returns ErrLost.
func TestLockAllLosesWhileItTries(t *testing.T) {
	inSets("far near", func(t *testing.T, f fleets) {
		c := newSets(t, redlock.SetsConfig{Sets: map[string]redlock.Config{
			"far":  {Pools: f["far"].Pools(), RestartGuard: redlock.GuardOff, NodeTimeout: 10 * time.Second},
			"near": {Pools: f["near"].Pools(), RestartGuard: redlock.GuardOff, Lease: time.Second},
		}})
		expect(t, "Ready", c.Ready(t.Context()))
		near, far := nameIn(t, c, "near"), nameIn(t, c, "far")
		if near > far {
			t.Fatalf("%q is not before %q", near, far)
		}
		unlock(t, lock(t, t.Context(), c, near)) // both sets have admitted the client
		unlock(t, lock(t, t.Context(), c, far))
		each(f["far"], 0, 3, func(m *redlocktest.Master) { m.Delay(2 * time.Second) })
		lose := func() {
			time.Sleep(100 * time.Millisecond)
			each(f["near"], 0, 3, (*redlocktest.Master).Kill)
			time.Sleep(2 * time.Second)
			each(f["near"], 0, 3, (*redlocktest.Master).RestartWithData)
		}
		go lose()
		_, err := c.TryLockAll(t.Context(), []string{far, near})
		expect(t, "TryLockAll", err, redlock.ErrLost)
		check.Says(t, err, fmt.Sprintf("lock %q", near), "TryLockAll")
		time.Sleep(10 * time.Second)
		expectFree(t, f["far"], far)

		go lose()
		holds := must(c.LockAll(t.Context(), []string{near, far}))(t, "LockAll")
		expect(t, "Err", holds.Context().Err())
		for _, name := range holds.Names() { // what was not lost was given back, and is entered once
			check.Equal(t, holds.Hold(name).Count(), 1, "how often %s is held", name)
		}
		expect(t, "Unlock", holds.Unlock(t.Context()))
	})(t)
}

// The context of several holds ends with the first of them, with its cause, and before it is given back. Unlock gives the
// others back.
func TestHoldsEndWithTheFirst(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		holds := lockAll(t, t.Context(), c, "a", "b", "c")
		child, cancel := context.WithCancel(holds.Context())
		defer cancel()
		seize(fleet, 0, 3)
		over(child)
		expect(t, "Cause", context.Cause(child), redlock.ErrLost)
		check.Says(t, context.Cause(child), `"a"`, "Cause")
		expectAlive(t, holds.Hold("b"))
		err := holds.Unlock(t.Context())
		expect(t, "Unlock", err, redlock.ErrLost)
		check.Equal(t, len(err.(interface{ Unwrap() []error }).Unwrap()), 1, "locks whose errors Unlock returns")
		expectFree(t, fleet, "b")
		expectFree(t, fleet, "c")

		holds = lockAll(t, t.Context(), c, "b", "c")
		unlock(t, holds.Hold("c"))
		expect(t, "Cause", context.Cause(holds.Context()), redlock.ErrNotHeld)
		err = holds.Unlock(t.Context())
		expect(t, "Unlock", err, redlock.ErrNotHeld)
		check.That(t, strings.Contains(err.Error(), `"c"`) && !strings.Contains(err.Error(), `"b"`), "Unlock = %q, want it to name c and no other", err)
		expectFree(t, fleet, "b")
	})(t)
}

// LockAll refuses what cannot be locked before it asks any master.
func TestLockAllRefuses(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		many := make([]string, 65)
		for i := range many {
			many[i] = fmt.Sprint(i)
		}
		before := scripts(fleet)
		for want, names := range map[string][]string{
			"no name to lock": nil,
			"65 names are to be locked together, more than 64": many,
		} {
			check.Says(t, second(c.LockAll(t.Context(), names)), want, "LockAll")
			check.Says(t, second(c.TryLockAll(t.Context(), names)), want, "TryLockAll")
		}
		check.Says(t, second(c.LockAll(t.Context(), []string{"a"}, redlock.Permits(2))), "Permits are taken one at a time", "LockAll")
		expect(t, "LockAll under a context that has ended", second(c.LockAll(ended(t), []string{"a", "b"})), context.Canceled)
		check.Equal(t, scripts(fleet)-before, 0, "scripts that the masters ran for it")
		expect(t, "Unlock", lockAll(t, t.Context(), c, "a", "a").Unlock(t.Context()))
	})(t)
}

// LockAll takes Shared and Lease.
func TestLockAllTakesOptions(t *testing.T) {
	bubble(3, func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
		one := must(c.LockAll(t.Context(), []string{"a", "b"}, redlock.Shared(), redlock.Lease(5*time.Second)))(t, "LockAll")
		another, err := c.TryLockAll(t.Context(), []string{"b", "c"}, redlock.Shared())
		expect(t, "TryLockAll beside a reader", err)
		expect(t, "TryLock of a writer", second(c.TryLock(t.Context(), "b")), redlock.ErrTaken)
		time.Sleep(time.Minute)
		expect(t, "Cause", context.Cause(one.Context()), redlock.ErrLost)
		expect(t, "Unlock", another.Unlock(t.Context()))
	})(t)
}

// LockAll enters what its owner holds already, and Lock what LockAll took.
func TestLockAllEntersAgain(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		outer := lock(t, redlock.WithOwner(t.Context()), c, "b")
		holds := lockAll(t, outer.Context(), c, "a", "b", "c")
		expectCount(t, fleet, holds.Hold("b"), "2", 2)
		inner := lock(t, holds.Context(), c, "c")
		expectCount(t, fleet, inner, "2", 2)
		again := lockAll(t, holds.Context(), c, "a", "c")
		expectCount(t, fleet, again.Hold("c"), "3", 3)
		check.Equal(t, redlock.Token(holds.Context()), 0, "Token of the context of several holds")
		check.Equal(t, redlock.Token(holds.Hold("a").Context()), holds.Hold("a").Token(), "Token of the context of one of them")
		expect(t, "Unlock", again.Unlock(t.Context()))
		unlock(t, inner)
		expect(t, "Unlock", holds.Unlock(t.Context()))
		expectCount(t, fleet, outer, "1", 1)
		expectFree(t, fleet, "a")
		unlock(t, outer)
	})(t)
}
