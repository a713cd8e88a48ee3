package node

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/bent"
	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
	"example.com/redlock/redlocktest"
)

// attended makes a node that has been up for a while, of a client that does that.
func attended(t *testing.T, cfg Config, does Activity) *Node {
	t.Helper()
	n := started(t, cfg)
	n.Observe(&recorder{does: does})
	return n
}

// TestChecksOfWhoSendsNothing: how often a master is checked depends on what the client does.
func TestChecksOfWhoSendsNothing(t *testing.T) {
	for _, tt := range []struct {
		name        string
		does        Activity
		lease       time.Duration
		least, most time.Duration // between two checks
	}{
		{"holding", Holding, lease, heartbeat, heartbeat},
		{"waiting", Waiting, lease, 3 * time.Second, 3 * time.Second},
		{"idle", Idle, lease, 12 * time.Second, 18 * time.Second},
		{"idle, leases of any length", Idle, 0, 12 * time.Second, 18 * time.Second},
		{"idle, short leases", Idle, 6 * time.Second, 4 * time.Second, 6 * time.Second},
		{"idle, leases that are too short for it", Idle, 100 * time.Millisecond, heartbeat, heartbeat},
	} {
		subtest(t, tt.name, func(t *testing.T, m *redlocktest.Master, cfg Config) {
			cfg.Lease = tt.lease
			attended(t, cfg, tt.does)
			time.Sleep(20 * time.Second) // the first may be due earlier
			const long = 30 * time.Minute
			for _, command := range []string{"PING", "TIME", "INFO"} {
				before := m.Calls(command)
				time.Sleep(long)
				got := m.Calls(command) - before
				check.Between(t, got, int64(long/tt.most)-1, int64(long/tt.least)+1, "%s in %v", command, long)
			}
		})
	}
}

// TestAnIdleClientFindsAMasterSteadyAgain: an idle client notices within a second that a master's clock is steady again.
func TestAnIdleClientFindsAMasterSteadyAgain(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := attended(t, cfg, Idle)
		m.Skew(5 * time.Second)
		waitUntil(t, longSilence, n.isUnsteady)
		found := time.Now()
		waitUntil(t, time.Minute, func() bool { return !n.isUnsteady() })
		check.Between(t, time.Since(found), minRecovery, minRecovery+heartbeat, "steady again after")
	})
}

// TestBeatsGoOnAfterASilence: a master that was silent for a while, and whose connection was kept, is checked as before.
func TestBeatsGoOnAfterASilence(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := attended(t, cfg, Holding)
		m.Freeze()
		waitUntil(t, 2*heartbeat, n.Down)
		time.Sleep(heartbeat)
		m.Thaw()
		waitUntil(t, heartbeat, n.isUp)
		before := m.Calls("TIME")
		time.Sleep(time.Minute)
		check.Between(t, m.Calls("TIME")-before, 59, 61, "samples in the minute after it")
	})
}

// TestBeatsOfManyClientsSpread: clients that fall silent together do not beat together.
func TestBeatsOfManyClientsSpread(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		cfg.Registry = nil
		const clients = 100
		for range clients {
			n := start(t, cfg)
			n.Observe(&recorder{does: Idle})
		}
		time.Sleep(11 * time.Second)
		most, total := int64(0), int64(0)
		for range 8 {
			before := m.Calls("PING")
			time.Sleep(time.Second)
			got := m.Calls("PING") - before
			most, total = max(most, got), total+got
		}
		check.That(t, total >= clients && most <= clients/3, "%d clients beat %d times, at most %d in one second; want each once, in six seconds", clients, total, most)
	})
}

