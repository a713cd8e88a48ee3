package node

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/internal/bent"
	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// TestUnackedReleasesOutliveConnections: those that a connection had no time to write go with the next one.
func TestUnackedReleasesOutliveConnections(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		const releases = 3 * firstWindow
		killAndWait(t, m, n)
		for i := range releases {
			send(n, ownerNumber(i).Release(1, 0))
		}
		linked := func() bool {
			n.mu.Lock()
			defer n.mu.Unlock()
			return n.link != nil && n.link.inFlight.Len() > 0
		}
		m.Delay(time.Second / 4) // the handshake and no release is answered by the time it is killed
		m.Restart()
		waitUntil(t, 5*time.Second, linked)
		m.Kill()
		waitUntil(t, time.Second, func() bool { return !linked() })
		check.Equal(t, n.unackedCount(), releases, "unacknowledged")
		m.Delay(0)
		m.Restart()
		waitUntil(t, time.Second, n.isUp)
		check.Equal(t, n.unackedCount(), 0, "unacknowledged then")
	})
}

// A release that is sent again is no later than before: one that came meanwhile stays the last.
func TestResentReleaseKeepsItsPlace(t *testing.T) {
	n := &Node{state: up, pace: pace{window: maxBatch}}
	n.unacked.add(&call{cmd: ownerNumber(0).Leave(2), number: 1})
	later := call{cmd: ownerNumber(0).Leave(1), number: 2} // which waits
	resent, _ := n.fillBatchLocked(&link{}, nil, nil)
	n.abandonLocked(nil, append(resent, later), script.Answer{Outcome: script.Unknown})
	list := n.unacked.takeAll()
	check.That(t, len(resent) == 1 && len(list) == 1 && list[0].cmd == later.cmd, "%d resent, kept: %+v; want the later one", len(resent), list)
	n.unacked.keep(later)
	n.unacked.keep(call{cmd: resent[0].cmd, number: 1, mayStillRun: true})
	list = n.unacked.takeAll()
	check.That(t, len(list) == 1 && list[0].cmd == later.cmd && list[0].mayStillRun, "kept: %+v; want the later one, before which a command may still run", list)
}

// TestUnackedReleasesEndWithTheLease: what was released longer ago than the longest lease has expired.
func TestUnackedReleasesEndWithTheLease(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		want(t, "acquire", sendAndWait(n, ownerNumber(0).Acquire(lease, 1)), script.Done)
		killAndWait(t, m, n)
		const pause = 10 * time.Millisecond
		for i := range int(3 * lease / pause) {
			time.Sleep(pause)
			send(n, ownerNumber(i).Release(1, 0))
		}
		// It is looked at from time to time.
		kept := lease + clock.Drift(lease)
		check.Between(t, n.unackedCount(), int(kept/pause)-1, int((kept+lastRetry*3/2)/pause)+1, "unacknowledged after three leases")
		time.Sleep(2 * lease)
		check.Equal(t, n.unackedCount(), 0, "unacknowledged")
		m.Restart()
		waitUntil(t, time.Second, n.isUp)
	})
}

// TestReleaseOfWhatMayStillRunIsKept: what was in flight when the connection broke may run at any
// later time, so its owner is released however long that takes.
func TestReleaseOfWhatMayStillRunIsKept(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cmd   *script.Command
		after time.Duration // until the release
	}{
		{"acquire", ownerNumber(1).Acquire(lease, 1), 0},
		{"acquire, released late", ownerNumber(1).Acquire(lease, 1), 2 * lease},
		{"renew", script.Renew(lease, []script.Renewal{{Owner: ownerNumber(1), Count: 1, Token: 1}}), 0},
		{"renew, released late", script.Renew(lease, []script.Renewal{{Owner: ownerNumber(1), Count: 1, Token: 1}}), 2 * lease},
	} {
		subtest(t, tt.name, func(t *testing.T, m *redlocktest.Master, cfg Config) {
			n := started(t, cfg)
			want(t, "another", sendAndWait(n, script.NewOwner("another", "me:2").Acquire(lease, 1)), script.Done)
			m.Freeze()
			want(t, "in flight", sendAndWait(n, tt.cmd), script.Unknown)
			waitUntil(t, 5*time.Second, n.Down)
			time.Sleep(tt.after)
			send(n, script.NewOwner("another", "me:2").Release(1, 0))
			send(n, ownerNumber(1).Release(1, 0))
			time.Sleep(3 * lease)
			check.Equal(t, n.unackedCount(), 1, "unacknowledged after three leases")
			m.Thaw()
			waitUntil(t, 2*time.Second, n.isUp)
			wantHolder(t, m, "k", "")
		})
	}
}

