package node

import (
	"fmt"
	"testing"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// TestOneUnackedReleaseForEachOwner: the last release says all.
func TestOneUnackedReleaseForEachOwner(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		want(t, "acquire", sendAndWait(n, script.NewOwner("k", "me:1").Acquire(lease, 1)), script.Done)
		want(t, "acquire", sendAndWait(n, script.NewOwner("free", "me:2").Acquire(lease, 1)), script.Done)
		killAndWait(t, m, n)
		for i := range 1000 {
			send(n, script.NewOwner("k", "me:1").Leave(1000-i))
			send(n, script.NewOwner("free", "me:2").Leave(1000-i))
		}
		send(n, script.NewOwner("free", "me:2").Release(1, 0))
		if got := n.unackedCount(); got != 2 {
			t.Errorf("unacknowledged: got %d, want 2, one for each owner", got)
		}
		m.RestartWithData()
		waitUntil(t, time.Second, n.isUp)
		wantHolder(t, m, "free", "")
		if got := m.Hash("k"); got["me:1"] != "1" {
			t.Errorf("hold count after the last Leave: got %v, want 1", got)
		}
	})
}

// TestUnackedReleasesInOrder: they are sent again in the order of their Sends.
func TestUnackedReleasesInOrder(t *testing.T) {
	n := new(Node)
	var s unackedReleases
	for i := range 100 {
		s.add(n.newCallLocked(ownerNumber(i).Release(1, 0), nil, 0))
	}
	s.add(n.newCallLocked(ownerNumber(0).Release(1, 0), nil, 0))
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

// TestUnackedReleasesEndWithTheLease: what was released longer ago than the longest lease has expired.
func TestUnackedReleasesEndWithTheLease(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		want(t, "acquire", sendAndWait(n, ownerNumber(0).Acquire(lease, 1)), script.Done)
		killAndWait(t, m, n)
		const pause = 10 * time.Millisecond
		for i := range int(3 * lease / pause) {
			time.Sleep(pause)
			n.Send(ownerNumber(i).Release(1, 0), noReceiver{}, 0)
		}
		// It is looked at from time to time.
		if got, most := n.unackedCount(), int((lease+clock.Drift(lease)+lastRetry*3/2)/pause)+1; got > most {
			t.Errorf("unacknowledged after three leases: got %d, want at most %d, those of one", got, most)
		}
		if got, least := n.unackedCount(), int((lease+clock.Drift(lease))/pause)-1; got < least {
			t.Errorf("unacknowledged after three leases: got %d, want at least %d, those of one", got, least)
		}
		time.Sleep(2 * lease)
		if got := n.unackedCount(); got != 0 {
			t.Errorf("unacknowledged: got %d, want none", got)
		}
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
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				want(t, "another", sendAndWait(n, script.NewOwner("another", "me:2").Acquire(lease, 1)), script.Done)
				m.Freeze()
				want(t, "in flight", sendAndWait(n, tt.cmd), script.Unknown)
				waitUntil(t, 5*time.Second, n.isDown)
				time.Sleep(tt.after)
				send(n, script.NewOwner("another", "me:2").Release(1, 0))
				send(n, ownerNumber(1).Release(1, 0))
				time.Sleep(3 * lease)
				if got := n.unackedCount(); got != 1 {
					t.Errorf("unacknowledged after three leases: got %d, want only what was in flight", got)
				}
				m.Thaw()
				waitUntil(t, 2*time.Second, n.isUp)
				wantHolder(t, m, "k", "")
			})
		})
	}
}

// A release that enters the next owner may still run after its connection broke, so a release of
// that owner does not expire.
func TestReleaseOfAnEntrantInFlightIsKept(t *testing.T) {
	x, y := script.NewOwner("k", id("x:r1")), script.NewOwner("k", id("x:r2"))
	var owed unackedReleases
	owed.noteInFlight([]*call{{cmd: x.ReleaseTo(5, 1, y, script.QueueEntry{Round: 1, Since: 1, Lease: time.Second, Proposal: 6})}})
	owed.add(&call{cmd: y.Release(6, 1), number: 9})
	if !owed.byOwner[y.ID].mayStillRun {
		t.Error("the release of the owner that was to be entered expires")
	}
}

// What an earlier release undoes may still run, so the later one that is kept instead does not expire.
func TestALaterReleaseOfWhatMayStillRun(t *testing.T) {
	x := script.NewOwner("k", id("x:r1"))
	var owed unackedReleases
	owed.add(&call{cmd: x.Leave(2), number: 9})
	owed.noteInFlight([]*call{{cmd: x.Acquire(lease, 1)}})
	owed.add(&call{cmd: x.Release(1, 0), number: 8})
	if got := owed.byOwner[x.ID]; got.number != 9 || !got.mayStillRun {
		t.Errorf("kept: %+v, want the later one, which may still run", got)
	}
}

// A release is sent again after it has handed the lock to the next owner: that one keeps it, and
// nobody is notified twice.
func TestResentReleaseSparesTheNextHolder(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n, d := started(t, cfg), new(recorder)
		n.Subscribe(client("a"), d, 7)
		want(t, "acquire", sendAndWait(n, script.NewOwner("k", id("x:r0")).Acquire(lease, 41)), script.Done)
		want(t, "acquire or register", sendAndWait(n, script.NewOwner("k", id("a:r1")).AcquireOrRegister(lease, script.QueueEntry{Round: 1, Since: 10, Lease: lease, Proposal: 1})), script.Refused)
		want(t, "acquire or register", sendAndWait(n, script.NewOwner("k", id("a:r2")).AcquireOrRegister(lease, script.QueueEntry{Round: 1, Since: 20, Lease: lease, Proposal: 1})), script.Refused)
		d.read()

		m.Delay(timeout - time.Millisecond) // it arrives, and its answer does not in time
		released := send(n, script.NewOwner("k", id("x:r0")).Release(41, 0))
		want(t, "release", released.wait(), script.Unknown)
		wantHolder(t, m, "k", id("a:r1"))
		m.Delay(0)
		m.Cut()
		time.Sleep(givenUp)
		m.RestartWithData()
		m.Mend()
		calls := m.Calls("EVALSHA") + m.Calls("EVAL")
		waitUntil(t, 3*time.Second, func() bool { return n.isUp() && m.Calls("EVALSHA")+m.Calls("EVAL") > calls })
		wantHolder(t, m, "k", id("a:r1"))
		if got := len(m.ZSet("redlock_wait:{k}")); got != 1 {
			t.Errorf("%d wait, want 1", got)
		}
		if got := m.Get("redlock_fence:{k}"); got != "42" {
			t.Errorf("fencing counter: got %s, want 42", got)
		}
	})
}
