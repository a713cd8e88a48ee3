package multilock

import (
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlocktest"
)

// Many clients that wait for one name.

// many begins to wait for k with so many clients, one after the other.
func (fx *fixture) many(t *testing.T, n int) (clients []*Masters, calls []*call) {
	t.Helper()
	for range n {
		m := fx.another(t)
		m.subscribe()
		clients = append(clients, m)
	}
	time.Sleep(time.Second) // subscribed
	for _, m := range clients {
		calls = append(calls, begin(t, m, patient("k")))
		time.Sleep(time.Millisecond)
	}
	return clients, calls
}

// Those near the head ask as often as if they waited alone, the others less often; and all stay in the
// queue, so that they are served in their order, each by the release of the one before.
func TestManyWaiters(t *testing.T) {
	const many, near = 40, 4
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		req := request("k")
		req.Watch = true
		hold := fx.lock(t, req)
		_, calls := fx.many(t, many)
		time.Sleep(5 * time.Second)
		before := fx.Master(0).Calls("EVALSHA")
		time.Sleep(8 * time.Second)
		// All would ask every 0.4 s: 20 times. The farthest ask every 1.6 s.
		most := int64(20*near + 16*(16-near) + 6*(many-16))
		if asks := fx.Master(0).Calls("EVALSHA") - before; asks > most*9/10 || asks < 5*many {
			t.Errorf("%d asks of %d waiters in 8 s, want %d or a little less", asks, many, most)
		}
		for range 7 {
			fx.each(func(m *redlocktest.Master) {
				if waiters := len(m.ZSet("redlock_wait:{k}")); waiters != many {
					t.Fatalf("%d stand in the queue of %s, want %d", waiters, m.Name(), many)
				}
			})
			time.Sleep(731 * time.Millisecond)
		}
		for i, c := range calls {
			c.wantWaiting(t, "before the release of the one before")
			released := time.Now()
			unlock(t, hold)
			hold = c.wantHold(t, "after the release of the one before")
			if took := c.at.Sub(released); took > 0 {
				t.Errorf("waiter %d has the lock after %v, want at once", i, took)
			}
		}
		unlock(t, hold)
	})
}

// A lease that runs out is noticed although those near the head have gone, and not by all at the same
// moment.
func TestManyWaitForALeaseToEnd(t *testing.T) {
	const many, gone = 40, 10
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.seat("x", 10*time.Second, 0, 1, 2)
		end := time.Now().Add(10 * time.Second)
		clients, calls := fx.many(t, many)
		time.Sleep(time.Until(end) - 2*time.Second)
		for _, m := range clients[:gone] {
			m.disconnect()
		}
		time.Sleep(time.Until(end))
		before := fx.Master(0).Calls("EVALSHA")
		for !calls[gone].over() && time.Since(end) < 10*time.Second {
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(end); took > (gone+2)*time.Millisecond {
			t.Errorf("the first that is left has the lock after %v, want %v at most", took, gone*time.Millisecond)
		}
		if asks := fx.Master(0).Calls("EVALSHA") - before; asks > many/2 {
			t.Errorf("%d asks of %d waiters until then", asks, many-gone)
		}
		for _, c := range calls[gone:] {
			unlock(t, c.wantHold(t, "in its turn"))
		}
		for _, c := range calls[:gone] {
			c.cancel()
		}
		synctest.Wait()
	})
}
