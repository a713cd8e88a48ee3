package multilock

import (
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/node"
)

// renewed locks what must be free, for as long as the test wants.
func renewed(t *testing.T, m *Masters, key string) *Hold {
	t.Helper()
	req := request(key)
	req.Watch = true
	hold, err := m.Lock(t.Context(), req)
	if err != nil {
		t.Fatalf("Lock(%q) = %v, want a hold", key, err)
	}
	return hold
}

// TestActivity: the masters are checked as often as what the client does needs.
func TestActivity(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		m, other := fx.m, fx.another(t)
		check := func(when string, want node.Activity) {
			t.Helper()
			synctest.Wait()
			if got := m.activity(); got != want {
				t.Errorf("%s: activity = %d, want %d", when, got, want)
			}
		}
		check("at first", node.Idle)
		hold := renewed(t, m, "k")
		check("with a hold", node.Holding)
		second := renewed(t, m, "l")
		unlock(t, hold)
		check("with another hold", node.Holding)
		unlock(t, second)
		check("after Unlock", node.Idle)

		theirs := renewed(t, other, "k")
		waits := begin(t, m, patient("k"))
		time.Sleep(time.Minute)
		check("while it waits", node.Waiting)
		waits.cancel()
		check("after it gave up", node.Idle)

		unlock(t, theirs)
		synctest.Wait() // all masters are free: else the next lock waits, until the frozen one counts as down
		fx.Master(0).Freeze()
		hold = renewed(t, m, "k")
		unlock(t, hold)
		check("while a release is owed", node.Waiting)
		fx.Master(0).Thaw()
		time.Sleep(lease)
		check("after it was answered", node.Idle)

		renewed(t, m, "k")
		for i := range 3 {
			fx.Master(i).Cut()
		}
		time.Sleep(2 * lease)
		check("after a hold was lost", node.Idle)
	})
}
