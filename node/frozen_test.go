package node

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// TestLateAcquireIsKilled: an acquire that still lies in the network, on its way to the
// master by the old connection, must not come after the release by the new one.
func TestLateAcquireIsKilled(t *testing.T) {
	withNode(t, func(t *testing.T, m *redlocktest.Master, n *Node) {
		m.Delay(10 * time.Second)
		acquired := send(n, script.NewOwner("k", "me:1").Acquire(lease, 1))
		synctest.Wait()
		m.Delay(0)
		want(t, "acquire", acquired.wait(), script.Unknown)
		waitUntil(t, givenUp, n.isUp)
		want(t, "release", sendAndWait(n, script.NewOwner("k", "me:1").Release(1, 0)), script.Refused)
		time.Sleep(20 * time.Second)
		wantHolder(t, m, "k", "")
	})
}

// TestKillRefused: a user who may not kill connections can use the master all the same,
// and is told what may come of it.
func TestKillRefused(t *testing.T) {
	for _, tt := range []struct {
		name, command string
		warnings      int
	}{
		{"CLIENT KILL", "CLIENT KILL ID ", 1}, // by the second connection
		{"CLIENT INFO", "CLIENT INFO", 2},     // by both
	} {
		subtest(t, tt.name, func(t *testing.T, m *redlocktest.Master, cfg Config) {
			log := logged(&cfg)
			cfg.Pool = withReply(cfg.Pool, tt.command, redis.Error("NOPERM this user has no permissions to run the 'client' command"))
			n := started(t, cfg)
			reconnect(t, m, n)
			want(t, "acquire", sendAndWait(n, script.NewOwner("k", "me:1").Acquire(lease, 1)), script.Done)
			n.Close()
			log.want(t, tt.warnings, "a lock that was released during an outage may stay taken until its lease ends")
		})
	}
}

// TestLateConnectionIsKept: a master that hangs for a while is down, and up again with the answers that it
// owes, over the same connection. What is released meanwhile goes first.
func TestLateConnectionIsKept(t *testing.T) {
	withNode(t, func(t *testing.T, m *redlocktest.Master, n *Node) {
		l, _ := n.working()
		m.Freeze()
		first := send(n, script.NewOwner("k", "me:1").Acquire(lease, 1))
		wantErr(t, "what is asked of it", first.wait(), script.Unknown, ErrTimeout.Error())
		check.Equal(t, n.Down(), true, "it is silent, and down")
		send(n, script.NewOwner("k", "me:1").Release(1, 0))
		time.Sleep(2 * timeout)
		m.Thaw()
		synctest.Wait()
		check.Equal(t, n.isUp(), true, "it has answered, and is up")
		wantHolder(t, m, "k", "")
		want(t, "afterwards", sendAndWait(n, script.NewOwner("k", "me:2").Acquire(lease, 1)), script.Done)
		now, _ := n.working()
		check.Equal(t, now == l, true, "the connection is kept")
	})
}

// TestStarved: a timer that fires late tells that this process had no time to run. Its answers may have come
// long ago, so they are read first, and the connection is kept.
func TestStarved(t *testing.T) {
	withNode(t, func(t *testing.T, m *redlocktest.Master, n *Node) {
		m.Delay(timeout * 3 / 5)
		asked := send(n, script.Inspect("k"))
		synctest.Wait()
		n.mu.Lock()
		l := n.link
		l.timerDue = l.timerDue.Add(-timeout) // as if it were to have run by now
		n.mu.Unlock()
		time.Sleep(timeout)
		check.Equal(t, asked.look().times, 0, "answers while nobody had time to read")
		want(t, "what was asked", asked.wait(), script.Done)
		n.mu.Lock()
		defer n.mu.Unlock()
		check.That(t, n.state == up && n.link == l, "state %v, and another connection %v", n.state, n.link != l)
	})
}

// TestHeldUpWrite: a write that a frozen master holds up needs no deadline of its own. What is written
// is in flight before, so its time runs out, and the connection is given up.
func TestHeldUpWrite(t *testing.T) {
	withNode(t, func(t *testing.T, m *redlocktest.Master, n *Node) {
		fill := func() *pending {
			m.Freeze() // on a command, so that it reads nothing more
			send(n, script.Inspect("k"))
			synctest.Wait()
			return send(n, script.Inspect(strings.Repeat("k", 2<<20)))
		}
		held := fill()
		synctest.Wait()
		next := send(n, script.Inspect("k"))
		got := held.wait()
		wantErr(t, "held up", got, script.Unknown, ErrTimeout.Error())
		check.Equal(t, got.after, timeout, "held up: answered after")
		if got := next.wait(); got.Outcome == script.Done || got.after > 3*timeout {
			t.Errorf("the next one: got %v after %v, want that it did not get there, after %v at most", got.Outcome, got.after, 3*timeout)
		}
		m.Thaw()
		time.Sleep(givenUp)
		want(t, "afterwards", sendAndWait(n, script.Inspect("k")), script.Done)

		fill()
		check.AtMost(t, closed(n), timeout, "Close took")
	})
}
