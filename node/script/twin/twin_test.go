package twin

import "testing"

// all hear everything.
func all(Owner) bool { return true }

// everything does each command at least once, and hands off, heals and forces.
func everything(l *Lock, now int64, hears Hears) (last Reply) {
	l.Acquire(now, hears, Exclusive, 1, 30_000, 5)
	l.Enter(now, Exclusive, 1, 2, 30_000)
	l.AcquireOrRegister(now, hears, 30_000, Entry{Owner: 2, Round: 1, Since: 20, Lease: 400, Proposal: 6})
	l.Register(now, Entry{Owner: 3, Round: 1, Since: 10, Lease: 400, Proposal: 7})
	l.Leave(now, Exclusive, 1, 1)
	l.Raise(now, Exclusive, 1, 9)
	l.Renew(now, hears, Exclusive, 1, 1, 30_000, 9, true)
	l.ReleaseTo(now, hears, Exclusive, 1, 9, Entry{Owner: 4, Round: 1, Since: 30, Lease: 400, Proposal: 7})
	l.Release(now, hears, Exclusive, 3, 10)
	l.Force(now, hears, 11)
	l.YieldTo(now, hears, Exclusive, 4, Entry{Owner: 5, Round: 1, Since: 30, Lease: 400, Proposal: 7})
	l.Yield(now, hears, Exclusive, 2)
	l.Release(now, hears, Exclusive, 5, 12)
	l.Release(now, hears, Exclusive, 4, 12)
	l.Renew(now, hears, Exclusive, 2, 1, 30_000, 11, true)
	return l.Inspect(now)
}

func TestEverything(t *testing.T) {
	var l Lock
	want := Reply{Outcome: Done, Token: 12}
	if got := everything(&l, 1000, all); got != want {
		t.Errorf("Inspect at the end = %+v, want %+v", got, want)
	}
	if want := (Lock{Counter: 12, Marks: Marks{[MaxForced]Mark{{2, 1400}}}}); l != want {
		t.Errorf("Lock at the end = %+v, want %+v", l, want)
	}
}

// TestRoom: what does not fit is not forgotten without a word.
func TestRoom(t *testing.T) {
	panics := func(what string, f func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s: no panic", what)
			}
		}()
		f()
	}
	var l Lock
	for i := range Owner(MaxQueue) {
		l.Register(0, Entry{Owner: i + 1, Round: 1, Since: int64(i), Lease: 400, Proposal: 1})
	}
	panics("one more in the queue, and last", func() {
		l.Register(0, Entry{Owner: 99, Round: 1, Since: 99, Lease: 400, Proposal: 1})
	})
	panics("one more in the queue, and first", func() {
		l.Register(0, Entry{Owner: 99, Round: 1, Since: -1, Lease: 400, Proposal: 1})
	})
	l.Register(0, Entry{Owner: MaxQueue, Round: 2, Since: MaxQueue - 1, Lease: 400, Proposal: 1})

	l = Lock{}
	for i := range Owner(MaxForced) {
		l.Acquire(0, all, Exclusive, i+1, 1000, 1)
		l.Force(0, all, 1)
	}
	for _, owner := range []Owner{99, MaxForced} {
		l.Acquire(0, all, Exclusive, owner, 2000, 1)
		if owner == 99 {
			panics("one more forced out", func() { l.Force(0, all, 1) })
			l.Release(0, all, Exclusive, 99, 1)
		} else {
			l.Force(0, all, 1)
		}
	}
	if got, want := l.Forced[MaxForced-1], (Mark{MaxForced, 2000}); got != want {
		t.Errorf("forced out again: mark is %v, want %v", got, want)
	}
}

// TestForcedInAnyOrder: masters that refuse the same owners are equal.
func TestForcedInAnyOrder(t *testing.T) {
	var locks [2]Lock
	for i, owners := range [][]Owner{{1, 2, 3}, {3, 1, 2}} {
		for _, owner := range owners {
			locks[i].Acquire(0, all, Exclusive, owner, 1000, int64(owner))
			locks[i].Force(0, all, 1)
		}
		locks[i].Counter = 0
	}
	if locks[0] != locks[1] {
		t.Errorf("forced out in another order: %v, want %v", locks[1].Forced, locks[0].Forced)
	}
}

// TestNoAllocation: also where the messages go to a closure.
func TestNoAllocation(t *testing.T) {
	deaf := Owner(99)
	if got := testing.AllocsPerRun(100, func() {
		var l Lock
		everything(&l, 1000, func(o Owner) bool { return o != deaf })
	}); got != 0 {
		t.Errorf("%v allocations, want none", got)
	}
}
