package twin

import "testing"

// everything does each command at least once, and hands off, heals and forces.
func everything(l *Lock, now int64, hears Hears) {
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
	l.ReleaseTo(now, hears, Exclusive, 4, NoToken, Entry{Owner: 5, Round: 1, Since: 30, Lease: 400, Proposal: 7})
	l.Release(now, hears, Exclusive, 2, NoToken)
	l.Release(now, hears, Exclusive, 5, 12)
	l.Release(now, hears, Exclusive, 4, 12)
	l.Renew(now, hears, Exclusive, 2, 1, 30_000, 11, true)
	l.Inspect(now)
}

// everyPermit does each command of a semaphore at least once, and hands off, moves, heals and forces.
func everyPermit(s *Slots, now int64, hears Hears) {
	e := func(owner Owner, since int64) Entry {
		return Entry{Owner: owner, Round: 1, Since: since, Lease: 400, Proposal: 5, Permits: 2}
	}
	s.Acquire(now, hears, 30_000, e(1, 0))
	s.Acquire(now, hears, 30_000, e(2, 0))
	s.AcquireOrRegister(now, hears, 30_000, e(3, 20))
	s.Register(now, e(4, 10))
	s.Raise(now, 1, 0, 9)
	s.Renew(now, hears, 1, 0, 30_000, 9, true)
	s.ReleaseTo(now, hears, 2, 9, e(5, 30))    // 4 has slot 1
	s.Renew(now, hears, 4, 0, 30_000, 9, true) // 3 has slot 1
	s.GiveWay(now, hears, 3, 9, e(6, 20))      // 5 has slot 1
	s.Release(now, hears, 1, 10)               // 6 has slot 0
	s.Renew(now, hears, 7, 3, 30_000, 11, true)
	s.Force(now, hears, -1, 12)
}

// TestNoAllocation: also where the messages go to a closure.
func TestNoAllocation(t *testing.T) {
	deaf := Owner(99)
	hears := func(o Owner) bool { return o != deaf }
	if got := testing.AllocsPerRun(100, func() {
		var l Lock
		var s Slots
		everything(&l, 1000, hears)
		everyPermit(&s, 1000, hears)
	}); got != 0 {
		t.Errorf("%v allocations, want none", got)
	}
}

// all hear everything.
func all(Owner) bool { return true }

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
	waits := func(owner Owner, since int64) {
		l.Register(0, Entry{Owner: owner, Round: 1, Since: since, Lease: 400, Proposal: 1})
	}
	for i := range Owner(MaxQueue) {
		waits(i+1, int64(i))
	}
	panics("one more in the queue, and last", func() { waits(99, 99) })
	panics("one more in the queue, and first", func() { waits(99, -1) })

	l = Lock{}
	for i := range Owner(MaxForced + 1) {
		l.Acquire(0, all, Exclusive, i+1, 1000, 1)
		if i < MaxForced {
			l.Force(0, all, 1)
		}
	}
	panics("one more forced out", func() { l.Force(0, all, 1) })
}
