package workload

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/history"
)

func TestLost(t *testing.T) {
	tests := map[string]struct {
		before func(f *fixture, hd *held, lose func())
		want   int
	}{
		"it is":                 {func(_ *fixture, _ *held, lose func()) { lose() }, 1},
		"after Unlock it isn't": {func(_ *fixture, hd *held, lose func()) { hd.release(hd.top()); lose() }, 0},
		"once for all handles": {func(_ *fixture, hd *held, lose func()) {
			hd.add(&fakeHold{name: "a", ctx: hd.top().Context(), until: hd.top().Until()})
			lose()
		}, 1},
	}
	for name, test := range tests {
		subtest(t, name, &fake{}, func(t *testing.T, f *fixture) {
			ctx, cancel := context.WithCancelCause(t.Context())
			end := time.Now().Add(time.Second)
			hd := f.grant(&fakeHold{name: "a", ctx: ctx, until: end})
			time.Sleep(time.Second)
			at := f.rec.Now()
			test.before(f, hd, func() { cancel(errLost) })
			f.watchers.Wait()
			lost := f.of(history.Lost)
			if len(lost) != test.want {
				t.Fatalf("%d events lost, want %d:\n%s", len(lost), test.want, &f.out)
			}
			for _, e := range lost {
				if e.At != at || e.Until != at || e.Err != history.NoLock || e.Text != errLost.Error() || e.Hold != hd.number {
					t.Errorf("recorded %+v, want hold %d lost at %v, valid until then, because it was lost", e, hd.number, at)
				}
			}
		})
	}
}

// What an Enter asks the masters for is told of that call, not of the one that got the hold, whose context it is under.
func TestEnterHasANumberOfItsOwn(t *testing.T) {
	bubble(t, &fake{}, func(t *testing.T, f *fixture) {
		h := &fakeHold{name: "a", ctx: context.WithValue(t.Context(), number{}, 1), until: time.Now().Add(time.Second)}
		f.caller(1).enter(f.grant(h))
		calls := f.of(history.Called)
		check.Equal(t, h.entered, calls[len(calls)-1].Call, "the call that entered it")
	})
}

// What an Unlock returns is checked against what the caller knows.
func TestUnlockIsChecked(t *testing.T) {
	tests := map[string]struct {
		ends   bool // its context, with Unlock
		lose   bool // before
		silent bool // the loss is not told
		unlock error
		want   history.Failure
		text   string
	}{
		"right":             {ends: true},
		"an error":          {ends: true, unlock: errLost, want: history.NoLock, text: "lost"},
		"an odd error":      {ends: true, unlock: errOdd, want: history.Unknown, text: "odd"},
		"not its error":     {ends: true, unlock: errTaken, want: history.Unknown, text: "taken"},
		"closed too early":  {ends: true, unlock: errClosed, want: history.Unknown, text: "closed"},
		"no deadline":       {ends: true, unlock: context.DeadlineExceeded, want: history.Unknown, text: "deadline"},
		"valid ever after":  {want: history.Unknown, text: "context has not ended"},
		"lost":              {lose: true, unlock: errLost, want: history.NoLock},
		"lost, and no word": {lose: true, want: history.Unknown, text: "no error"},
		"told in no way":    {silent: true, unlock: errLost, want: history.NoLock},
	}
	for name, test := range tests {
		subtest(t, name, &fake{}, func(t *testing.T, f *fixture) {
			ctx, cancel := context.WithCancelCause(t.Context())
			h := &fakeHold{name: "a", ctx: ctx, until: time.Now().Add(time.Second)}
			if test.silent {
				h.ctx = brokenSignal{ctx}
			}
			hd := f.grant(h)
			if test.lose {
				cancel(errLost)
			}
			before := f.rec.Now()
			_ = hd.giveBack(context.Background(), 0, func(Hold, context.Context) error {
				if test.ends {
					cancel(errNotHeld)
				}
				return test.unlock
			})
			cancel(nil)
			f.watchers.Wait()
			if e := f.last(history.Returned); e.Err != test.want || !strings.Contains(e.Text, test.text) {
				t.Errorf("unlock is recorded as %q, %q, want %q, %q", e.Err, e.Text, test.want, test.text)
			}
			switch told := f.of(history.Lost); {
			case test.lose && (len(told) != 1 || told[0].At != before):
				t.Errorf("events lost: %+v, want one at %v", told, before)
			case test.silent && (len(told) != 1 || told[0].At != before+loss):
				t.Errorf("events lost: %+v, want one at %v, when nobody had been told", told, before+loss)
			case !test.lose && !test.silent && len(told) != 0:
				t.Errorf("events lost: %+v, want none", told)
			}
		})
	}
}

// Using a handle that was given back must fail as documented.
func TestAfterUnlock(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want history.Failure
	}{
		"right": {errNotHeld, history.NotHeld},
		"nil":   {nil, history.Unknown},
		"lost":  {errLost, history.Unknown},
	} {
		for do, act := range map[history.Do]func(Hold, context.Context) error{history.Unlock: Hold.Unlock, history.Extend: Hold.Extend} {
			subtest(t, name+"/"+string(do), &fake{}, func(t *testing.T, f *fixture) {
				again := func() error { return test.err }
				hd := f.grant(&fakeHold{name: "a", until: time.Now().Add(time.Second), unlock: again, extend: again})
				hd.after(do, act)
				if e := f.last(history.Returned); e.Do != do || e.Err != test.want {
					t.Errorf("%s is recorded as %s %q, want %q", do, e.Do, e.Err, test.want)
				}
			})
		}
	}
}

