package node

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// dead kills m and waits until n knows.
func dead(t *testing.T, m *redlocktest.Master, n *Node) {
	t.Helper()
	m.Kill()
	until(t, 3*time.Second, n.isDown)
}

// owner names the i-th of many owners.
func owner(i int) *script.Owner { return script.NewOwner("k", fmt.Sprint("me:", i)) }

// scriptCalls is how many calls of scripts m has had.
func scriptCalls(m *redlocktest.Master) int64 { return m.Calls("EVAL") + m.Calls("EVALSHA") }

// TestOneDebtForEachOwner: the last release says all.
func TestOneDebtForEachOwner(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		want(t, "acquire", call1(n, script.NewOwner("k", "me:1").Acquire(lease, 1)), script.Done)
		want(t, "acquire", call1(n, script.NewOwner("free", "me:2").Acquire(lease, 1)), script.Done)
		dead(t, m, n)
		for i := range 1000 {
			send(n, script.NewOwner("k", "me:1").Leave(1000-i))
			send(n, script.NewOwner("free", "me:2").Leave(1000-i))
		}
		send(n, script.NewOwner("free", "me:2").Release(1, 0))
		if got := n.debts(); got != 2 {
			t.Errorf("debts: got %d, want 2, one for each owner", got)
		}
		m.RestartWithData()
		until(t, time.Second, n.isUp)
		wantHolder(t, m, "free", "")
		if got := m.Hash("k"); got["me:1"] != "1" {
			t.Errorf("hold count after the last Leave: got %v, want 1", got)
		}
	})
}

// TestLaterDebt: of two releases of an owner the later one is what is owed, whatever became of
// the first meanwhile.
func TestLaterDebt(t *testing.T) {
	for name, then := range map[string]func(*redlocktest.Master){
		"the first is answered":     func(*redlocktest.Master) {},
		"the first is not answered": (*redlocktest.Master).RestartWithData,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				want(t, "acquire", call1(n, owner(1).Acquire(lease, 1)), script.Done)
				dead(t, m, n)
				for i := range 2 * maxBatch {
					send(n, script.NewOwner("x", fmt.Sprint("you:", i)).Release(1, 0))
				}
				send(n, owner(1).Leave(3)) // in the last batch
				m.Delay(5 * time.Millisecond)
				m.RestartWithData()
				connected := func() bool {
					n.mu.Lock()
					defer n.mu.Unlock()
					return n.link != nil && len(n.link.resends) <= maxBatch+1
				}
				until(t, time.Second, connected)
				send(n, owner(1).Leave(2))
				until(t, time.Second, func() bool {
					n.mu.Lock()
					defer n.mu.Unlock()
					return n.link != nil && len(n.link.resends) == 0
				})
				then(m)
				until(t, time.Second, n.isUp)
				time.Sleep(time.Second)
				if got := m.Hash("k")["me:1"]; got != "2" {
					t.Errorf("hold count: got %s, want that of the last Leave, 2", got)
				}
			})
		})
	}
}

// TestRefusedThenAnswered: a release that the master had no time for is not repeated where a
// later one of its owner was carried out.
func TestRefusedThenAnswered(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		var busy atomic.Bool
		cfg.Pool = bend(cfg.Pool, &rules{answer: func(words string) any {
			if strings.HasPrefix(words, "EVALSHA") && busy.CompareAndSwap(true, false) {
				return redis.Error("BUSY Redis is busy running a script")
			}
			return nil
		}})
		n := started(t, cfg)
		want(t, "acquire", call1(n, owner(1).Acquire(lease, 1)), script.Done)
		want(t, "enter", call1(n, owner(1).Enter(lease, 3)), script.Done)
		m.Delay(time.Millisecond)
		busy.Store(true)
		first, second := send(n, owner(1).Leave(2)), send(n, owner(1).Leave(1))
		want(t, "first", first.wait(), script.Failed)
		want(t, "second", second.wait(), script.Done)
		until(t, time.Second, n.isUp)
		time.Sleep(time.Second)
		if got := m.Hash("k")["me:1"]; got != "1" {
			t.Errorf("hold count: got %s, want that of the last Leave, 1", got)
		}
	})
}

// TestDebtsInOrder: they are sent in the order in which they were made.
func TestDebtsInOrder(t *testing.T) {
	n := new(Node)
	var s unackedReleases
	for i := range 100 {
		s.add(n.newCallLocked(owner(i).Release(1, 0), nil, 0))
	}
	s.add(n.newCallLocked(owner(0).Release(1, 0), nil, 0))
	list := s.takeAll()
	for i, d := range list {
		if want := fmt.Sprint("me:", (i+1)%100); d.Owner != want {
			t.Fatalf("debt %d: got that of %s, want %s", i, d.Owner, want)
		}
	}
	if len(list) != 100 || s.len() != 0 {
		t.Errorf("took %d and left %d, want 100 and none", len(list), s.len())
	}
}

