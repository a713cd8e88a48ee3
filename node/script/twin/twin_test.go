package twin

import (
	"math/rand/v2"
	"testing"

	"example.com/redlock/internal/check"
)

// TestNoAllocation: whatever happens to a lock, also where the messages go to a closure.
func TestNoAllocation(t *testing.T) {
	r, deaf := rand.New(rand.NewPCG(1, 0)), Owner(2)
	hears := func(o Owner) bool { return o != deaf }
	if got := testing.AllocsPerRun(10, func() {
		var l Lock
		for now := int64(1000); now < 100_000; now += r.Int64N(100) {
			owner, next := Owner(1+r.IntN(MaxReaders)), Owner(1+r.IntN(MaxReaders))
			mode, token, lease := Mode(r.IntN(2)), 1+r.Int64N(20), 1+r.Int64N(600)
			e := Entry{Owner: next, Mode: mode, Round: r.Uint32N(2), Since: r.Int64N(9), Lease: lease, Proposal: token}
			switch r.IntN(6) {
			case 0:
				l.Acquire(now, hears, lease*r.Int64N(2), e)
			case 1:
				l.Enter(now, mode, owner, 2, lease)
			case 2:
				l.Raise(now, mode, owner, token)
			case 3:
				l.Renew(now, hears, mode, owner, 1, lease, token, true)
			case 4:
				l.Release(now, hears, mode, owner, token, e)
			case 5:
				l.Force(now, hears, token)
				l.Inspect(now)
			}
		}
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
			check.That(t, recover() != nil, "%s: no panic", what)
		}()
		f()
	}
	var l Lock
	waits := func(owner Owner, since int64) {
		l.Acquire(0, all, 0, Entry{Owner: owner, Round: 1, Since: since, Lease: 400, Proposal: 1})
	}
	for i := range Owner(MaxQueue) {
		waits(i+1, int64(i))
	}
	panics("one more in the queue, and last", func() { waits(99, 99) })
	panics("one more in the queue, and first", func() { waits(99, -1) })

	l = Lock{}
	for i := range Owner(MaxForced + 1) {
		l.Acquire(0, all, 1000, Entry{Owner: i + 1, Proposal: 1})
		if i < MaxForced {
			l.Force(0, all, 1)
		}
	}
	panics("one more forced out", func() { l.Force(0, all, 1) })
}
