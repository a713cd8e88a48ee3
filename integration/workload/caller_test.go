package workload

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/history"
)

// locking is a library whose locks nobody else wants.
func locking(hold func(name string) Hold) *fake {
	return &fake{lock: func(_ context.Context, name string) (Hold, error) { return hold(name), nil }}
}

// valid returns a hold that outlasts most tests.
func valid(name string) Hold { return &fakeHold{name: name, until: time.Now().Add(10 * time.Second)} }

// While a caller has a hold, it looks every 50 ms whether that is valid, before it unlocks, and never says
// that it is when it is not.
func TestLooksOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const left = 690 * time.Millisecond // watchers look each 50 ms
		f := newFixture(t, locking(func(name string) Hold {
			return &fakeHold{name: name, until: time.Now().Add(left)}
		}))
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
				if e.At-last.At > look {
					t.Errorf("%s at %v, %v after the last look", e.What, e.At, e.At-last.At)
				}
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

// One that enters again is granted another hold if the first had ended, and gives it back.
func TestEnterAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, &fake{})
		h := &fakeHold{name: "a", ctx: t.Context(), until: time.Now().Add(time.Second)}
		h.enter = func() (Hold, bool, error) { return valid("a"), false, nil }
		hd := f.grant(h)
		f.caller(1).enter(hd)
		grants := f.of(history.Granted)
		if len(grants) != 2 || grants[1].Hold == grants[0].Hold || grants[1].Call != 2 {
			t.Errorf("grants are %+v, want two holds, the second by call 2", grants)
		}
		calls := f.of(history.Called)
		if e := calls[len(calls)-1]; e.Do != history.Unlock || e.Hold != grants[1].Hold {
			t.Errorf("the last call is %+v, want an unlock of hold %d", e, grants[1].Hold)
		}
		hd.slot = 1
		if f.caller(1).enter(hd); len(f.of(history.Called)) != len(calls) {
			t.Error("a permit was entered")
		}
		hd.release(hd.top())
		f.watchers.Wait()
	})
}

// A reader's hold that is entered to write is a mistake of the library.
func TestNoUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, &fake{})
		h := &fakeHold{name: readWrite, ctx: t.Context(), until: time.Now().Add(time.Second)}
		h.enter = func() (Hold, bool, error) { return h, true, nil }
		hd := f.grant(h)
		hd.shared = true
		c := f.caller(1)
		for range 20 {
			c.enter(hd)
		}
		for _, one := range hd.handles {
			hd.release(one)
		}
		f.watchers.Wait()
		calls := f.of(history.Called)
		for i, e := range f.of(history.Returned) {
			wrong := e.Do == history.Enter && !calls[i].Shared
			if (e.Err == history.Unknown) != wrong {
				t.Errorf("call %d, %s, shared %v: recorded as %q", e.Call, e.Do, calls[i].Shared, e.Err)
			}
		}
	})
}

// Several holds that are unlocked in one call have a call each in the history, with what it says of each.
func TestLeaveAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
		f := newFixture(t, g)
		c := f.caller(1)
		holds, unlockAll := c.take(t.Context(), history.LockAll)
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
