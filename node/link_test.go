package node

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/bent"
	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
	"example.com/redlock/redlocktest"
)

// TestAConnectionThatWasGivenUp: its master is not ready from that moment on, and not only once the reader has ended.
func TestAConnectionThatWasGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T, _ *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		n.mu.Lock()
		n.link.giveUp(server.ErrTimeout)
		_, err := n.workingLocked()
		n.mu.Unlock()
		check.Err(t, "working", err, server.ErrTimeout)
	})
}

// TestEachCommandHasItsOwnTimeout: a command is answered a timeout after it was sent, also where the
// one before it was answered late, and whenever the connection is given up.
func TestEachCommandHasItsOwnTimeout(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		var hung atomic.Bool
		cfg.Pool = bent.Pool(cfg.Pool, &bent.Rules{Drop: func(string) bool { return hung.Load() }})
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
			check.Equal(t, got.after, timeout, "%s: answered after", name)
		}
		hung.Store(false)
	})
}

// load asks a master for locks and gives them back, more than it can.
type load struct {
	n       *Node
	mu      sync.Mutex
	sent    []time.Time // of each command
	by      map[script.Outcome]int
	slowest time.Duration // answer
	open    int           // not answered yet
}

// lock sends an acquire and, unless it is known at once that it had no effect, the release.
func (l *load) lock(i int) {
	owner := script.NewOwner(fmt.Sprint("k", i), fmt.Sprint("me:", i))
	if !l.send(owner.Acquire(lease, 1)) {
		l.send(owner.Release(1, 0))
	}
}

// send sends cmd, and reports whether it was answered Unsent at once.
func (l *load) send(cmd *script.Command) bool {
	l.mu.Lock()
	l.open++
	l.sent = append(l.sent, time.Now())
	i, before := len(l.sent)-1, l.by[script.Unsent]
	l.mu.Unlock()
	l.n.Send(cmd, loaded{l, i})
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.by[script.Unsent] > before
}

// loaded takes the answer to the i-th command.
type loaded struct {
	*load
	i int
}

func (l loaded) Answer(_ int, a script.Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	l.by[a.Outcome]++
	l.slowest = max(l.slowest, time.Since(l.sent[l.i]))
}

// heap returns what is in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestSlowMaster: a master that answers far less than it is asked costs little memory, is used for what
// it can do, keeps its connection, answers in time, and does not hold up Close.
func TestSlowMaster(t *testing.T) {
	for _, tt := range []struct {
		name  string
		each  time.Duration
		least int   // answers in time
		most  int64 // connections
	}{
		{"1000 calls a second", time.Millisecond, 4_000, 1},
		{"100 calls a second", 10 * time.Millisecond, 300, 1},
		{"4 calls a second", 250 * time.Millisecond, 0, 2}, // most of them are checks
	} {
		subtest(t, tt.name, func(t *testing.T, m *redlocktest.Master, cfg Config) {
			var each atomic.Int64
			var dialed atomic.Int64
			slow := bent.Pool(cfg.Pool, &bent.Rules{Reply: func(string) any {
				time.Sleep(time.Duration(each.Load()))
				return nil
			}})
			cfg.Pool = bent.Wrapped(slow, func(c redis.Conn) redis.Conn {
				dialed.Add(1)
				return c
			})
			n := started(t, cfg)
			before := heap()
			each.Store(int64(tt.each))
			l := &load{n: n, by: make(map[script.Outcome]int)}
			const seconds, burst = 5, 100
			for i := range seconds * 100 {
				for k := range burst {
					l.lock(i*burst + k)
				}
				time.Sleep(10 * time.Millisecond)
			}
			check.AtMost(t, heap()-before, 20<<20, "how much more memory it takes after %d s", seconds)
			check.AtMost(t, closed(n), time.Duration(tt.most)*timeout+2*tt.each, "Close took")
			l.mu.Lock()
			defer l.mu.Unlock()
			done := l.by[script.Done]
			check.That(t, done >= tt.least, "answers in time: got %v, want %d done at least", l.by, tt.least)
			if most := time.Duration(2*tt.most)*timeout + tt.each; l.open > 0 || l.slowest > most {
				t.Errorf("answers: the last after %v, and %d not at all; want all within %v", l.slowest, l.open, most)
			}
			check.AtMost(t, dialed.Load(), tt.most, "connections")
		})
	}
}

// TestTwoTimeoutsAtMost: what waited for its turn, and then for another connection, is answered as soon as anything else.
func TestTwoTimeoutsAtMost(t *testing.T) {
	for name, breaks := range map[string]time.Duration{
		"it has waited for long when the master is up": timeout * 9 / 10,
		"and soon after": timeout / 5,
	} {
		subtest(t, name, func(t *testing.T, m *redlocktest.Master, cfg Config) {
			n := started(t, cfg)
			n.mu.Lock()
			n.pace.window = 1
			n.mu.Unlock()
			m.Freeze()
			send(n, script.Inspect("k"))
			time.Sleep(time.Millisecond)
			send(n, script.Inspect("k"))
			waits := send(n, script.Inspect("k"))
			time.Sleep(breaks)
			m.KillClients()
			m.Thaw()
			m.Delay(timeout / 8) // a handshake takes four of these
			waitUntil(t, timeout, n.isUp)
			m.Delay(timeout * 9 / 20)
			got := waits.wait()
			wantErr(t, "what waits", got, script.Unsent, server.ErrBehind.Error())
			check.AtMost(t, got.after, 2*timeout, "answered after")
		})
	}
}

// TestLateAcquireIsKilled: an acquire that still lies in the network, on its way to the
// master by the old connection, must not come after the release by the new one.
func TestLateAcquireIsKilled(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
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

// TestKillRefused: a user who may not kill connections can still use the master,
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
			cfg.Pool = bent.Reply(cfg.Pool, tt.command, redis.Error("NOPERM this user has no permissions to run the 'client' command"))
			n := started(t, cfg)
			reconnect(t, m, n)
			want(t, "acquire", sendAndWait(n, script.NewOwner("k", "me:1").Acquire(lease, 1)), script.Done)
			n.Close()
			log.want(t, tt.warnings, "a lock that was released during an outage may stay taken until its lease ends")
		})
	}
}

// TestStarved: a timer that fires late tells that this process had no time to run. Its answers may have come
// long ago, so they are read first, and the connection is kept. Nor is the master down for what is not answered then.
func TestStarved(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		l := n.link
		starve := func() *pending {
			t.Helper()
			asked := send(n, script.Inspect("k"))
			synctest.Wait()
			n.mu.Lock()
			l.timerDue = l.timerDue.Add(-timeout) // as if it were to have run by now
			n.mu.Unlock()
			time.Sleep(timeout)
			check.Equal(t, asked.look().times, 0, "answers while nobody had time to read")
			return asked
		}
		m.Delay(timeout * 3 / 5)
		want(t, "what was asked", starve().wait(), script.Done)
		time.Sleep(2 * timeout) // the timer is not set any more
		m.Freeze()
		wantErr(t, "what is not answered", starve().wait(), script.Unknown, server.ErrTimeout.Error())
		n.mu.Lock()
		check.That(t, n.state == up && n.link == l, "state %v, and another connection %v", n.state, n.link != l)
		n.mu.Unlock()
		m.Thaw()
	})
}

// TestHeldUpWrite: a write that a frozen master holds up needs no deadline of its own. What is written
// is in flight before, so its time runs out, and the connection is given up.
func TestHeldUpWrite(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
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
		wantErr(t, "held up", got, script.Unknown, server.ErrTimeout.Error())
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
