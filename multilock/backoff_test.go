package multilock

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlocktest"
)

// A minority of votes is given back: to nobody, or in turn.

// A caller that has votes beside a holder's majority stands in the queue at every moment while it gives
// them back: whenever the holder unlocks, the lock is handed off to it, after a message to the
// masters and one from them, or at most a round trip later, where that crosses what it sends.
func TestNoGapForAHolderToUnlockIn(t *testing.T) {
	const trip = 2 * time.Millisecond
	for after := time.Duration(0); after < 20*time.Millisecond; after += 250 * time.Microsecond {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			inBubble(t, 5, func(t *testing.T, fx *fixture) {
				fx.each(func(m *redlocktest.Master) { m.Delay(trip / 2) })
				m := fx.another(t)
				m.subscribe()
				time.Sleep(30 * time.Second) // it has measured the round trip
				hold := fx.take(t, fx.m, "k")
				for _, m := range fx.Masters()[3:] {
					m.Del("k") // as if its acquire were still on its way there
				}
				c := begin(t, m, patient("k"))
				time.Sleep(after)
				unlocked := time.Now()
				unlock(t, hold)
				for !c.over() && time.Since(unlocked) < time.Second {
					time.Sleep(trip / 8)
				}
				if took := time.Since(unlocked); took > 2*trip+trip/8 {
					t.Errorf("the lock was handed off after %v, want %v at most", took, 2*trip)
				}
				unlock(t, c.wantHold(t, "after Unlock"))
			})
		})
	}
}

// The holder of a majority heals, however many wait, and whoever tries.
func TestHealingAmongWaiters(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		for range 3 {
			m := fx.another(t)
			m.subscribe()
			begin(t, m, patient("k"))
		}
		for i, master := range fx.Masters() {
			master.FlushAll() // as if it had restarted, and its guard were over
			time.Sleep(300 * time.Millisecond)
			begin(t, fx.another(t), patient("k")) // who does not know yet that the lock is taken
			time.Sleep(2 * time.Second)
			if err := hold.Extend(t.Context(), entryOf(hold), lease); err != nil {
				t.Fatalf("Extend = %v", err)
			}
			synctest.Wait()
			if got := master.Holder("k"); got != hold.Owner() {
				t.Fatalf("m%d has %q, want %s again", i+1, got, hold.Owner())
			}
		}
		unlock(t, hold)
	})
}

// A majority answers no sooner than its slowest master, and nobody waits for the rest.
func TestRoundTripOfAMajority(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, fx *fixture) {
		for i, ms := range []time.Duration{40, 10, 60, 30, 20} {
			fx.Master(i).Delay(ms * time.Millisecond / 2)
		}
		m := fx.another(t)
		time.Sleep(3 * time.Minute) // checks from time to time: the deviation of the first guess has gone
		check := func(when string, want time.Duration) {
			t.Helper()
			if got := m.RoundTrip(); got < want || got > want+want/10 {
				t.Errorf("%s: RoundTrip = %v, want %v and little more", when, got, want)
			}
		}
		check("five masters", 30*time.Millisecond)
		fx.Master(1).Kill()
		time.Sleep(time.Second)
		check("without the fastest", 40*time.Millisecond)
		fx.Master(3).Kill()
		fx.Master(2).Kill()
		time.Sleep(time.Second)
		check("without a majority", 40*time.Millisecond)
		fx.Master(0).Kill()
		fx.Master(4).Kill()
		time.Sleep(time.Second)
		check("without masters", 0)
	})
}
