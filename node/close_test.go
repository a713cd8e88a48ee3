package node

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// closed closes n and returns how long that took.
func closed(n *Node) time.Duration {
	begin := time.Now()
	n.Close()
	return time.Since(begin)
}

// TestNoConnectionIsLost: whatever happens, none is left open in the end.
func TestNoConnectionIsLost(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		for range 5 {
			m.Refuse("MISCONF no disk")
			waitUntil(t, 3*time.Second, n.Down)
			m.Refuse("")
			waitUntil(t, time.Second, n.isUp)
			m.RestartWithData()
			time.Sleep(3 * time.Second)
			m.SetRole("slave")
			send(n, script.NewOwner("k", "me:1").Acquire(lease, 1)).wait()
			time.Sleep(3 * time.Second)
			m.SetRole("master")
			waitUntil(t, time.Second, n.isUp)
		}
		n.Close()
		if active := cfg.Pool.ActiveCount(); active != 0 {
			t.Errorf("connections of the pool: got %d, want none", active)
		}
		synctest.Wait() // the master has seen it
		wantEqual(t, "connections of the master", m.Connections(), 0)
	})
}

// TestCloseIsBounded: by about two timeouts, in every state, and everything is answered.
func TestCloseIsBounded(t *testing.T) {
	none := func(*Node) {}
	noticed := func(n *Node) { waitUntil(t, 4*time.Second, n.Down) }
	asked := func(n *Node) { sendAndWait(n, script.Inspect("k")) }
	for _, tt := range []struct {
		name  string
		fault func(*redlocktest.Master)
		then  func(*Node)
		most  time.Duration
	}{
		{"up", (*redlocktest.Master).Mend, none, 0},
		{"dead, not noticed", (*redlocktest.Master).Kill, none, 0},
		{"frozen", (*redlocktest.Master).Freeze, none, timeout},
		{"cut off", (*redlocktest.Master).Cut, none, timeout},
		{"down", (*redlocktest.Master).Kill, noticed, 0},
		{"down and cut off", (*redlocktest.Master).Cut, noticed, 0},
		{"down and frozen", (*redlocktest.Master).Freeze, noticed, 2 * timeout},
		{"connecting to a frozen one", (*redlocktest.Master).Freeze, asked, 2 * timeout},
		{"connecting to one that is cut off", (*redlocktest.Master).Cut, asked, 2 * timeout},
	} {
		for _, commands := range []int{0, 3} {
			subtestWithNode(t, fmt.Sprintf("%s, %d commands", tt.name, commands), func(t *testing.T, m *redlocktest.Master, n *Node) {
				tt.fault(m)
				tt.then(n)
				var sent []*pending
				for range commands {
					sent = append(sent, send(n, script.NewOwner("k", "me:1").Acquire(lease, 1)), send(n, script.NewOwner("k", "me:1").Release(1, 0)))
				}
				if got := closed(n); got > tt.most {
					t.Errorf("Close: took %v, want at most %v", got, tt.most)
				}
				synctest.Wait() // a timer may still pass answers on
				for _, p := range sent {
					wantEqual(t, "answers", p.look().times, 1)
				}
			})
		}
	}
}

// TestCloseConcurrently: with Sends and other Closes.
func TestCloseConcurrently(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		for range 50 {
			n := New(cfg)
			var all sync.WaitGroup
			for range 10 {
				all.Go(func() {
					for range 10 {
						p := send(n, script.Inspect("k"))
						<-p.done
						if got := p.look(); got.Outcome != script.Done && !errors.Is(got.Err, ErrClosed) {
							t.Errorf("inspect: got %v (%v), want Done or ErrClosed", got.Outcome, got.Err)
						}
					}
				})
			}
			all.Go(n.Close)
			all.Go(n.Close)
			all.Wait()
		}
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
	l.n.Send(cmd, l, i)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.by[script.Unsent] > before
}

func (l *load) Answer(i int, a script.Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	l.by[a.Outcome]++
	l.slowest = max(l.slowest, time.Since(l.sent[i]))
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
			slow := withBentConns(cfg.Pool, &bendRules{reply: func(string) any {
				time.Sleep(time.Duration(each.Load()))
				return nil
			}})
			cfg.Pool = withWrappedConns(slow, func(c redis.Conn) redis.Conn {
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
			if grown := heap() - before; grown > 20<<20 {
				t.Errorf("memory after %d s: %d MB more, want 20 at most", seconds, grown>>20)
			}
			if took, most := closed(n), time.Duration(tt.most)*timeout+2*tt.each; took > most {
				t.Errorf("Close: took %v, want %v at most", took, most)
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			if done := l.by[script.Done]; done < tt.least {
				t.Errorf("answers in time: got %v, want %d done at least", l.by, tt.least)
			}
			if most := time.Duration(2*tt.most)*timeout + tt.each; l.open > 0 || l.slowest > most {
				t.Errorf("answers: the last after %v, and %d not at all; want all within %v", l.slowest, l.open, most)
			}
			if got := dialed.Load(); got > tt.most {
				t.Errorf("connections: got %d, want %d at most", got, tt.most)
			}
		})
	}
}
