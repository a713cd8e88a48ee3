package node

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/internal/bent"
	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
	"example.com/redlock/redlocktest"
)

// guardWithDrift is a guard of 10 s as it is kept: with drift, and a second because a master
// counts its age from the beginning of the second in which it started.
const guard = 10 * time.Second

var guardWithDrift = guard + clock.Drift(guard) + time.Second

// wantGuarded checks that an acquire is refused for want more.
func wantGuarded(t *testing.T, n *Node, want time.Duration) {
	t.Helper()
	got := sendAndWait(n, script.NewOwner("guarded", id("me:1")).Acquire(lease, 1))
	guarded, ok := errors.AsType[*server.GuardedError](got.Err)
	if got.Outcome != script.Unsent || !ok {
		t.Fatalf("acquire: got %v (%v), want Unsent with a GuardedError", got.Outcome, got.Err)
	}
	check.That(t, guarded.Left == want && guarded.Why == nil, "acquire: got left %v (%v), want %v", guarded.Left, guarded.Why, want)
	check.Equal(t, n.GuardOf(guard), want, "GuardOf")
}

// wantGrants checks that an acquire is granted, by a master that may be in use.
func wantGrants(t *testing.T, n *Node) {
	t.Helper()
	want(t, "acquire when the guard is over", sendAndWait(n, script.NewOwner("guarded", id("me:1")).Acquire(lease, 1)), script.Done)
	check.Equal(t, n.GuardOf(guard), 0, "GuardOf when it is over")
}

// TestGuard: a young master grants nothing until exactly when it said.
func TestGuard(t *testing.T) {
	for _, age := range []time.Duration{0, 400 * time.Millisecond, 3 * time.Second, 9999 * time.Millisecond} {
		subtest(t, age.String(), func(t *testing.T, m *redlocktest.Master, cfg Config) {
			cfg.Guard = guard
			m.Restart()
			time.Sleep(age)
			n := start(t, cfg)
			left := guardWithDrift - age
			wantGuarded(t, n, left)
			time.Sleep(left - time.Nanosecond)
			wantGuarded(t, n, time.Nanosecond)
			time.Sleep(time.Nanosecond)
			wantGrants(t, n)
		})
	}
}

// TestGuardAnswersAtOnce: what a guarded master is not sent is answered at once, however much of it there is.
func TestGuardAnswersAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		cfg.Guard = guard
		m.Restart()
		n := start(t, cfg)
		waitUntil(t, time.Second, n.isUp)
		for i, p := range gathered(n, m, acquires(3*firstWindow)...) {
			got := p.wait()
			wantErr(t, fmt.Sprint("acquire ", i), got, script.Unsent, "restarted lately")
			check.Equal(t, got.after, 0, "acquire %d: answered after", i)
		}
	})
}

// TestGuardEndsForAll: nodes that ask at different times how old the master is see its guard end at the same
// time.
func TestGuardEndsForAll(t *testing.T) {
	for _, fraction := range []time.Duration{0, 300 * time.Millisecond, 999 * time.Millisecond} {
		subtest(t, fraction.String(), func(t *testing.T, m *redlocktest.Master, cfg Config) {
			cfg.Guard = guard
			time.Sleep(fraction)
			m.Restart()
			want := time.Now().Add(guardWithDrift - fraction)
			for range 5 {
				time.Sleep(550 * time.Millisecond)
				n := start(t, cfg)
				synctest.Wait()
				check.Equal(t, time.Until(want), n.GuardOf(guard), "until the guard should end")
				n.Close() // a client has one node for a process
			}
		})
	}
}

// TestGuardAfterSeenRestart: where the node saw the process before, the master's wall
// clock has no say, also over the connections that follow.
func TestGuardAfterSeenRestart(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		cfg.Guard = guard
		n := started(t, cfg)
		wantGrants(t, n)
		m.Freeze()
		lost := send(n, script.Inspect("k"))
		synctest.Wait()
		m.Delay(10 * time.Millisecond) // its clock has jumped before anybody asks
		m.Restart()
		m.SetUptime(24 * time.Hour)
		<-lost.done
		noticed := time.Now()
		waitUntil(t, time.Second, n.isUp)
		m.Delay(0)
		wantGuarded(t, n, guardWithDrift-time.Since(noticed))

		time.Sleep(3 * time.Second)
		reconnect(t, m, n)
		wantGuarded(t, n, guardWithDrift-time.Since(noticed))
		time.Sleep(n.GuardOf(guard))
		wantGrants(t, n)
	})
}

