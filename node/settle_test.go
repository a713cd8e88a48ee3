package node

import (
	"slices"
	"testing"
	"time"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// TestSettlingIsCutShort: what was owed is still owed where the next connection breaks as well.
func TestSettlingIsCutShort(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		dead(t, m, n)
		const many = 3 * maxBatch
		for i := range many {
			n.Send(owner(i).Release(1, 0), nobody{}, 0)
		}
		m.Delay(5 * time.Millisecond)
		m.RestartWithData()
		until(t, time.Second, func() bool { // the first batch is under way
			n.mu.Lock()
			defer n.mu.Unlock()
			return n.link != nil && n.link.inFlight.len() > 0
		})
		m.Kill()
		time.Sleep(20 * time.Millisecond)
		if got := n.debts(); got != many {
			t.Errorf("debts: got %d, want all %d", got, many)
		}
	})
}

// TestBatchesAreBounded: no more is in flight at once while a master settles what it owes,
// and what waits for it is written in parts.
func TestBatchesAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		dead(t, m, n)
		for i := range 5 * maxBatch {
			n.Send(owner(i).Release(1, 0), nobody{}, 0)
		}
		m.Delay(5 * time.Millisecond)
		m.Restart()
		most := 0
		until(t, 3*time.Second, func() bool {
			n.mu.Lock()
			defer n.mu.Unlock()
			if n.link != nil && n.state != up {
				most = max(most, n.link.inFlight.len())
			}
			return n.state == up
		})
		if most != maxBatch {
			t.Errorf("in flight: got up to %d, want %d", most, maxBatch)
		}
	})
	n := &Node{state: up, wake: make(chan struct{}, 1)}
	for i := range maxBatch + 10 {
		n.queue = append(n.queue, n.newCallLocked(owner(i).Release(1, 0), nil, 0))
	}
	queued := slices.Clone(n.queue)
	l := &link{}
	batch := n.fillBatchLocked(l, nil)
	rest := n.fillBatchLocked(l, nil)
	if len(batch) != maxBatch || len(rest) != 10 || !slices.Equal(append(batch, rest...), queued) {
		t.Errorf("batches of %d and %d calls, want all in order, %d and 10", len(batch), len(rest), maxBatch)
	}
}

// TestUpUnderLoad: a master that returns is up once it has settled what was owed when it
// connected, however much is released meanwhile.
func TestUpUnderLoad(t *testing.T) {
	for _, delay := range []time.Duration{0, 2 * time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond} {
		t.Run(delay.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				dead(t, m, n)
				m.Delay(delay)
				m.Restart()
				i := 0
				until(t, time.Second+8*delay, func() bool {
					i++
					n.Send(owner(i).Release(1, 0), nobody{}, 0)
					return n.isUp()
				})
			})
		})
	}
}

// TestOwedMeanwhile: what became owed while the master settled what was owed before goes out
// before any command that is sent when it is up.
func TestOwedMeanwhile(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		want(t, "acquire", call1(n, owner(1).Acquire(lease, 1)), script.Done)
		want(t, "acquire", call1(n, script.NewOwner("x", "me:2").Acquire(lease, 1)), script.Done)
		dead(t, m, n)
		send(n, script.NewOwner("x", "me:2").Release(1, 0))
		m.Delay(5 * time.Millisecond)
		m.RestartWithData()
		until(t, time.Second, func() bool { // what was owed is under way
			n.mu.Lock()
			defer n.mu.Unlock()
			return n.link != nil && n.link.inFlight.len() > 0
		})
		want(t, "release", call1(n, owner(1).Release(1, 0)), script.Unsent)
		until(t, time.Second, n.isUp)
		want(t, "acquire", call1(n, owner(3).Acquire(lease, 1)), script.Done)
		wantHolder(t, m, "k", "me:3")
	})
}

// A lock that somebody has written another field into is no lock any more. Its owner's field goes all
// the same, and the release says so, whether or not it names the next owner.
func TestReleaseOfWhatBecameNoLock(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		x, y := script.NewOwner("k", id("a:r1")), script.NewOwner("k", id("b:r2"))
		ask := script.QueueEntry{Round: 1, Since: 1, Lease: time.Second, Proposal: 6}
		for name, release := range map[string]*script.Command{"alone": x.Release(5, 0), "to another": x.ReleaseTo(5, 0, y, ask)} {
			m.Del("k")
			want(t, "acquire", call1(n, x.Acquire(lease, 5)), script.Done)
			m.HSet("k", "other", "1")
			want(t, name, call1(n, release), script.Done)
			if got := m.Hash("k"); len(got) != 1 || got["other"] != "1" {
				t.Errorf("%s: left %v, want what is not ours", name, got)
			}
		}
	})
}
