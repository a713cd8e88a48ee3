package node

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// TestAnswersFindTheirCommands: many callers share the connection, and each gets its own answers.
func TestAnswersFindTheirCommands(t *testing.T) {
	withNode(t, func(t *testing.T, m *redlocktest.Master, n *Node) {
		var finished sync.WaitGroup
		for caller := range 40 {
			key, owner := fmt.Sprint("key", caller), id(fmt.Sprint("owner:", caller))
			m.HSet(key, owner, "1")
			finished.Go(func() {
				var sent []*pending
				for range 50 {
					sent = append(sent, send(n, script.Inspect(key)))
				}
				for i, p := range sent {
					<-p.done
					if got := p.look(); got.Outcome != script.Done || got.Holder != owner {
						t.Errorf("answer %d of %s: got %v, held by %q, want %q", i, key, got.Outcome, got.Holder, owner)
						return
					}
				}
			})
		}
		finished.Wait()
		wantEqual(t, "connections", m.Connections(), 1)
	})
}

// TestEachCommandHasItsOwnTimeout: a command is answered a timeout after it was sent, also where the
// one before it was answered late, and whenever the connection is given up.
func TestEachCommandHasItsOwnTimeout(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		var hung atomic.Bool
		cfg.Pool = withBentConns(cfg.Pool, &bendRules{drop: func(string) bool { return hung.Load() }})
		n := started(t, cfg)
		m.Delay(100 * time.Millisecond)
		first := send(n, script.Inspect("k")) // answered after 200 ms
		time.Sleep(10 * time.Millisecond)
		hung.Store(true)
		second := send(n, script.Inspect("k"))
		time.Sleep(50 * time.Millisecond)
		third := send(n, script.Inspect("k"))
		want(t, "the one that is answered", first.wait(), script.Done)
		for name, p := range map[string]*pending{"the next": second, "the one after it": third} {
			got := p.wait()
			want(t, name, got, script.Unknown)
			wantEqual(t, name+": answered after", got.after, timeout)
		}
		hung.Store(false)
	})
}

// Send does not block, however much a master that is frozen leaves unread.
func TestSendDoesNotBlock(t *testing.T) {
	withNode(t, func(t *testing.T, m *redlocktest.Master, n *Node) {
		m.Freeze()
		begin := time.Now()
		var sent []*pending
		for i := range 8000 { // of 200 bytes each: more than is buffered in between
			sent = append(sent, send(n, script.NewOwner("k", fmt.Sprint("me:", i)).Acquire(lease, 1)))
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("Send blocked for %v", took)
		}
		for _, p := range sent {
			if got := p.wait(); got.Outcome != script.Unknown && got.Outcome != script.Unsent || got.after > 2*timeout {
				t.Fatalf("answered %v (%v) after %v, want Unknown or Unsent within %v", got.Outcome, got.Err, got.after, 2*timeout)
			}
		}
	})
}

// A command does not overtake those that are still to be written.
func TestSendKeepsTheOrder(t *testing.T) {
	for name, put := range map[string]func(*Node, *call){
		"queued":           func(n *Node, c *call) { n.queue = append(n.queue, c) },
		"to be sent again": func(n *Node, c *call) { n.link.retries = append(n.link.retries, c) },
	} {
		subtestWithNode(t, name, func(t *testing.T, m *redlocktest.Master, n *Node) {
			synctest.Wait()
			n.mu.Lock()
			put(n, n.newCallLocked(script.NewOwner("k", id("first:1")).Acquire(lease, 1), nil, 0)) // and the writer not told
			n.mu.Unlock()
			want(t, "the second", sendAndWait(n, script.NewOwner("k", id("second:1")).Acquire(lease, 1)), script.Refused)
			wantHolder(t, m, "k", id("first:1"))
		})
	}
}

// An answer to nothing ends the connection: which command the next one is for is anybody's
// guess.
func TestAnswerToNothing(t *testing.T) {
	withNode(t, func(t *testing.T, _ *redlocktest.Master, n *Node) {
		synctest.Wait() // no ping is under way
		n.mu.Lock()
		l := n.link
		due := n.receiveLocked(l, nil, int64(1), nil)
		dead, err := l.dead, l.err
		n.mu.Unlock()
		if !dead || err == nil || len(due) > 0 {
			t.Errorf("received: dead %v, error %v, %d deliveries, want true, an error and none", dead, err, len(due))
		}
		<-l.broken
	})
}

// slowReturn is a connection whose Flush returns a while after the master has the commands, and
// has answered them: the caller was preempted.
type slowReturn struct {
	*bentConn
	by time.Duration
}

func (s slowReturn) Flush() error {
	err := s.bentConn.Flush()
	time.Sleep(s.by)
	return err
}

// What the master has no script for is sent again at once, also if it says so while the caller
// who wrote the command is still at it.
func TestResentOnceTheCallerHasWritten(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		const by = 10 * time.Millisecond
		cfg.Pool = withWrappedConns(withBentConns(cfg.Pool, new(bendRules)), func(c redis.Conn) redis.Conn { return slowReturn{c.(*bentConn), by} })
		n := started(t, cfg)
		synctest.Wait()
		m.FlushScripts()
		got := sendAndWait(n, script.Inspect("k"))
		want(t, "inspect", got, script.Done)
		wantEqual(t, "inspect: answered after", got.after, by)
	})
}