// TestGuardOfFrozen: the age that a frozen master tells is its age when it thawed, not when it was
// asked, whichever of the node's attempts to connect that is.
func TestGuardOfFrozen(t *testing.T) {
	for frozen := 4 * time.Second; frozen < 10*time.Second; frozen += time.Second {
		subtest(t, frozen.String(), func(t *testing.T, m *redlocktest.Master, cfg Config) {
			cfg.Guard = guard
			cfg.Timeout = 5 * time.Second
			m.Restart()
			begin := time.Now()
			m.Freeze()
			n := start(t, cfg)
			time.Sleep(frozen)
			m.Thaw()
			waitUntil(t, time.Second, n.isUp)
			check.AtLeast(t, time.Since(begin)+n.GuardOf(guard), guardWithDrift-time.Second, "granted at the age of")
		})
	}
}

// TestGuardUnknownAge: a master that does not tell its age grants nothing until it does, and
// says why, unless there is no guard.
func TestGuardUnknownAge(t *testing.T) {
	const noInfo = redis.Error("NOPERM this user has no permissions to run the 'info' command")
	for _, refused := range []string{"INFO", "INFO server"} {
		subtest(t, "guard, "+refused, func(t *testing.T, m *redlocktest.Master, cfg Config) {
			log := logged(&cfg)
			cfg.Guard = guard
			cfg.Pool = bent.Reply(cfg.Pool, refused, noInfo)
			n := start(t, cfg)
			for range 3 {
				got := sendAndWait(n, script.NewOwner("k", id("me:1")).Acquire(lease, 1))
				wantErr(t, "acquire", got, script.Unsent, "NOPERM")
				guarded, ok := errors.AsType[*server.GuardedError](got.Err)
				check.That(t, ok && guarded.Why != nil, "acquire: got %v, want a server.GuardedError with Why", got.Err)
				want(t, "release", sendAndWait(n, script.NewOwner("k", id("me:1")).Release(1, 0)), script.Refused)
				time.Sleep(time.Hour)
			}
			log.want(t, 1, "INFO", "master is up", "guard=unknown")
			log.want(t, 1, "WARN", "grants no hold yet", "its uptime is unknown: INFO: NOPERM", "the user needs the permission +info")
			log.want(t, 0, "grants holds again")
		})
	}
	subtest(t, "no guard", func(t *testing.T, m *redlocktest.Master, cfg Config) {
		cfg.Pool = bent.Reply(cfg.Pool, "INFO", noInfo)
		wantGrants(t, start(t, cfg))
	})
	subtest(t, "until the user may ask", func(t *testing.T, m *redlocktest.Master, cfg Config) {
		var permitted atomic.Bool
		cfg.Guard = guard
		cfg.Pool = bent.Pool(cfg.Pool, &bent.Rules{Reply: func(words string) any {
			if strings.HasPrefix(words, "INFO") && !permitted.Load() {
				return noInfo
			}
			return nil
		}})
		n := start(t, cfg)
		time.Sleep(time.Hour)
		permitted.Store(true)
		time.Sleep(2 * heartbeat)
		wantGrants(t, n)
	})
}

// promote makes m, for a moment, a replica.
func promote(m *redlocktest.Master) {
	m.SetRole("slave")
	m.SetRole("master")
}

// wantPromoted checks that an acquire is refused for want more, and why.
func wantPromoted(t *testing.T, n *Node, want time.Duration) {
	t.Helper()
	wantGuarded(t, n, want)
	got := sendAndWait(n, script.NewOwner("guarded", "me:1").Acquire(lease, 1))
	guarded, _ := errors.AsType[*server.GuardedError](got.Err)
	check.That(t, guarded.Promoted && contains(got.Err, "was promoted from a replica, grants no hold for another"), "acquire: got %v, want one that names the promotion", got.Err)
}

