package node

import (
	"errors"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

func (n *Node) isUnsteady() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.clockCheck.unsteady()
}

// wantUnsteady checks that an answer does not count, because the clock ran ahead.
func wantUnsteady(t *testing.T, name string, got reply, ahead time.Duration) {
	t.Helper()
	wantErr(t, name, got, script.Failed, "is not counted, because its clock ran ahead by "+ahead.String())
	err, ok := errors.AsType[*UnsteadyError](got.Err)
	check.That(t, ok && err.Ahead == ahead, "%s: got %v, want an UnsteadyError of %v", name, got.Err, ahead)
}

// wantRenewed checks what became of the only hold of a renewal.
func wantRenewed(t *testing.T, name string, got reply, want script.Renewed) {
	t.Helper()
	check.That(t, got.Outcome == script.Done && len(got.Renewed) == 1 && got.Renewed[0] == want, "%s: got %v %v, want %v", name, got.Outcome, got.Renewed, want)
}

// TestClockJumps: where the master says that an owner has a lock, that does not count, from the next
// sample on until it has recovered. Where it says that somebody else has it, or nobody, it does.
func TestClockJumps(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		log := logged(&cfg)
		n := started(t, cfg)
		const ahead = 5 * time.Second
		owner := script.NewOwner("k", id("me:1"))
		renew := script.Renew(lease, []script.Renewal{{Owner: owner, Count: 1, Token: 1}})
		want(t, "acquire", sendAndWait(n, owner.Acquire(lease, 1)), script.Done)
		m.Skew(ahead)
		jumped := time.Now()
		waitUntil(t, heartbeat, n.isUnsteady)
		found := time.Now()
		log.want(t, 1, "WARN", "clock jumped ahead", "master=m1", "ahead=5s", "at_least=30s")

		wantUnsteady(t, "acquire", sendAndWait(n, owner.Acquire(lease, 1)), ahead)
		wantUnsteady(t, "queue", sendAndWait(n, owner.AcquireOrRegister(lease, script.QueueEntry{Round: 1, Since: 1, Lease: lease, Proposal: 1})), ahead)
		renewed := sendAndWait(n, renew)
		wantRenewed(t, "renew", renewed, script.Errored)
		err, ok := errors.AsType[*UnsteadyError](renewed.Errors[0])
		check.That(t, ok && err.Ahead == ahead, "renew: got %v, want an UnsteadyError of %v", renewed.Errors, ahead)
		wantUnsteady(t, "enter", sendAndWait(n, owner.Enter(lease, 2)), ahead)
		wantUnsteady(t, "raise", sendAndWait(n, owner.Raise(lease, 9)), ahead)
		want(t, "acquire by another", sendAndWait(n, script.NewOwner("k", id("me:2")).Acquire(lease, 1)), script.Refused)
		want(t, "leave", sendAndWait(n, owner.Leave(1)), script.Done)
		want(t, "inspect", sendAndWait(n, script.Inspect("k")), script.Done)
		want(t, "release", sendAndWait(n, owner.Release(1, 0)), script.Done)
		want(t, "release again", sendAndWait(n, owner.Release(1, 0)), script.Refused)
		wantHolder(t, m, "k", "")
		wantRenewed(t, "heal", sendAndWait(n, renew), script.Absent)
		wantHolder(t, m, "k", "") // it may have been somebody else's
		m.HSet("k", id("me:2"), "1")
		wantRenewed(t, "renew beside another", sendAndWait(n, renew), script.Foreign)
		m.Del("k")

		waitUntil(t, time.Minute, func() bool { return !n.isUnsteady() })
		check.Between(t, time.Since(found), minRecovery, minRecovery+heartbeat, "steady again after")
		check.AtMost(t, found.Sub(jumped), heartbeat+time.Millisecond, "found after")
		want(t, "acquire", sendAndWait(n, owner.Acquire(lease, 1)), script.Done)
		log.want(t, 1, "INFO", "clock is steady again", "master=m1", "ahead=5s")
		log.want(t, 2, "clock")
		m.Skew(0)
		time.Sleep(time.Hour)
		log.want(t, 1, "WARN", "clock was set back", "master=m1")
		log.want(t, 3, "clock")
	})
}

