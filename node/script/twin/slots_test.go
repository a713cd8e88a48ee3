package twin

import "testing"

// everyPermit does each command of a semaphore at least once, and hands off, moves, heals and forces.
func everyPermit(s *Slots, now int64, hears Hears) (last Reply) {
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
	return s.Force(now, hears, -1, 12)
}

func TestEveryPermit(t *testing.T) {
	var s Slots
	want := Reply{Outcome: Done}
	if got := everyPermit(&s, 1000, all); got != want {
		t.Errorf("Force at the end = %+v, want %+v", got, want)
	}
	if want := (Slots{
		Slots: [MaxSlots]Slot{{Counter: 11}, {Counter: 12}, {}, {Counter: 11}},
		Marks: Marks{[MaxForced]Mark{{5, 1400}, {6, 1400}, {7, 31_000}}},
	}); s != want {
		t.Errorf("Slots at the end = %+v, want %+v", s, want)
	}
}

// TestNoAllocationOfPermits: also where the messages go to a closure.
func TestNoAllocationOfPermits(t *testing.T) {
	deaf := Owner(99)
	if got := testing.AllocsPerRun(100, func() {
		var s Slots
		everyPermit(&s, 1000, func(o Owner) bool { return o != deaf })
	}); got != 0 {
		t.Errorf("%v allocations, want none", got)
	}
}