// TestChecksGoAlong: who sends commands is checked with them, and each second at most.
func TestChecksGoAlong(t *testing.T) {
	for _, tt := range []struct {
		every time.Duration
		want  int64 // in a minute
	}{
		{20 * time.Millisecond, 60},
		{heartbeat - time.Millisecond, 31}, // with every other one
		{1600 * time.Millisecond, 38},
		{2900 * time.Millisecond, 21},
	} {
		subtest(t, tt.every.String(), func(t *testing.T, m *redlocktest.Master, cfg Config) {
			n := attended(t, cfg, Waiting)
			sendAndWait(n, script.Inspect("k"))
			before := m.Calls("TIME")
			for range time.Minute / tt.every {
				time.Sleep(tt.every)
				want(t, "inspect", sendAndWait(n, script.Inspect("k")), script.Done)
			}
			check.Between(t, m.Calls("TIME")-before, tt.want-1, tt.want+1, "samples in a minute")
		})
	}
}

// faults of a master that the checks find, and what is said of a vote behind them.
var faults = []struct {
	name    string
	do      func(m *redlocktest.Master, bend *atomic.Value)
	outcome script.Outcome
	says    string
}{
	{"clock jumped", func(m *redlocktest.Master, _ *atomic.Value) { m.Skew(5 * time.Second) }, script.Failed, "its clock ran ahead by"},
	{"was a replica", func(m *redlocktest.Master, _ *atomic.Value) { promote(m) }, script.Unknown, errPromoted.Error()},
	{"is a replica", func(m *redlocktest.Master, _ *atomic.Value) { m.SetRole("slave") }, script.Unknown, server.ErrReplica.Error()},
	{"has no disk", func(_ *redlocktest.Master, bend *atomic.Value) { bend.Store("PING") }, script.Unknown, "MISCONF"},
	{"says so when asked for its role", func(_ *redlocktest.Master, bend *atomic.Value) { bend.Store("INFO replication") }, script.Unknown, "MISCONF"},
}

// TestChecksComeBeforeTheFirstVote: after a silence, what happened in it is known before a vote counts.
func TestChecksComeBeforeTheFirstVote(t *testing.T) {
	for _, fault := range faults {
		for _, commands := range []int{1, 3} {
			subtest(t, fmt.Sprint(fault.name, ", ", commands), func(t *testing.T, m *redlocktest.Master, cfg Config) {
				var bend atomic.Value
				cfg.Pool = bent.Pool(cfg.Pool, &bent.Rules{Reply: func(words string) any {
					if words == bend.Load() {
						bend.Store("")
						return redis.Error("MISCONF Errors writing to the AOF file")
					}
					return nil
				}})
				n := attended(t, cfg, Idle)
				time.Sleep(time.Hour)
				beats := m.Calls("INFO")
				waitUntil(t, time.Minute, func() bool { return m.Calls("INFO") > beats })
				time.Sleep(2 * heartbeat)
				fault.do(m, &bend)
				m.Delay(time.Millisecond)
				var got []*pending
				for i := range commands {
					got = append(got, send(n, script.NewOwner(fmt.Sprint("k", i), id("me:1")).Acquire(lease, 1)))
				}
				for i, p := range got {
					wantErr(t, fmt.Sprint("acquire ", i), p.wait(), fault.outcome, fault.says)
				}
			})
		}
	}
}

// TestPingWithoutPong: a master that answers PING with anything else is given up until it does not. See TestPong.
func TestPingWithoutPong(t *testing.T) {
	bubble(t, func(t *testing.T, _ *redlocktest.Master, cfg Config) {
		var lies atomic.Bool
		cfg.Pool = bent.Pool(cfg.Pool, &bent.Rules{Reply: func(words string) any {
			if words == "PING" && lies.Load() {
				return "OK"
			}
			return nil
		}})
		n := started(t, cfg)
		lies.Store(true)
		time.Sleep(5 * time.Second)
		got := n.Ready()
		check.That(t, errors.Is(got, server.ErrReply) && contains(got, "PING"), "Ready: got %v, want that its PING is wrong", got)
		lies.Store(false)
		waitUntil(t, time.Second, n.isUp)
	})
}