// TestReleaseOfWhatIsInFlightIsKept: so is what is in flight at a master that hangs for longer than the longest lease, and
// answers on the same connection.
func TestReleaseOfWhatIsInFlightIsKept(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		cfg.MaxLease = timeout * 6 / 5
		n := started(t, cfg)
		m.Freeze()
		want(t, "acquire", sendAndWait(n, ownerNumber(1).Acquire(cfg.MaxLease, 1)), script.Unknown)
		send(n, ownerNumber(1).Release(1, 0))
		time.Sleep(hopeless*timeout - timeout - time.Millisecond)
		m.Thaw()
		waitUntil(t, time.Second, n.isUp)
		wantHolder(t, m, "k", "")
	})
}

// A release that enters the next owner may still run after its connection broke, so a release of
// that owner does not expire.
func TestReleaseOfAnEntrantInFlightIsKept(t *testing.T) {
	x, y := script.NewOwner("k", id("x:r1")), script.NewOwner("k", id("x:r2"))
	var owed unackedReleases
	owed.noteInFlight([]call{{cmd: x.Release(5, 1).Entering(y, script.QueueEntry{Round: 1, Since: 1, Lease: time.Second, Proposal: 6})}})
	owed.add(&call{cmd: y.Release(6, 1), number: 9})
	check.Equal(t, owed.byOwner[y.ID].mayStillRun, true, "the release of the owner that was to be entered is kept")
}

// What an earlier release undoes may still run, so the later one that is kept instead does not expire.
func TestALaterReleaseOfWhatMayStillRun(t *testing.T) {
	x := script.NewOwner("k", id("x:r1"))
	var owed unackedReleases
	owed.add(&call{cmd: x.Leave(2), number: 9})
	owed.noteInFlight([]call{{cmd: x.Acquire(lease, 1)}})
	owed.add(&call{cmd: x.Release(1, 0), number: 8})
	got := owed.byOwner[x.ID]
	check.That(t, got.number == 9 && got.mayStillRun, "kept: %+v, want the later one, which may still run", got)
}

// TestUnackedReleasesDoNotPileUp: at a master that answers handshakes and nothing else, only what
// was sent before that was found out is kept, since the master is not up again before it has run
// it. That does not end with the longest lease.
func TestUnackedReleasesDoNotPileUp(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		var hung atomic.Bool
		cfg.MaxLease = 3 * time.Second
		cfg.Pool = bent.Pool(cfg.Pool, &bent.Rules{Drop: func(words string) bool {
			return hung.Load() && strings.HasPrefix(words, "EVAL")
		}})
		n := started(t, cfg)
		hung.Store(true)
		unsent := 0
		for i := range 300 {
			owner := fmt.Sprint("me:", i)
			if got := sendAndWait(n, script.NewOwner("k", owner).Acquire(lease, 1)); got.Outcome == script.Unknown {
				send(n, script.NewOwner("k", owner).Release(1, 0))
			} else {
				unsent++
			}
			time.Sleep(100 * time.Millisecond)
		}
		check.That(t, unsent >= 290, "acquires Unsent: got %d of 300, want nearly all", unsent)
		check.AtMost(t, n.unackedCount(), 5, "unacknowledged")
		hung.Store(false)
		waitUntil(t, 2*time.Second, n.isUp)
		want(t, "acquire", sendAndWait(n, script.NewOwner("k", "me:x").Acquire(lease, 1)), script.Done)
	})
}

// TestBatchesAreBounded: no more is written at once than there is room for, be it sent again or for the first time, and all
// in order.
func TestBatchesAreBounded(t *testing.T) {
	n := &Node{state: up, pace: pace{window: 2 * maxBatch}}
	for i := range 2*maxBatch + 10 {
		c := n.newCallLocked(ownerNumber(i).Release(1, 0), nil)
		if i < maxBatch+10 {
			n.unacked.add(&c)
		} else {
			n.queue.Push(c)
		}
	}
	l, next := new(link), uint64(1)
	for _, want := range []int{maxBatch, maxBatch, 10} {
		batch, _ := n.fillBatchLocked(l, nil, nil)
		check.Equal(t, len(batch), want, "commands in a batch")
		for _, c := range batch {
			check.Equal(t, c.number, next, "the number of a command")
			next++
		}
	}
}
