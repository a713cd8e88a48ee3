package node

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

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
	guarded, _ := errors.AsType[*GuardedError](got.Err)
	if !guarded.Promoted || !contains(got.Err, "was promoted from a replica, grants no hold for another") {
		t.Errorf("acquire: got %v, want one that names the promotion", got.Err)
	}
}

// TestPromoted: a master that was a replica is as old as what the client knows of it.
func TestPromoted(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		log := new(logRecorder)
		cfg.Guard, cfg.Logger = guard, log.logger()
		promote(m)
		time.Sleep(time.Hour)
		loadScripts(t, cfg.Pool)
		n := start(t, cfg)
		wantPromoted(t, n, guardWithDrift)
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

// withoutHistory is a pool of a master that does not say that it was promoted.
func withoutHistory(pool *redis.Pool) *redis.Pool {
	says := regexp.MustCompile(`master_replid2:\w+`)
	return withBentConns(pool, &bendRules{reply: func(words string) any {
		if words != "INFO replication" {
			return nil
		}
		conn := pool.Get()
		defer conn.Close()
		text, err := redis.Bytes(conn.Do("INFO", "replication"))
		if err != nil {
			return redis.Error(err.Error())
		}
		return says.ReplaceAll(text, []byte("master_replid2:"+strings.Repeat("0", 40)))
	}})
}

// TestPromotedBetweenConnections: what was a replica when we last saw it was promoted, and not
// before it was a master, whatever it says.
func TestPromotedBetweenConnections(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		plain := cfg.Pool
		cfg.Guard = guard
		cfg.Pool = withoutHistory(cfg.Pool)
		m.SetRole("slave")
		n := start(t, cfg)
		wantErr(t, "acquire", sendAndWait(n, script.NewOwner("k", "me:1").Acquire(lease, 1)), script.Unsent, ErrReplica.Error())
		time.Sleep(time.Minute)
		m.SetRole("master")
		waitUntil(t, lastRetry*3/2, n.isUp)
		seen := time.Now()
		left := n.Guard()
		if left < guardWithDrift-time.Millisecond || left > guardWithDrift {
			t.Fatalf("guard: got %v, want %v", left, guardWithDrift)
		}
		wantPromoted(t, n, left)
		reconnect(t, m, n)
		wantPromoted(t, n, left-time.Since(seen))
		time.Sleep(left)
		loadScripts(t, plain)
		wantGrants(t, n)
		reconnect(t, m, n)
		wantGrants(t, n)

		m.SetRole("slave") // one that we knew as a master
		wantErr(t, "acquire", sendAndWait(n, script.NewOwner("k", "me:1").Acquire(lease, 1)), script.Failed, "READONLY")
		waitUntil(t, time.Second, n.isDown)
		m.SetRole("master")
		waitUntil(t, lastRetry*3/2, n.isUp)
		if got := n.Guard(); got < guardWithDrift-time.Millisecond {
			t.Errorf("guard: got %v, want %v", got, guardWithDrift)
		}
	})
}

// TestGuardIsLogged: which master waits, for how long and why, and when that is over.
func TestGuardIsLogged(t *testing.T) {
	for _, tt := range []struct {
		name string
		info any
		why  string
		over int
	}{
		{"restarted", nil, "restarted lately, grants no hold for another 11.102s", 1},
		{
			"forbidden", redis.Error("NOPERM this user has no permissions to run the 'info' command"),
			"grants no hold, because its uptime is unknown: INFO: NOPERM this user has no permissions to run the 'info' command (the user needs the permission +info)", 0,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				log := new(logRecorder)
				cfg.Guard, cfg.Logger = guard, log.logger()
				cfg.Pool = withBentConns(cfg.Pool, &bendRules{reply: func(words string) any {
					if strings.HasPrefix(words, "INFO") {
						return tt.info
					}
					return nil
				}})
				m.Restart()
				loadScripts(t, cfg.Pool)
				n := start(t, cfg)
				got := sendAndWait(n, script.NewOwner("k", "me:1").Acquire(lease, 1))
				want(t, "acquire", got, script.Unsent)
				if got := n.Explain(got.Answer).Error(); got != "m1: "+tt.why {
					t.Errorf("error: got %q, want %q", got, "m1: "+tt.why)
				}
				log.want(t, 1, "WARN", "master grants no hold yet", "master=m1", tt.why)
				time.Sleep(time.Minute)
				log.want(t, tt.over, "INFO", "grants holds again", "master=m1")
				log.want(t, 1-tt.over, "master is up", "guard=unknown")
			})
		})
	}
	t.Run("old enough", func(t *testing.T) {
		bubble(t, func(t *testing.T, _ *redlocktest.Master, cfg Config) {
			log := new(logRecorder)
			cfg.Guard, cfg.Logger = guard, log.logger()
			started(t, cfg)
			log.want(t, 1, "")
			log.want(t, 1, "master is up", "guard=0s")
		})
	})
}

// TestPromotedWhileIdle: a master that becomes a replica for a while, on a connection that is not
// used and goes on, has forgotten its votes; also where nobody asked in that while.
func TestPromotedWhileIdle(t *testing.T) {
	for name, demote := range map[string]func(*testing.T, *redlocktest.Master, *Node){
		"seen as a replica": func(t *testing.T, m *redlocktest.Master, n *Node) {
			m.SetRole("slave")
			waitUntil(t, 2*heartbeat, n.isDown)
			m.SetRole("master")
			waitUntil(t, 5*time.Second, n.isUp)
			if got := n.Guard(); got < guard {
				t.Errorf("guard: got %v, want %v at least", got, guard)
			}
		},
		"between two beats": func(t *testing.T, m *redlocktest.Master, n *Node) {
			promote(m)
			time.Sleep(2 * heartbeat)
			wantPromoted(t, n, n.Guard())
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				cfg.Guard = guard
				time.Sleep(time.Hour)
				loadScripts(t, cfg.Pool)
				n := start(t, cfg)
				wantGrants(t, n)
				demote(t, m, n)
			})
		})
	}
}
