package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktest"
)

// What every hold does, whatever its kind and its masters. What one kind alone does is in a file of its own.

// face is how a user takes "a" for holds of one kind.
type face struct {
	*redlock.Client
	kind string
	name string // by which it has "a"
}

// kinds are the options by which holds of each kind are taken.
var kinds = map[string][]redlock.Option{"lock": nil, "reader": {redlock.Shared()}, "permit": {redlock.Permits(1)}}

func (f face) take(ctx context.Context) (*redlock.Hold, error) {
	return f.Lock(ctx, f.name, kinds[f.kind]...)
}

func (f face) try(ctx context.Context) (*redlock.Hold, error) {
	return f.TryLock(ctx, f.name, kinds[f.kind]...)
}

func (f face) takeFor(ctx context.Context, d time.Duration) (*redlock.Hold, error) {
	return f.Lock(ctx, f.name, append([]redlock.Option{redlock.Lease(d)}, kinds[f.kind]...)...)
}

func (f face) tryFor(ctx context.Context, d time.Duration) (*redlock.Hold, error) {
	return f.TryLock(ctx, f.name, append([]redlock.Option{redlock.Lease(d)}, kinds[f.kind]...)...)
}

func (f face) do(ctx context.Context, fn func(context.Context) error) error {
	return f.Do(ctx, f.name, fn, kinds[f.kind]...)
}

func (f face) force(ctx context.Context) (bool, error) {
	if f.kind == "permit" {
		return redlockadmin.Of(f.Client).ForceRelease(ctx, f.name)
	}
	return redlockadmin.Of(f.Client).ForceUnlock(ctx, f.name)
}

// wait and beside take and try what excludes such a hold: of a reader's, the writer's lock.
func (f face) wait(ctx context.Context) (*redlock.Hold, error)   { return f.alone().take(ctx) }
func (f face) beside(ctx context.Context) (*redlock.Hold, error) { return f.alone().try(ctx) }

func (f face) alone() face {
	if f.kind == "reader" {
		f.kind = "lock"
	}
	return f
}

// longest is the MaxLease of the users in a setting.
const longest = time.Minute

// setting is where a case happens: two users of the same masters.
type setting struct {
	fleets     []*redlocktest.Fleet // one, or those of the two sets of "a"
	one, other face
}

// each does f to the masters from up to, but not including, to, in each set.
func (p *setting) each(from, to int, f func(*redlocktest.Master)) {
	for _, fleet := range p.fleets {
		each(fleet, from, to, f)
	}
}

// away does f to a majority of one set.
func (p *setting) away(f func(*redlocktest.Master)) { each(p.fleets[len(p.fleets)-1], 0, 2, f) }

// take is a hold of one, and taken one of the other.
func (p *setting) take(t *testing.T) *redlock.Hold {
	t.Helper()
	return got(t, "take", p.one.take, t.Context())
}

func (p *setting) taken(t *testing.T) *redlock.Hold {
	t.Helper()
	return got(t, "take by the other", p.other.take, t.Context())
}

// expectFree checks that the masters have nothing of "a": the other client calls it by its whole name.
func (p *setting) expectFree(t *testing.T) {
	t.Helper()
	for _, fleet := range p.fleets {
		expectFree(t, fleet, p.other.name)
	}
}

// expectOwn checks that a call failed before it asked the masters.
func expectOwn(t *testing.T, call string, err error) {
	t.Helper()
	_, asked := errors.AsType[*redlock.MajorityError](err)
	check.That(t, err != nil && !asked, "%s = %v, want an error of its own", call, err)
}