// TestRecoveryIsThatOfAGuard: votes do not count until the leases before the jump have ended by a clock that is slow
// by what is allowed.
func TestRecoveryIsThatOfAGuard(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		cfg.Guard = time.Minute
		n := started(t, cfg)
		m.Skew(5 * time.Second)
		waitUntil(t, heartbeat, n.isUnsteady)
		found := time.Now()
		waitUntil(t, 2*cfg.Guard, func() bool { return !n.isUnsteady() })
		least := cfg.Guard + clock.Drift(cfg.Guard)
		check.Between(t, time.Since(found), least, least+heartbeat, "steady again after")
	})
}

// TestClockNotTold: a master that once does not tell, since it is busy, still shows what it showed.
func TestClockNotTold(t *testing.T) {
	withNode(t, func(t *testing.T, m *redlocktest.Master, n *Node) {
		m.Skew(-time.Hour)
		m.Kill()
		m.Restart()
		time.Sleep(5 * heartbeat)
		n.mu.Lock()
		n.addSampleLocked(nil, clock.Now(), clock.Now(), redis.Error("BUSY Redis is busy running a script"))
		n.mu.Unlock()
		got, ok := n.Time(clock.Now())
		check.That(t, ok && (time.Until(got)+time.Hour).Abs() <= time.Millisecond, "time: got %v, %v, want an hour ago", got, ok)
	})
}

// What a master's clock shows is known from the first connection on, and each second
// anew, to half a round trip.
func TestTime(t *testing.T) {
	const trip = 20 * time.Millisecond
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		m.Kill()
		n := start(t, cfg)
		if got, ok := n.Time(clock.Now()); ok {
			t.Errorf("before it told: %v, want nothing", got)
		}
		m.Delay(trip)
		m.Restart()
		for _, skew := range []time.Duration{0, time.Hour, -time.Hour} {
			m.Skew(skew)
			time.Sleep(3 * time.Second)
			got, ok := n.Time(clock.Now())
			off := got.Sub(time.Now().Add(skew))
			check.That(t, ok && off.Abs() <= trip/2, "got %v (%v), which is %v off, want %v at most", got, ok, off, trip/2)
		}
	})
}

// TestObserver: whatever casts doubt on earlier votes is told once, and before any later answer.
func TestObserver(t *testing.T) {
	withNode(t, func(t *testing.T, m *redlocktest.Master, n *Node) {
		o := new(recorder)
		n.Observe(o)
		time.Sleep(time.Minute)
		reconnect(t, m, n)
		o.want(t, "while all is well, and after a reconnect")

		m.Skew(5 * time.Second)
		time.Sleep(heartbeat)
		o.want(t, "after a jump", "doubted", "gained 5s")
		m.Skew(12 * time.Second)
		time.Sleep(heartbeat)
		o.want(t, "after another one", "gained 7s")
		time.Sleep(minRecovery)
		o.want(t, "when that is over", "steady")

		m.Delay(100 * time.Millisecond)
		time.Sleep(2 * heartbeat)
		m.Skew(20 * time.Second)
		time.Sleep(2 * heartbeat)
		o.want(t, "after a jump of a far master, with what may have been on the way", "doubted", "gained 8.1s")
		m.Delay(0)

		m.RestartWithData()
		waitUntil(t, 5*heartbeat, n.isUp)
		o.want(t, "after a restart", "steady", "doubted")
		m.Kill()
		time.Sleep(5 * heartbeat)
		m.Restart()
		waitUntil(t, 5*heartbeat, n.isUp)
		o.want(t, "after an outage", "steady", "doubted")
		promote(m)
		time.Sleep(5 * heartbeat)
		o.want(t, "after a promotion", "doubted")
	})
}
