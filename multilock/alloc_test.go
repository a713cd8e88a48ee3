package multilock

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/answered"
	"example.com/redlock/internal/check"
	"example.com/redlock/node"
	"example.com/redlock/redlocktest"
)

// free is an entry that notes nothing, so that it costs nothing.
type free struct{ _ byte }

func (*free) Ended(error)              {}
func (*free) Context() context.Context { return context.Background() }

// lockUnlock takes a lock and gives it back, and rests after each.
func lockUnlock(tb testing.TB, m *Masters, rest func()) {
	e := new(free)
	hold, err := m.Lock(tb.Context(), Request{Key: "orders:42", Lease: 10 * time.Second, Wait: true, Watch: true, Entry: e})
	if err == nil {
		rest()
		err = hold.Unlock(tb.Context(), e)
		rest()
	}
	if err != nil {
		tb.Error(err)
	}
}

// A Lock and an Unlock of a free lock may cost 20 allocations: for the driver and the nodes, and one for the entry.
// Package redlock adds seven for the entry, the Hold, their context, and the clean-up that finds a Hold that was dropped.
//
// All masters answer before the next command.
func TestAllocations(t *testing.T) {
	const most = 20
	synctest.Test(t, func(t *testing.T) { // no time passes, so no heartbeat comes in between
		fleet := redlocktest.Start(t, 5)
		m := connect(fleet, answered.Pools(fleet, answered.Yes), node.Config{})
		defer m.Close()
		synctest.Wait()
		for range 100 {
			lockUnlock(t, m, synctest.Wait)
		}
		synctest.Wait()
		got := math.Inf(1)
		for range 3 { // a garbage collection empties the pools of what is used again
			got = min(got, testing.AllocsPerRun(500, func() { lockUnlock(t, m, synctest.Wait) }))
		}
		check.AtMost(t, got, most, "allocations of a Lock and an Unlock")
	})
}