// brokenSignal is the context of a library that says that the hold has ended but wakes nobody up.
type brokenSignal struct{ context.Context }

func (brokenSignal) Err() error { return context.Canceled }

// slowContext is one at which a look takes a second, since the process is stopped just after it.
type slowContext struct{ context.Context }

func (c slowContext) Err() error {
	err := c.Context.Err()
	time.Sleep(time.Second)
	return err
}

// A hold is recorded to be alive at a time from before the look: at any later one it may have ended.
func TestAliveIsFromBeforeTheLook(t *testing.T) {
	bubble(t, &fake{}, func(t *testing.T, f *fixture) {
		ctx, cancel := context.WithCancel(t.Context())
		defer f.watchers.Wait()
		defer cancel()
		hd := f.grant(&fakeHold{name: "a", ctx: slowContext{ctx}, until: time.Now().Add(9 * time.Second)})
		before := f.rec.Now()
		if !hd.alive() {
			t.Fatal("the hold is not alive")
		}
		if e := f.of(history.Alive)[0]; e.At != before || e.Until != before+9*time.Second || e.Hold != hd.number {
			t.Errorf("recorded %+v, want hold %d alive at %v until %v", e, hd.number, before, before+9*time.Second)
		}
	})
}

// slowHold has its process stopped while it is granted and asked until when.
type slowHold struct {
	fakeHold
	asked int
}

func (h *slowHold) Until() time.Time {
	if h.asked++; h.asked == 1 {
		time.Sleep(3 * time.Second)
	}
	return h.until
}

// The grant is recorded with the time of the library's return, and validity never as later than it is,
// nor much earlier.
func TestGrantOfAStoppedProcess(t *testing.T) {
	bubble(t, &fake{}, func(t *testing.T, f *fixture) {
		start := f.rec.Now()
		f.grant(&slowHold{fakeHold: fakeHold{name: "a", until: time.Now().Add(time.Second)}})
		e := f.one(history.Granted)
		check.That(t, e.At == start && e.Until == start+time.Second, "granted at %v until %v, want %v and %v", e.At, e.Until, start, start+time.Second)
	})
}

// locking is a library whose locks nobody else wants.
func locking(hold func(name string) Hold) *fake {
	return &fake{lock: func(_ context.Context, name string) (Hold, error) { return hold(name), nil }}
}

// valid returns a hold that outlasts most tests.
func valid(name string) Hold { return &fakeHold{name: name, until: time.Now().Add(10 * time.Second)} }

// While a caller has a hold, it looks every 50 ms whether that is valid, before it unlocks, and never says
// that it is when it is not.
func TestLooksOften(t *testing.T) {
	const left = 690 * time.Millisecond // watchers look each 50 ms
	brief := locking(func(name string) Hold { return &fakeHold{name: name, until: time.Now().Add(left)} })
	bubble(t, brief, func(t *testing.T, f *fixture) {
		c := f.caller(2)
		var granted, last history.Event
		long := 0
		for range 150 {
			c.visit(t.Context())
		}
		for _, e := range f.all() {
			switch {
			case e.What == history.Granted:
				granted, last = e, e
			case e.What == history.Alive && e.At >= granted.At+left:
				t.Fatalf("alive at %v, though it ended at %v", e.At, granted.At+left)
			case e.What == history.Alive || e.What == history.Called && e.Do == history.Unlock && e.At-last.At < time.Second:
				check.That(t, e.At-last.At <= look, "%s at %v, %v after the last look", e.What, e.At, e.At-last.At)
				if e.At-granted.At > left-look {
					long++
				}
				last = e
			}
		}
		if long == 0 {
			t.Error("no hold lasted to its end: nothing was shown")
		}
	})
}

// Several holds that are unlocked in one call have a call each in the history, with what it says of each.
func TestLeaveAll(t *testing.T) {
	unlocks := 0
	var all []Hold
	g := locking(func(name string) Hold {
		all = append(all, valid(name))
		return all[len(all)-1]
	})
	g.unlockAll = func() error {
		unlocks++
		for _, h := range all {
			_ = h.Unlock(t.Context())
		}
		return errors.Join(errors.New(`unlock "a": odd`), nil)
	}
	bubble(t, g, func(t *testing.T, f *fixture) {
		c := f.caller(1)
		holds, unlockAll, _ := c.take(t.Context(), history.LockAll)
		c.leaveAll(holds, unlockAll)
		if len(holds) < 2 || unlocks != 1 {
			t.Fatalf("%d holds were unlocked by %d calls, want several by 1", len(holds), unlocks)
		}
		failed := map[string]bool{}
		for _, call := range f.of(history.Called) {
			for _, e := range f.of(history.Returned) {
				if call.Call == e.Call && call.Do == history.Unlock {
					failed[call.Names[0]] = e.Err != ""
				}
			}
		}
		if len(failed) != len(holds) || slices.ContainsFunc(holds, func(hd *held) bool { return failed[hd.name] != (hd.name == "a") }) {
			t.Errorf("failed are %v of %d holds, want only a", failed, len(holds))
		}
	})
}
