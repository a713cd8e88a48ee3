package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// How much a master is sent, and how often it is dialed.

// The late answers to a burst halve the window once: they all tell of the window before.
func TestABurstHalvesTheWindowOnce(t *testing.T) {
	begin := clock.Now()
	at := func(s int) clock.Instant { return begin.Add(time.Duration(s) * time.Second) }
	p := pace{window: 64}
	for _, tt := range []struct{ sent, answered, window int }{{0, 1, 32}, {0, 1, 32}, {1, 2, 32}, {2, 3, 16}, {2, 4, 16}, {4, 5, 8}} {
		if p.answered(at(tt.sent), at(tt.answered), true, true); p.window != tt.window {
			t.Fatalf("after a late answer at %d s to what was sent at %d s: window %d, want %d", tt.answered, tt.sent, p.window, tt.window)
		}
	}
}

// A command that is dropped, since it waited for too long, takes what else waits of its owner along only if it was the
// first: of another, the master may have a hold or an entry, so its release goes out.
func TestADroppedCommandLeavesTheRelease(t *testing.T) {
	x := script.NewOwner("k", id("x:r1"))
	again := script.QueueEntry{Round: 2, Since: 1, Lease: lease, Proposal: 1}
	for name, tt := range map[string]struct {
		cmd      *script.Command
		released bool
	}{
		"the first round": {x.AcquireOrRegister(lease, script.QueueEntry{Round: 1, Since: 1, Lease: lease, Proposal: 1}), false},
		"a later round":   {x.AcquireOrRegister(lease, again), true},
		"a later entry":   {x.Register(again), true},
		"a re-entry":      {x.Enter(lease, 2), true},
		"a raise":         {x.Raise(lease, 2), true},
	} {
		t.Run(name, func(t *testing.T) {
			n := &Node{cfg: Config{Timeout: timeout}, state: up}
			now := clock.Now()
			for cmd, waited := range map[*script.Command]time.Duration{tt.cmd: timeout, x.Release(1, 1): timeout / 2} {
				c := n.newCallLocked(cmd, nil)
				c.sent = now.Add(-waited)
				n.queue.push(c)
			}
			slices.SortFunc(n.queue.all(), func(a, b call) int { return int(a.sent.Sub(b.sent)) })
			n.dropStaleLocked(nil, now, timeout)
			got := n.queue.len() == 1 && n.queue.all()[0].cmd.Repeats()
			check.That(t, got == tt.released && n.queue.len() <= 1, "%d commands wait, the release among them: %v; want %v", n.queue.len(), got, tt.released)
		})
	}
}

// The pauses of clients that try to connect at the same time spread.
func TestPausesSpread(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 100 {
		tries := newAttempts(timeout)
		pause := tries.failed(errors.New("refused"))
		seen[pause] = true
		check.That(t, pause >= firstRetry/2 && pause < firstRetry*3/2, "the first pause is %v, want %v to %v", pause, firstRetry/2, firstRetry*3/2)
	}
	check.That(t, len(seen) >= 50, "100 clients pause for %d different times, want nearly 100", len(seen))
}

// TestConnectionsThatBreakAtOnce: a master whose connections break soon after they were made is dialed twice a second or so,
// be they for commands or for messages. Of the latter the log says so once, until one has held.
func TestConnectionsThatBreakAtOnce(t *testing.T) {
	for _, messages := range []bool{false, true} {
		subtest(t, fmt.Sprintf("for messages %v", messages), func(t *testing.T, m *redlocktest.Master, cfg Config) {
			var breaks atomic.Bool
			var dials atomic.Int32
			var last atomic.Pointer[net.Conn]
			cfg.Pool = &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
				conn, err := m.Dial(ctx)
				dials.Add(1)
				last.Store(&conn)
				if breaks.Load() {
					time.AfterFunc(10*time.Millisecond, func() { conn.Close() })
				}
				return redis.NewConn(conn, 0, 0), err
			}}
			log := logged(&cfg)
			n := started(t, cfg)
			if messages {
				n.Subscribe("a", new(recorder))
			}
			for run := 1; run <= 2; run++ {
				time.Sleep(5 * time.Second)
				before := dials.Load()
				breaks.Store(true)
				(*last.Load()).Close()
				time.Sleep(30 * time.Second)
				breaks.Store(false)
				check.Between(t, dials.Load()-before, 40, 100, "dials in half a minute")
				if messages {
					log.want(t, run, "no subscription")
				}
			}
		})
	}
}
