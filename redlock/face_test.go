package redlock_test

import (
	"context"
	"errors"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktest"
	"example.com/redlock/redlocktrace"
)

// TestFaceIsSmall: what a reader of go doc has to learn does not grow unnoticed.
func TestFaceIsSmall(t *testing.T) {
	names, err := filepath.Glob("*.go")
	check.OK(t, err)
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		check.OK(t, err)
		files = append(files, file)
	}
	pkg, err := doc.NewFromFiles(fset, files, "example.com/redlock/redlock")
	check.OK(t, err)
	functions := len(pkg.Funcs)
	for _, one := range pkg.Types {
		functions += len(one.Funcs) + len(one.Methods)
		check.That(t, one.Doc != "", "type %s has no comment", one.Name)
	}
	if functions > 45 || functions < 30 || len(pkg.Types) > 18 {
		t.Errorf("%d exported functions and methods, %d types; want at most 45 and 18 (below 30, this test counts in the wrong way)", functions, len(pkg.Types))
	}
}

// The methods of a zero value return an error that says what it is.
func TestZeroValues(t *testing.T) {
	var c redlock.Client
	ctx := t.Context()
	nothing := func(context.Context) error { return nil }
	for call, err := range map[string]error{
		"Lock": second(c.Lock(ctx, "a")), "TryLock": second(c.TryLock(ctx, "a")), "LockAll": second(c.LockAll(ctx, []string{"a"})),
		"TryLockAll": second(c.TryLockAll(ctx, []string{"a"})), "Do": c.Do(ctx, "a", nothing), "Lead": c.Lead(ctx, "a", nothing),
		"Ready": c.Ready(ctx), "Close": c.Close(), "Inspect": second(redlockadmin.Of(&c).Inspect(ctx, "a")),
		"Clients": second(redlockadmin.Of(&c).Clients(ctx)), "ForceUnlock": second(redlockadmin.Of(&c).ForceUnlock(ctx, "a")),
	} {
		check.Says(t, err, "the Client was not made by New", "%s of a zero Client", call)
	}
	var h redlock.Hold
	for call, err := range map[string]error{
		"Unlock": h.Unlock(ctx), "Extend": h.Extend(ctx, time.Second), "Downgrade": h.Downgrade(ctx), "Enter": second(h.Enter(ctx)),
		"Context": context.Cause(h.Context()),
	} {
		check.Says(t, err, "the Hold was not returned by Lock", "%s of a zero Hold", call)
	}
	check.That(t, h.Token() == 0 && h.Count() == 0 && h.Remaining() == 0 && h.Name() == "" && h.Until().IsZero() && !h.Shared() && h.Slot() == 0, "a zero Hold says that it holds something")
	var holds redlock.Holds
	check.Says(t, holds.Unlock(ctx), "the Hold was not returned by Lock", "Unlock of zero Holds")
	check.Says(t, context.Cause(holds.Context()), "the Hold was not returned by Lock", "Context of zero Holds")
	check.That(t, len(holds.Names()) == 0 && holds.Hold("a") == nil && holds.Remaining() == 0, "zero Holds say that they hold something")
}

// Errors in events, causes and results are those of package redlock, and Unlock returns the cause itself.
func TestErrorsAreOfThisPackage(t *testing.T) {
	masters(3, func(t *testing.T, fleet *redlocktest.Fleet) {
		var ended, done error
		c := open(t, fleet, redlock.Config{Trace: &redlocktrace.Trace{
			HoldEnded: func(e redlocktrace.HoldEnded) { ended = e.Err },
			CallDone:  func(e redlocktrace.CallDone) { done = e.Err },
		}})
		hold := lock(t, t.Context(), c, "a")
		seize(fleet, 0, 3)
		over(hold.Context())
		cause := context.Cause(hold.Context())
		if err := hold.Unlock(t.Context()); !errors.Is(cause, err) {
			t.Errorf("Unlock = %v, want the cause %v", err, cause)
		}
		_, err := c.TryLock(t.Context(), "a")
		synctest.Wait()
		for what, err := range map[string]error{"the cause": cause, "HoldEnded": ended, "CallDone": done, "TryLock": err} {
			why, ok := errors.AsType[*redlock.MajorityError](err)
			check.That(t, ok && why.Name == "a" && why.Of == 3 && why.Need == 2 && why.Client == nil && why.Error() != "", "%s is %#v, want a MajorityError of a", what, err)
		}
		if why, _ := errors.AsType[*redlock.MajorityError](err); why == nil || why.Holder != another || why.FreeAfter <= 0 || why.Split || why.Hopeless {
			t.Errorf("TryLock = %+v, want it taken by %s", why, another)
		}
		if why := new(redlock.MajorityError); why.Error() == "" || why.Unwrap() != nil {
			t.Errorf("a zero MajorityError says %q and wraps %v", why, why.Unwrap())
		}
	})(t)
}

// A conflict is a ConflictError of package redlock in results, in events, and of one of several sets. Its text follows
// from its fields.
func TestConflictsAreOfThisPackage(t *testing.T) {
	masters(3, func(t *testing.T, fleet *redlocktest.Fleet) {
		var event, done error
		first := open(t, fleet, redlock.Config{Name: "first", MaxLease: lease, RestartGuard: lease})
		use(t, first, "a")
		c := open(t, fleet, redlock.Config{Name: "second", MaxLease: 5 * time.Minute, RestartGuard: 5 * time.Minute, Trace: &redlocktrace.Trace{
			SetsOverlap: func(e redlocktrace.SetsOverlap) { event = e.Err },
			CallDone:    func(e redlocktrace.CallDone) { done = e.Err },
		}})
		_, err := c.TryLock(t.Context(), "a")
		synctest.Wait()
		sets := newSets(t, redlock.SetsConfig{Sets: map[string]redlock.Config{
			"east": {Name: "third", Pools: fleet.Pools(), MaxLease: 5 * time.Minute, RestartGuard: 5 * time.Minute},
		}})
		for what, err := range map[string]error{
			"TryLock": err, "SetsOverlap": event, "CallDone": done, "Ready": c.Ready(t.Context()), "Conflict": redlockadmin.Of(c).Conflict(),
			"TryLock in a set": second(sets.TryLock(t.Context(), "a")), "Ready of the sets": sets.Ready(t.Context()),
		} {
			why, ok := errors.AsType[*redlock.ConflictError](err)
			if !ok || why.Reason != redlock.ErrShortGuard || !why.Refused || why.Client == nil || why.Client.Name != "first" || why.Master == "" {
				t.Errorf("%s = %#v, want a ConflictError with the first client", what, err)
				continue
			}
			if _, conflict := why.Own.Compare(why.Other); why.Own.Lease != 5*time.Minute || why.Other.Guard != lease || conflict != why.Reason {
				t.Errorf("%s has %+v and %+v, want leases of 5m and a guard of %v", what, why.Own, why.Other, lease)
			}
			text := (&redlock.ConflictError{Reason: why.Reason, Own: why.Own, Other: why.Other, Client: why.Client, Master: why.Master, Refused: true}).Error()
			check.That(t, text == why.Error() && strings.Contains(err.Error(), strings.TrimPrefix(text, "redlock: ")), "%s says %q, and one of the same fields %q", what, err, text)
		}
		if why := new(redlock.ConflictError); why.Error() == "" || why.Unwrap() != nil {
			t.Errorf("a zero ConflictError says %q and wraps %v", why, why.Unwrap())
		}
	})(t)
}