// TestPromoted: a master that was a replica is as old as what the client knows of it.
func TestPromoted(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		log := logged(&cfg)
		cfg.Guard = guard
		promote(m)
		time.Sleep(time.Hour)
		n := start(t, cfg)
		wantPromoted(t, n, guardWithDrift)
		check.AtMost(t, clock.Since(n.Process().Since), time.Second, "for which it is known as a master")
		time.Sleep(guardWithDrift - time.Nanosecond)
		wantPromoted(t, n, time.Nanosecond)
		time.Sleep(time.Nanosecond)
		wantGrants(t, n)
		reconnect(t, m, n) // it says the same, and is known by now
		wantGrants(t, n)
		log.want(t, 1, "WARN", "grants no hold yet", "master=m1", "was promoted from a replica", "for another 11.102s")
		log.want(t, 1, "INFO", "grants holds again", "master=m1")

		cfg.Registry = new(Registry)
		other := start(t, cfg) // another client, which knows nothing of it
		wantPromoted(t, other, guardWithDrift)
	})
}

// withoutHistory is a pool of a master that does not say that it was promoted. With replica, it says once that it is a replica.
func withoutHistory(pool *redis.Pool, replica *atomic.Bool) *redis.Pool {
	says := regexp.MustCompile(`master_replid2:\w+`)
	return bent.Pool(pool, &bent.Rules{Reply: func(words string) any {
		if words != "INFO replication" {
			return nil
		}
		conn := pool.Get()
		defer conn.Close()
		text, err := redis.Bytes(conn.Do("INFO", "replication"))
		if err != nil {
			return redis.Error(err.Error())
		}
		if replica.Swap(false) {
			text = bytes.Replace(text, []byte("role:master"), []byte("role:slave"), 1)
		}
		return says.ReplaceAll(text, []byte("master_replid2:"+strings.Repeat("0", 40)))
	}})
}

// TestPromotedBetweenConnections: what was a replica when we last saw it was promoted, and not
// before it was a master, whatever it says.
func TestPromotedBetweenConnections(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		cfg.Guard = guard
		var replica atomic.Bool
		cfg.Pool = withoutHistory(cfg.Pool, &replica)
		m.SetRole("slave")
		n := start(t, cfg)
		wantErr(t, "acquire", sendAndWait(n, script.NewOwner("k", "me:1").Acquire(lease, 1)), script.Unsent, server.ErrReplica.Error())
		time.Sleep(time.Minute)
		m.SetRole("master")
		waitUntil(t, lastRetry*3/2, n.isUp)
		seen := time.Now()
		left := n.GuardOf(guard)
		check.Between(t, left, guardWithDrift-time.Millisecond, guardWithDrift, "guard")
		wantPromoted(t, n, left)
		reconnect(t, m, n)
		wantPromoted(t, n, left-time.Since(seen))
		time.Sleep(left)
		wantGrants(t, n)
		reconnect(t, m, n)
		wantGrants(t, n)

		m.SetRole("slave") // one that we knew as a master
		wantErr(t, "acquire", sendAndWait(n, script.NewOwner("k", "me:1").Acquire(lease, 1)), script.Failed, "READONLY")
		waitUntil(t, time.Second, n.Down)
		m.SetRole("master")
		waitUntil(t, lastRetry*3/2, n.isUp)
		check.Between(t, n.GuardOf(guard), guardWithDrift-time.Millisecond, guardWithDrift, "guard")

		time.Sleep(time.Minute)
		wantGrants(t, n)
		replica.Store(true) // for a moment, which a check alone finds
		waitUntil(t, time.Minute, func() bool { return !replica.Load() })
		waitUntil(t, lastRetry*3/2, n.isUp)
		check.Between(t, n.GuardOf(guard), guardWithDrift-time.Second, guardWithDrift, "guard")
	})
}
