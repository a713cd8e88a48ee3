package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/internal/bent"
	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
	"example.com/redlock/redlocktest"
)

// TestSameServer: of two names for a server the second one has no vote, until the first node is closed.
func TestSameServer(t *testing.T) {
	bubble(t, func(t *testing.T, _ *redlocktest.Master, cfg Config) {
		cfg.Name = "a"
		a := started(t, cfg)
		cfg.Name = "b"
		b := start(t, cfg)
		owner := script.NewOwner("k", "me:1")
		got := sendAndWait(b, owner.Acquire(lease, 1))
		wantErr(t, "acquire", got, script.Unsent, "is the same server as a")
		check.Equal(t, errors.Is(got.Err, server.ErrSameServer), true, "%v is ErrSameServer", got.Err)
		time.Sleep(time.Minute)
		want(t, "acquire by the first", sendAndWait(a, owner.Acquire(lease, 1)), script.Done)
		want(t, "acquire by the second", sendAndWait(b, owner.Acquire(lease, 1)), script.Unsent)
		a.Close()
		waitUntil(t, lastRetry*3/2, b.isUp)
	})
}

// TestSameServerUnnoticed: masters that do not say who they are vote where the user has turned the guard off. The log says
// once that nobody would notice if they were the same one; there is no need to if there is only one of them.
func TestSameServerUnnoticed(t *testing.T) {
	for masters, warnings := range []int{1: 0, 2: 1, 3: 1} {
		subtest(t, fmt.Sprint(masters, " masters"), func(t *testing.T, m *redlocktest.Master, cfg Config) {
			log := logged(&cfg)
			cfg.Pool = bent.Reply(cfg.Pool, "INFO", redis.Error("NOPERM this user has no permissions to run the 'info' command"))
			for range masters {
				n := started(t, cfg)
				want(t, "acquire", sendAndWait(n, script.NewOwner("k", "me:1").Acquire(lease, 1)), script.Done)
				reconnect(t, m, n)
			}
			log.want(t, warnings, "WARN", "would have several votes")
		})
	}
}

// TestAddressesMove: when two addresses are exchanged, or one comes to lead to the server of another that
// is gone, each server is used under its new address: once the votes that it gave under the old one have
// ended, and not before, or it would have two.
func TestAddressesMove(t *testing.T) {
	for _, tt := range []struct {
		name   string
		to     [2]int32 // where a and b lead then; the third server is dead
		wantUp [2]bool
	}{
		{"exchanged", [2]int32{1, 0}, [2]bool{true, true}},
		{"taken over", [2]int32{2, 0}, [2]bool{false, true}},
		{"and the other one moved on", [2]int32{3, 0}, [2]bool{true, true}},
	} {
		subtest(t, tt.name, func(t *testing.T, _ *redlocktest.Master, cfg Config) {
			fleet := redlocktest.Start(t, 4)
			fleet.Master(2).Kill()
			var to [2]atomic.Int32
			var nodes [2]*Node
			pools := fleet.Pools()
			for i := range nodes {
				to[i].Store(int32(i))
				cfg.Name, cfg.Pool = fmt.Sprint("m", i), &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
					return pools[to[i].Load()].DialContext(ctx)
				}}
				nodes[i] = started(t, cfg)
			}
			owner := script.NewOwner("k", id("me:1"))
			want(t, "acquire", sendAndWait(nodes[0], owner.Acquire(lease, 1)), script.Done)
			for i := range nodes {
				to[i].Store(tt.to[i])
			}
			fleet.Master(0).KillClients()
			fleet.Master(1).KillClients()
			moved := time.Now()
			for time.Since(moved) < lease {
				if got := sendAndWait(nodes[1], owner.Acquire(lease, 1)); got.Outcome == script.Done {
					t.Fatalf("after %v, with a lease of %v: a second vote of one server", time.Since(moved), lease)
				}
				time.Sleep(lease / 20)
			}
			time.Sleep(clock.Drift(lease) + 2*lastRetry)
			for i, n := range nodes {
				check.Equal(t, n.isUp(), tt.wantUp[i], "m%d is up (%v)", i, n.Ready())
			}
		})
	}
}

// TestStrangersAreNotKilled: a process that does not say which it is may have restarted, and the number
// of the old connection be another program's.
func TestStrangersAreNotKilled(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		var killed atomic.Int32
		cfg.Pool = bent.Pool(cfg.Pool, &bent.Rules{Reply: func(words string) any {
			switch {
			case strings.HasPrefix(words, "CLIENT KILL"):
				killed.Add(1)
			case strings.HasPrefix(words, "INFO"):
				return redis.Error("NOPERM this user has no permissions to run the 'info' command")
			}
			return nil
		}})
		n := started(t, cfg)
		m.Restart()
		time.Sleep(time.Minute)
		want(t, "afterwards", sendAndWait(n, script.Inspect("k")), script.Done)
		check.Equal(t, killed.Load(), 0, "CLIENT KILL")
	})
}
