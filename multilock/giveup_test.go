package multilock

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// givenUp are the states in which a contest can be given up. Each returns one, of a lock that
// hold has.
var givenUp = []struct {
	name    string
	contest func(fx *fixture, m *Masters, hold *Hold) *contest
}{
	{"idle", func(_ *fixture, m *Masters, _ *Hold) *contest { return newWaiting(m) }},
	{"its round is not sent yet", func(_ *fixture, m *Masters, _ *Hold) *contest {
		c := newWaiting(m)
		c.start()
		return c
	}},
	{"its round is under way", func(_ *fixture, m *Masters, _ *Hold) *contest {
		c := newWaiting(m)
		c.start()
		time.Sleep(time.Millisecond)
		return c
	}},
	{"in the queue", func(_ *fixture, m *Masters, _ *Hold) *contest {
		c := asked(m)
		time.Sleep(10 * time.Millisecond)
		return c
	}},
	{"it has asked again", func(_ *fixture, m *Masters, _ *Hold) *contest {
		c := asked(m)
		time.Sleep(777 * time.Millisecond)
		return c
	}},
	{"with a minority of grants", func(fx *fixture, m *Masters, _ *Hold) *contest {
		fx.Master(2).Del("k")
		c := asked(m)
		time.Sleep(2 * time.Millisecond)
		return c
	}},
	{"after it backed off", func(fx *fixture, m *Masters, _ *Hold) *contest {
		fx.Master(2).Del("k")
		fx.seat("x", 3*time.Second, 1)
		c := asked(m)
		time.Sleep(40 * time.Millisecond)
		return c
	}},
	{"the lock is being handed off", func(fx *fixture, m *Masters, hold *Hold) *contest {
		c := asked(m)
		time.Sleep(300 * time.Millisecond)
		hold.end(nil)
		return c
	}},
	{"a message has come", func(fx *fixture, m *Masters, hold *Hold) *contest {
		c := asked(m)
		time.Sleep(300 * time.Millisecond)
		claim := hold.claim
		claim.At = 1
		fx.m.release(claim, 0)
		time.Sleep(10 * time.Millisecond)
		return c
	}},
	{"it is won, and nobody has looked", func(fx *fixture, m *Masters, hold *Hold) *contest {
		c := asked(m)
		time.Sleep(300 * time.Millisecond)
		hold.end(nil)
		time.Sleep(10 * time.Millisecond)
		return c
	}},
	{"entered by a release", func(_ *fixture, m *Masters, _ *Hold) *contest {
		c := newWaiting(m)
		m.releaseTo(Claim{Owner: script.NewOwner("k", m.owners.make(nil)), Token: 1, At: 3}, c)
		return c
	}},
	{"entered by a release a while ago", func(_ *fixture, m *Masters, _ *Hold) *contest {
		c := newWaiting(m)
		m.releaseTo(Claim{Owner: script.NewOwner("k", m.owners.make(nil)), Token: 1, At: 5}, c)
		time.Sleep(20 * time.Millisecond)
		return c
	}},
}

// A contest that is given up leaves nothing on any master, whatever the masters are up to.
func TestGiveUpLeavesNothing(t *testing.T) {
	for _, fault := range []struct {
		name       string
		hurt, heal func(m *redlocktest.Master)
	}{
		{"all is well", func(*redlocktest.Master) {}, func(*redlocktest.Master) {}},
		{"slow", func(m *redlocktest.Master) { m.Delay(7 * time.Millisecond) }, func(m *redlocktest.Master) { m.Delay(0) }},
		{"frozen", (*redlocktest.Master).Freeze, (*redlocktest.Master).Thaw},
		{"cut off", (*redlocktest.Master).Cut, (*redlocktest.Master).Mend},
		{"killed", (*redlocktest.Master).Kill, (*redlocktest.Master).RestartWithData},
	} {
		for _, state := range givenUp {
			for _, moment := range []string{"before", "at once", "since"} {
				t.Run(fmt.Sprint(fault.name, "/", state.name, "/", moment), func(t *testing.T) {
					inBubble(t, 3, func(t *testing.T, fx *fixture) {
						hold := fx.take(t, fx.m, "k")
						m := fx.another(t)
						m.greet(t.Context())
						hurt := func() {
							fault.hurt(fx.Master(0))
							fault.hurt(fx.Master(2))
						}
						if moment == "before" {
							hurt()
						}
						c := state.contest(fx, m, hold)
						if moment == "at once" {
							hurt()
						}
						c.giveUp(nil)
						if moment == "since" {
							hurt()
						}
						time.Sleep(300 * time.Millisecond)
						fault.heal(fx.Master(0))
						fault.heal(fx.Master(2))
						time.Sleep(1500 * time.Millisecond)
						for i, master := range fx.Masters() {
							if h := master.Holder("k"); m.owners.ours(h) {
								t.Errorf("%s is still held by %s", master.Name(), h)
							}
							if q := fx.queues("k")[i]; q != "" {
								t.Errorf("%s still has in its queue %q", master.Name(), q)
							}
						}
						wantForgotten(t, "then", m)
						hold.end(nil)
					})
				})
			}
		}
	}
}

// The next caller of the client takes its place, in the same script calls.
func TestGiveUpToTheNext(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		m := fx.another(t)
		fx.hold(t, m)
		c := asked(m)
		calls := fx.Master(1).Calls("EVALSHA")
		next := newWaiting(m)
		c.giveUp(next)
		synctest.Wait()
		for i, q := range fx.queues("k") {
			if q != current(next) {
				t.Errorf("queue of m%d = %q, want %q", i+1, q, current(next))
			}
		}
		if got := fx.Master(1).Calls("EVALSHA") - calls; got != 1 {
			t.Errorf("%d script calls, want 1", got)
		}
		next.giveUp(nil)
		synctest.Wait()
		if got := strings.Join(fx.queues("k"), ""); got != "" {
			t.Errorf("queues = %q, want none", got)
		}
		unlock(t, hold)
		fx.wantNothing(t, "then", fx.m, m)
	})
}

// Where nobody can tell what a contest left, since it asked nobody, the next one asks by itself.
func TestGiveUpOfAnIdleContestToTheNext(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		next := newWaiting(fx.m)
		newWaiting(fx.m).giveUp(next)
		fx.m.release(wantWon(t, "a free lock", next).Claim, 0)
		fx.wantNothing(t, "then", fx.m)
	})
}