var cases = map[string]func(*testing.T, *setting){
	"keeps others from leading": func(t *testing.T, p *setting) {
		expect(t, "Lead", p.one.Lead(t.Context(), p.one.name, func(context.Context) error {
			ctx := within(t, t.Context(), time.Second)
			expect(t, "Lead of the other", p.other.Lead(ctx, p.other.name, func(context.Context) error {
				t.Error("both lead")
				return nil
			}), context.DeadlineExceeded)
			return nil
		}))
	},

	"keeps others out": func(t *testing.T, p *setting) {
		hold := p.take(t)
		for _, f := range []face{p.one, p.other} {
			start := time.Now()
			_, err := f.beside(t.Context())
			expect(t, "a try beside it", err, redlock.ErrTaken)
			expectNot(t, "a try beside it", err, redlock.ErrNoQuorum)
			check.AtMost(t, time.Since(start), 100*time.Millisecond, "a try, which does not wait, took")
		}
		if p.one.kind == "reader" {
			unlock(t, got(t, "a second reader", p.other.try, t.Context()))
		}
		unlock(t, hold)
		p.expectFree(t)
		unlock(t, got(t, "a try after Unlock", p.other.beside, t.Context()))
		p.expectFree(t)
	},
	"needs a majority": func(t *testing.T, p *setting) {
		p.each(0, 1, (*redlocktest.Master).Kill)
		unlock(t, got(t, "a try with one of three dead", p.one.try, t.Context()))
		p.away((*redlocktest.Master).Kill)
		_, err := p.one.try(t.Context())
		expect(t, "a try with two of three dead", err, redlock.ErrNoQuorum)
		expectNot(t, "a try with two of three dead", err, redlock.ErrTaken)
	},
	"is handed over in one message": func(t *testing.T, p *setting) {
		if len(p.fleets) > 1 {
			return // it takes one for each set
		}
		const delay = 5 * time.Millisecond
		for _, take := range []func(context.Context) (*redlock.Hold, error){p.one.take, p.other.wait} {
			unlock(t, got(t, "take", take, t.Context())) // the masters get the scripts
		}
		synctest.Wait() // the last of them as well, which nobody has waited for
		p.each(0, 3, func(m *redlocktest.Master) { m.Delay(delay) })
		costs := func(call string, do func() time.Time) {
			t.Helper()
			start, before := time.Now(), scripts(p.fleets...)
			check.Equal(t, do().Sub(start), 2*delay, "one round trip: %s took", call)
			synctest.Wait()
			check.Equal(t, scripts(p.fleets...)-before, 3, "script calls, one on each master: %s took", call)
		}
		var hold *redlock.Hold
		costs("take", func() time.Time { hold = p.take(t); return time.Now() })
		w := waitFor(t, p.other.wait)
		betweenAsks(p.fleets[0])
		costs("Unlock, and what the next has by it,", func() time.Time {
			unlock(t, hold)
			expectHolds(t, "one message later", []*waiting{w}, 0)
			return w.at
		})
		rest(time.Second)
		left := w.hold.Remaining()
		check.That(t, left >= 20*time.Second && w.hold.Token() > hold.Token(), "Remaining, Token = %v, %d after %d, want a full lease and a larger token", left, w.hold.Token(), hold.Token())
		costs("Unlock", func() time.Time { unlock(t, w.hold); return time.Now() })
		p.expectFree(t)
	},
	"is waited for until a context ends": func(t *testing.T, p *setting) {
		why := errors.New("the customer left")
		cut := func(state, not error) {
			t.Helper()
			for _, after := range []time.Duration{300 * time.Millisecond, 2 * time.Second} {
				ctx, cancel := context.WithTimeoutCause(t.Context(), after, why)
				defer cancel()
				start := time.Now()
				_, err := p.other.wait(ctx)
				check.Equal(t, time.Since(start), after, "the wait ended after")
				expect(t, "the wait", err, context.DeadlineExceeded, why, state)
				expectNot(t, "the wait", err, not)
			}
		}
		hold := p.take(t)
		cut(redlock.ErrTaken, redlock.ErrNoQuorum)
		unlock(t, hold)
		p.expectFree(t)
		p.away((*redlocktest.Master).Cut)
		cut(redlock.ErrNoQuorum, redlock.ErrTaken)
		p.away((*redlocktest.Master).Mend)
		rest(settle)
		p.expectFree(t)
	},
	"is not asked for under a context that has ended": func(t *testing.T, p *setting) {
		why := errors.New("the customer left")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		before := scripts(p.fleets...)
		for call, err := range map[string]error{
			"take": second(p.one.take(ctx)), "try": second(p.one.try(ctx)),
			"takeFor": second(p.one.takeFor(ctx, time.Second)), "tryFor": second(p.one.tryFor(ctx, time.Second)),
			"do": p.one.do(ctx, func(context.Context) error { t.Error("fn was called"); return nil }),
		} {
			expect(t, call, err, context.Canceled, why)
		}
		synctest.Wait()
		check.Equal(t, scripts(p.fleets...)-before, 0, "scripts that the masters ran")
	},
	"is refused a lease that is too short or too long": func(t *testing.T, p *setting) {
		for _, d := range []time.Duration{-time.Second, 0, 2 * time.Millisecond, longest + time.Millisecond} {
			expectOwn(t, fmt.Sprintf("takeFor(%v)", d), second(p.one.takeFor(t.Context(), d)))
			expectOwn(t, fmt.Sprintf("tryFor(%v)", d), second(p.one.tryFor(t.Context(), d)))
		}
	},
	"ends with a fixed lease": func(t *testing.T, p *setting) {
		const fixed = 10 * time.Second
		for call, take := range map[string]func(context.Context, time.Duration) (*redlock.Hold, error){"takeFor": p.one.takeFor, "tryFor": p.one.tryFor} {
			start := time.Now()
			hold, err := take(t.Context(), fixed+999*time.Microsecond) // rounded down
			expect(t, call, err)
			expectEnd(t, hold, start, fixed-fixed/100-2*time.Millisecond, redlock.ErrLost)
			expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrLost)
			p.expectFree(t)
		}
		expectQuiet(t, p.fleets...)
	},
	"is renewed": func(t *testing.T, p *setting) {
		hold := p.take(t)
		before := scripts(p.fleets...)
		time.Sleep(10*lease + time.Second)
		expectAlive(t, hold)
		check.Equal(t, hold.Remaining(), validity-time.Second, "Remaining, a second after a renewal")
		check.Equal(t, scripts(p.fleets...)-before, int64(30*3*len(p.fleets)), "script calls in ten leases, one for each third of a lease and master")
		unlock(t, hold)
		p.expectFree(t)
		expectQuiet(t, p.fleets...)
	},
	"ends with its validity": func(t *testing.T, p *setting) {
		hold := p.take(t)
		p.each(2, 3, (*redlocktest.Master).Kill)
		time.Sleep(3*lease + time.Second) // a minority is enough to lose nothing
		expectAlive(t, hold)
		p.away((*redlocktest.Master).Kill)
		start, left := time.Now(), hold.Remaining()
		expectEnd(t, hold, start, left, redlock.ErrLost)
		expect(t, "Cause", context.Cause(hold.Context()), redlock.ErrNoQuorum)
		check.That(t, hold.Remaining() == 0 && hold.Count() == 0, "Remaining, Count = %v, %d, want none", hold.Remaining(), hold.Count())
		expect(t, "Extend", hold.Extend(t.Context(), lease), redlock.ErrLost)
		expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrLost)
		expect(t, "second Unlock", hold.Unlock(t.Context()), redlock.ErrNotHeld)
	},
	"is freed by force": func(t *testing.T, p *setting) {
		start := time.Now()
		hold := p.take(t)
		for _, want := range []bool{true, false} {
			check.Equal(t, must(p.other.force(t.Context()))(t, "force"), want, "force")
			p.expectFree(t)
		}
		next := p.taken(t)
		expectEnd(t, hold, start, renewEvery, redlock.ErrLost)
		expectNot(t, "Cause", context.Cause(hold.Context()), redlock.ErrNoQuorum)
		expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrLost)
		expectAlive(t, next)
		unlock(t, next)
		p.expectFree(t)
		p.away((*redlocktest.Master).Kill)
		expect(t, "force in an outage", second(p.other.force(t.Context())), redlock.ErrNoQuorum)
	},
	"is unlocked once": func(t *testing.T, p *setting) {
		hold := p.take(t)
		unlock(t, hold)
		over(hold.Context())
		expect(t, "Err", hold.Context().Err(), context.Canceled)
		expect(t, "Cause", context.Cause(hold.Context()), redlock.ErrNotHeld)
		expectNot(t, "Cause", context.Cause(hold.Context()), redlock.ErrLost)
		next := p.taken(t)
		before := scripts(p.fleets...)
		expect(t, "second Unlock", hold.Unlock(t.Context()), redlock.ErrNotHeld)
		expect(t, "Extend after Unlock", hold.Extend(t.Context(), lease), redlock.ErrNotHeld)
		synctest.Wait()
		check.Equal(t, scripts(p.fleets...)-before, 0, "scripts that the masters ran for what is not held")
		expectAlive(t, next)
		unlock(t, next)
		p.expectFree(t)
	},
	"is unlocked under any context": func(t *testing.T, p *setting) {
		ctx, cancel := context.WithCancel(t.Context())
		hold := got(t, "take", p.one.take, ctx)
		expect(t, "Unlock under its own context", hold.Unlock(hold.Context()))
		p.expectFree(t)
		hold = got(t, "take", p.one.take, ctx)
		p.each(0, 3, func(m *redlocktest.Master) { m.Delay(10 * time.Millisecond) })
		cancel()
		expectAlive(t, hold) // ctx was for the wait
		start := time.Now()
		err := hold.Unlock(ctx)
		expect(t, "Unlock under a context that has ended", err, context.Canceled, redlock.ErrNotAwaited)
		expectNot(t, "Unlock under a context that has ended", err, redlock.ErrNoQuorum, redlock.ErrLost)
		check.Equal(t, time.Since(start), 0, "Unlock waited")
		time.Sleep(100 * time.Millisecond)
		p.expectFree(t)
		hold = p.take(t)
		p.each(0, 3, (*redlocktest.Master).Freeze)
		own := within(t, hold.Context(), 15*time.Millisecond)
		start = time.Now()
		expect(t, "Unlock under its own context with a deadline", hold.Unlock(own), context.DeadlineExceeded, redlock.ErrNotAwaited)
		check.Equal(t, time.Since(start), 15*time.Millisecond, "Unlock with 15 ms to its deadline took")
		p.each(0, 3, (*redlocktest.Master).Thaw)
		time.Sleep(time.Second)
		p.expectFree(t)
	},
	"is unlocked in an outage": func(t *testing.T, p *setting) {
		hold := p.take(t)
		p.away((*redlocktest.Master).Freeze)
		start := time.Now()
		go func() {
			synctest.Wait()
			expect(t, "Cause before the masters know", context.Cause(hold.Context()), redlock.ErrNotHeld)
		}()
		err := hold.Unlock(t.Context())
		check.AtMost(t, time.Since(start), nodeTimeout, "Unlock took")
		expect(t, "Unlock", err, redlock.ErrNoQuorum)
		expectNot(t, "Unlock", err, redlock.ErrLost, redlock.ErrTaken)
		time.Sleep(5 * time.Second)
		p.away((*redlocktest.Master).Thaw)
		rest(settle)
		p.expectFree(t)
	},
	"tells": func(t *testing.T, p *setting) {
		type key struct{}
		ctx := within(t, context.WithValue(t.Context(), key{}, "v"), time.Second)
		hold := got(t, "take", p.one.take, ctx)
		check.Equal[any](t, hold.Context().Value(key{}), "v", "Value of the caller's context")
		_, ok := hold.Context().Deadline()
		check.That(t, !ok, "its context has the deadline of the wait")
		if hold.Name() != "a" || hold.Count() != 1 || hold.Shared() != (p.one.kind == "reader") || hold.Slot() != 0 {
			t.Errorf("Name, Count, Shared, Slot = %q, %d, %v, %d", hold.Name(), hold.Count(), hold.Shared(), hold.Slot())
		}
		check.Equal(t, hold.Remaining(), validity, "Remaining")
		token := hold.Token()
		if got := redlock.Token(hold.Context()); token <= 0 || got != token {
			t.Errorf("Token = %d, and in its context %d, want a positive number", token, got)
		}
		if uuid, number, ok := strings.Cut(hold.Owner(), ":"); len(uuid) != 36 || number == "" || !ok {
			t.Errorf("Owner = %q, want uuid:number", hold.Owner())
		}
		time.Sleep(2 * time.Second)
		if got := hold.Remaining(); got != validity-2*time.Second || time.Until(hold.Until()) != got {
			t.Errorf("Remaining = %v after 2s, and Until is in %v, want %v", got, time.Until(hold.Until()), validity-2*time.Second)
		}
		expectAlive(t, hold)
		unlock(t, hold)
		end := time.Now()
		time.Sleep(time.Second)
		if hold.Remaining() != 0 || hold.Count() != 0 || !hold.Until().Equal(end) {
			t.Errorf("Remaining, Count, Until = %v, %d, %v after Unlock at %v", hold.Remaining(), hold.Count(), hold.Until(), end)
		}
		check.That(t, hold.Name() == "a" && hold.Token() == token && hold.Owner() != "", "Name, Token or Owner are gone after Unlock")
	},
	"has a token above those before": func(t *testing.T, p *setting) {
		last, owners := int64(0), map[string]bool{}
		for i := range 20 { // at one instant, so the clock does not help
			hold := got(t, "take", []face{p.one, p.other}[i%2].take, t.Context())
			if hold.Token() < last || hold.Token() == last && p.one.kind != "reader" {
				t.Errorf("Token = %d after %d", hold.Token(), last)
			}
			check.That(t, !owners[hold.Owner()], "Owner = %q for the second time", hold.Owner())
			last, owners[hold.Owner()] = hold.Token(), true
			unlock(t, hold)
			synctest.Wait()
		}
		check.AtLeast(t, got(t, "a writer", p.other.wait, t.Context()).Token(), last+1, "the token of what is held alone")
	},
	"is extended": func(t *testing.T, p *setting) {
		long := longest - longest/100 - 2*time.Millisecond // its validity
		hold := p.take(t)
		time.Sleep(time.Second)
		left := func(call string, want time.Duration) {
			t.Helper()
			check.Equal(t, hold.Remaining(), want, "Remaining after %s", call)
		}
		expect(t, "Extend by less", hold.Extend(t.Context(), 5*time.Second))
		left("Extend by less", validity-time.Second)
		for _, d := range []time.Duration{0, 2 * time.Millisecond, longest + time.Millisecond} {
			expectOwn(t, fmt.Sprintf("Extend(%v)", d), hold.Extend(t.Context(), d))
		}
		left("Extend that was refused", validity-time.Second)
		expect(t, "Extend", hold.Extend(t.Context(), longest))
		left("Extend", long)
		time.Sleep(25 * time.Second) // renewals take nothing from it
		left("renewals", long-25*time.Second)
		start := time.Now()
		p.away((*redlocktest.Master).Freeze)
		ctx := within(t, t.Context(), 100*time.Millisecond)
		expect(t, "Extend under a deadline", hold.Extend(ctx, longest), context.DeadlineExceeded)
		err := hold.Extend(t.Context(), longest)
		expect(t, "Extend in an outage", err, redlock.ErrNoQuorum)
		expectNot(t, "Extend in an outage", err, redlock.ErrLost, redlock.ErrTaken)
		expectEnd(t, hold, start, long-25*time.Second, redlock.ErrLost)
	},
	"is held by Do": func(t *testing.T, p *setting) {
		oops := errors.New("oops")
		expect(t, "Do", p.one.do(t.Context(), func(ctx context.Context) error {
			expect(t, "a try beside it", second(p.other.beside(t.Context())), redlock.ErrTaken)
			check.That(t, redlock.Token(ctx) != 0, "no Token in Do")
			return nil
		}))
		p.expectFree(t)
		check.Equal(t, p.one.do(t.Context(), func(context.Context) error { return oops }), oops, "Do, whose error is that of fn itself")
		func() {
			defer func() {
				check.Equal[any](t, recover(), oops, "recover")
			}()
			_ = p.one.do(t.Context(), func(context.Context) error { panic(oops) })
		}()
		p.expectFree(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(oops) })
		start := time.Now()
		err := p.one.do(ctx, func(ctx context.Context) error {
			select {
			case <-ctx.Done():
			case <-time.After(time.Hour):
			}
			return context.Cause(ctx)
		})
		took := time.Since(start)
		check.That(t, err == oops && took == time.Minute, "Do = %v after %v, want %v after a minute", err, took, oops)
		p.expectFree(t)
	},
	"is lost in Do": func(t *testing.T, p *setting) {
		oops := errors.New("oops")
		lose := func(then func(context.Context) error) error {
			return p.one.do(t.Context(), func(ctx context.Context) error {
				synctest.Wait()
				expect(t, "force", second(p.other.force(t.Context())))
				return then(ctx)
			})
		}
		expect(t, "Do whose fn does not notice", lose(func(context.Context) error { return nil }), redlock.ErrLost)
		expect(t, "Do whose fn fails", lose(func(ctx context.Context) error {
			<-ctx.Done()
			expect(t, "Cause", context.Cause(ctx), redlock.ErrLost)
			return oops
		}), redlock.ErrLost, oops)
		err := lose(func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if expect(t, "Do", err, redlock.ErrLost); len(p.fleets) == 1 && strings.Count(err.Error(), "hold lost") != 1 {
			t.Errorf("Do = %v, want the loss once", err)
		}
		err = p.one.do(t.Context(), func(ctx context.Context) error {
			p.one.Close()
			<-ctx.Done()
			return oops
		})
		expect(t, "Do of a client that is closed", err, redlock.ErrClosed, oops)
		p.expectFree(t)
	},
	"is given back by Close": func(t *testing.T, p *setting) {
		hold := p.take(t)
		w := waitFor(t, p.one.wait)
		next := waitFor(t, p.other.wait)
		rest(time.Second)
		start := time.Now()
		expect(t, "Close", p.one.Close())
		check.Equal(t, time.Since(start), 0, "Close took")
		synctest.Wait()
		expect(t, "the wait of a caller of the client", w.err, redlock.ErrClosed)
		expect(t, "Cause", context.Cause(hold.Context()), redlock.ErrClosed)
		expectNot(t, "Cause", context.Cause(hold.Context()), redlock.ErrLost)
		expect(t, "Extend", hold.Extend(t.Context(), lease), redlock.ErrClosed)
		expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrClosed)
		expect(t, "second Unlock", hold.Unlock(t.Context()), redlock.ErrNotHeld)
		rest(80 * time.Millisecond)
		expectHolds(t, "after Close", []*waiting{next}, 0)
		unlock(t, next.hold)
		for call, err := range map[string]error{
			"take": second(p.one.take(t.Context())), "try": second(p.one.try(t.Context())),
			"takeFor": second(p.one.takeFor(t.Context(), lease)), "tryFor": second(p.one.tryFor(t.Context(), lease)),
			"do":    p.one.do(t.Context(), func(context.Context) error { return nil }),
			"force": second(p.one.force(t.Context())), "second Close": errors.Join(p.one.Close(), redlock.ErrClosed),
		} {
			expect(t, call, err, redlock.ErrClosed)
			expectNot(t, call, err, redlock.ErrTaken, redlock.ErrNoQuorum)
		}
		p.expectFree(t)
		expectQuiet(t, p.fleets...)
	},
	"is entered again": func(t *testing.T, p *setting) {
		ctx := redlock.WithOwner(t.Context())
		outer := got(t, "take", p.one.take, ctx)
		if p.one.kind == "permit" {
			for _, ctx := range []context.Context{ctx, outer.Context()} {
				expect(t, "a try under a permit", second(p.one.try(ctx)), redlock.ErrTaken)
			}
			return
		}
		again := func(what string, enter func() (*redlock.Hold, error)) *redlock.Hold {
			t.Helper()
			inner, err := enter()
			check.OK(t, err, "%s", what)
			synctest.Wait()
			if inner.Owner() != outer.Owner() || inner.Token() != outer.Token() || outer.Count() != 2 || outer.Remaining() != validity || inner.Shared() != outer.Shared() {
				t.Errorf("%s: owner %s, token %d, count %d, validity %v; want %s, %d, 2, %v", what,
					inner.Owner(), inner.Token(), outer.Count(), outer.Remaining(), outer.Owner(), outer.Token(), validity)
			}
			return inner
		}
		for what, enter := range map[string]func() (*redlock.Hold, error){
			"take":               func() (*redlock.Hold, error) { return p.one.take(ctx) },
			"try in its hold":    func() (*redlock.Hold, error) { return p.one.try(outer.Context()) },
			"takeFor":            func() (*redlock.Hold, error) { return p.one.takeFor(outer.Context(), 5*time.Second) },
			"tryFor":             func() (*redlock.Hold, error) { return p.one.tryFor(ctx, 5*time.Second) },
			"a reader in either": func() (*redlock.Hold, error) { return p.one.Lock(outer.Context(), p.one.name, redlock.Shared()) },
		} {
			unlock(t, again(what, enter))
			check.Equal(t, outer.Count(), 1, "Count after Unlock")
			expectAlive(t, outer)
		}
		inner := again("take", func() (*redlock.Hold, error) { return p.one.take(ctx) })
		unlock(t, outer)
		expect(t, "second Unlock", outer.Unlock(t.Context()), redlock.ErrNotHeld)
		time.Sleep(time.Minute)
		expectAlive(t, inner)
		expect(t, "a try beside the inner hold", second(p.other.beside(t.Context())), redlock.ErrTaken)
		unlock(t, inner)
		p.expectFree(t)
		expectQuiet(t, p.fleets...)
	},
	"becomes a reader's": func(t *testing.T, p *setting) {
		hold := p.take(t)
		if p.one.kind == "permit" {
			expectOwn(t, "Downgrade of a permit", hold.Downgrade(t.Context()))
			return
		}
		token := hold.Token()
		inner := got(t, "Enter", hold.Enter, t.Context())
		r := []*waiting{locking(t, p.other.Client, p.other.name, redlock.Shared())}
		rest(1037 * time.Millisecond)
		if p.one.kind == "lock" {
			expectHolds(t, "beside a writer", r)
		}
		for range 2 {
			expect(t, "Downgrade", hold.Downgrade(t.Context()))
			for _, h := range []*redlock.Hold{hold, inner} {
				check.That(t, h.Shared() && h.Token() == token && h.Count() == 2, "Shared, Token, Count = %v, %d, %d, want true, %d and 2", h.Shared(), h.Token(), h.Count(), token)
			}
		}
		rest(10 * time.Millisecond)
		expectHolds(t, "beside a reader", r, 0)
		check.AtLeast(t, r[0].hold.Token(), token, "the token of a reader beside it")
		unlock(t, r[0].hold)
		unlock(t, inner)
		_, err := p.other.beside(t.Context())
		expect(t, "a writer beside it", err, redlock.ErrTaken)
		_, err = p.one.Lock(hold.Context(), p.one.name)
		expect(t, "Lock under it", err, redlock.ErrUpgrade)
		expectNot(t, "Lock under it", err, redlock.ErrTaken, redlock.ErrNoQuorum)
		time.Sleep(time.Minute) // renewed as a reader's
		expectAlive(t, hold)
		unlock(t, hold)
		expect(t, "Downgrade after Unlock", hold.Downgrade(t.Context()), redlock.ErrNotHeld)
		p.expectFree(t)
	},
}

