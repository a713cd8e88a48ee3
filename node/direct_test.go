package node

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// Send does not block, however much a master that is frozen leaves unread.
func TestSendDoesNotBlock(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
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
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				synctest.Wait()
				n.mu.Lock()
				put(n, n.newCallLocked(script.NewOwner("k", id("first:1")).Acquire(lease, 1), nobody{}, 0)) // and the writer not told
				n.mu.Unlock()
				want(t, "the second", call1(n, script.NewOwner("k", id("second:1")).Acquire(lease, 1)), script.Refused)
				wantHolder(t, m, "k", id("first:1"))
			})
		})
	}
}

// redigo allows one to write at a time.
func TestSendWhileAnotherWrites(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		synctest.Wait()
		writing := func(busy bool) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.link.writing = busy
		}
		writing(true)
		p := send(n, script.NewOwner("k", id("me:1")).Acquire(lease, 1))
		synctest.Wait()
		wantHolder(t, m, "k", "")
		writing(false)
		n.wakeWriter()
		want(t, "afterwards", p.wait(), script.Done)
	})
}

// An answer to nothing ends the connection: which command the next one is for is anybody's
// guess.
func TestAnswerToNothing(t *testing.T) {
	bubble(t, func(t *testing.T, _ *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
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
	*puppet
	by time.Duration
}

func (s slowReturn) Flush() error {
	err := s.puppet.Flush()
	time.Sleep(s.by)
	return err
}

// What the master has no script for is sent again at once, also if it says so while the caller
// who wrote the command is still at it.
func TestResentOnceTheCallerHasWritten(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		const by = 10 * time.Millisecond
		cfg.Pool = wrapped(bend(cfg.Pool, new(rules)), func(c redis.Conn) redis.Conn { return slowReturn{c.(*puppet), by} })
		n := started(t, cfg)
		synctest.Wait()
		m.FlushScripts()
		got := call1(n, script.Inspect("k"))
		want(t, "inspect", got, script.Done)
		wantAt(t, "inspect", got, by)
	})
}