// TestDebtsEndWithTheLease: what was released longer ago than the longest lease has expired.
func TestDebtsEndWithTheLease(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		want(t, "acquire", call1(n, owner(0).Acquire(lease, 1)), script.Done)
		dead(t, m, n)
		const pause = 10 * time.Millisecond
		for i := range int(3 * lease / pause) {
			time.Sleep(pause)
			n.Send(owner(i).Release(1, 0), nobody{}, 0)
		}
		// It is looked at from time to time.
		if got, most := n.debts(), int((lease+clock.Drift(lease)+lastRetry*3/2)/pause)+1; got > most {
			t.Errorf("debts after three leases: got %d, want at most %d, those of one", got, most)
		}
		if got, least := n.debts(), int((lease+clock.Drift(lease))/pause)-1; got < least {
			t.Errorf("debts after three leases: got %d, want at least %d, those of one", got, least)
		}
		time.Sleep(2 * lease)
		if got := n.debts(); got != 0 {
			t.Errorf("debts: got %d, want none", got)
		}
		m.Restart()
		until(t, time.Second, n.isUp)
	})
}

// TestHauntedDebts: what was in flight when the connection broke may be carried out at any
// later time, so its owner is released however long that takes.
func TestHauntedDebts(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cmd   *script.Command
		after time.Duration // until the release
	}{
		{"acquire", owner(1).Acquire(lease, 1), 0},
		{"acquire, released late", owner(1).Acquire(lease, 1), 2 * lease},
		{"renew", script.Renew(lease, []script.Renewal{{Owner: owner(1), Count: 1, Token: 1}}), 0},
		{"renew, released late", script.Renew(lease, []script.Renewal{{Owner: owner(1), Count: 1, Token: 1}}), 2 * lease},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				want(t, "another", call1(n, script.NewOwner("another", "me:2").Acquire(lease, 1)), script.Done)
				m.Freeze()
				want(t, "in flight", call1(n, tt.cmd), script.Unknown)
				until(t, 5*time.Second, n.isDown)
				time.Sleep(tt.after)
				send(n, script.NewOwner("another", "me:2").Release(1, 0))
				send(n, owner(1).Release(1, 0))
				time.Sleep(3 * lease)
				if got := n.debts(); got != 1 {
					t.Errorf("debts after three leases: got %d, want only what was in flight", got)
				}
				m.Thaw()
				until(t, 2*time.Second, n.isUp)
				wantHolder(t, m, "k", "")
			})
		})
	}
}

// TestOwedReleaseToEntersNobody: whoever was to enter the queue asks by himself, or has gone
// since.
func TestOwedReleaseToEntersNobody(t *testing.T) {
	for name, fault := range map[string]func(*testing.T, *redlocktest.Master, *Node){
		"never sent":   dead,
		"not answered": func(_ *testing.T, m *redlocktest.Master, _ *Node) { m.Freeze() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				m.HSet("k", "you:1", "1")
				fault(t, m, n)
				send(n, owner(1).ReleaseTo(1, 0, owner(2), script.QueueEntry{Round: 1, Since: 20, Lease: short, Proposal: 1}))
				time.Sleep(3 * time.Second)
				m.Del("k")
				m.HSet("k", "you:2", "1")
				m.RestartWithData()
				until(t, 2*time.Second, n.isUp)
				if waits := m.ZSet("redlock_wait:{k}"); waits != nil {
					t.Errorf("queue: %v, want nobody", waits)
				}
			})
		})
	}
}

// A release that enters the next owner may still be carried out when its connection broke, so what
// that owner is owed then does not expire.
func TestEntrantInFlightIsOwedForLong(t *testing.T) {
	x, y := script.NewOwner("k", id("x:r1")), script.NewOwner("k", id("x:r2"))
	var owed unackedReleases
	owed.noteInFlight([]*call{{cmd: x.ReleaseTo(5, 1, y, script.QueueEntry{Round: 1, Since: 1, Lease: time.Second, Proposal: 6})}})
	owed.add(&call{cmd: y.Release(6, 1), number: 9})
	if !owed.byOwner[y.ID].mayStillRun {
		t.Error("the release of the owner that was to be entered expires")
	}
}

// A release that is owed is repeated when somebody else has the lock by it: he keeps it, and
// nobody is told again.
func TestOwedReleaseSparesTheNextHolder(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n, d := started(t, cfg), new(diary)
		n.Subscribe(client("a"), d, 7)
		want(t, "acquire", call1(n, script.NewOwner("k", id("x:r0")).Acquire(lease, 41)), script.Done)
		want(t, "ask", call1(n, script.NewOwner("k", id("a:r1")).AcquireOrRegister(lease, script.QueueEntry{Round: 1, Since: 10, Lease: lease, Proposal: 1})), script.Refused)
		want(t, "ask", call1(n, script.NewOwner("k", id("a:r2")).AcquireOrRegister(lease, script.QueueEntry{Round: 1, Since: 20, Lease: lease, Proposal: 1})), script.Refused)
		d.read()

		m.Delay(timeout - time.Millisecond) // it arrives, and its answer does not in time
		released := send(n, script.NewOwner("k", id("x:r0")).Release(41, 0))
		want(t, "release", released.wait(), script.Unknown)
		wantHolder(t, m, "k", id("a:r1"))
		m.Delay(0)
		m.RestartWithData()
		calls := m.Calls("EVALSHA") + m.Calls("EVAL")
		until(t, 3*time.Second, func() bool { return n.isUp() && m.Calls("EVALSHA")+m.Calls("EVAL") > calls })
		wantHolder(t, m, "k", id("a:r1"))
		if got := len(m.ZSet("redlock_wait:{k}")); got != 1 {
			t.Errorf("%d wait, want 1", got)
		}
		if got := m.Get("redlock_fence:{k}"); got != "42" {
			t.Errorf("fencing counter: got %s, want 42", got)
		}
	})
}