// TestCases: locks, readers and permits do what each case says.
func TestCases(t *testing.T) {
	for kind := range kinds {
		for name, test := range cases {
			t.Run("a "+kind+" "+name, bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
				one, other := open(t, fleet, longLeases), open(t, fleet, longLeases)
				test(t, &setting{[]*redlocktest.Fleet{fleet}, face{one, kind, "a"}, face{other, kind, "a"}})
			}))
		}
	}
}

// TestCasesInTwoSets: so do locks while their names move from one set to another.
func TestCasesInTwoSets(t *testing.T) { inTwoSets(t, "lock") }

// TestCasesInTwoSetsLong: and readers and permits.
func TestCasesInTwoSetsLong(t *testing.T) { inTwoSets(t, "reader", "permit") }

func inTwoSets(t *testing.T, which ...string) {
	for _, kind := range which {
		for name, test := range cases {
			t.Run("a "+kind+" "+name, inSets("a c", func(t *testing.T, f fleets) {
				one, other := f.open(t, longLeases, "a", "c"), f.open(t, longLeases, "c", "a")
				test(t, &setting{[]*redlocktest.Fleet{f["a"], f["c"]}, face{one, kind, "a"}, face{other, kind, "a"}})
			}))
		}
	}
}

var longLeases = redlock.Config{MaxLease: longest}
