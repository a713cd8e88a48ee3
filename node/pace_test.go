package node

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// load asks a master for locks and gives them back, more than it can.
type load struct {
	n       *Node
	mu      sync.Mutex
	by      map[script.Outcome]int
	slowest time.Duration // answer
	open    int           // not answered yet
}

// lock sends an acquire and, unless it is known that it had no effect, the release.
func (l *load) lock(i int) {
	owner := script.NewOwner(fmt.Sprint("k", i), fmt.Sprint("me:", i))
	if got := l.send(owner.Acquire(lease, 1)); got == nil || got.Outcome != script.Unsent {
		l.send(owner.Release(1, 0))
	}
}

// send sends cmd, and returns the answer if it came at once.
func (l *load) send(cmd *script.Command) *script.Answer {
	s := &loadAnswer{l: l, sent: time.Now()}
	l.mu.Lock()
	l.open++
	l.mu.Unlock()
	l.n.Send(cmd, s, 0)
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.got
}

type loadAnswer struct {
	l    *load
	sent time.Time
	got  *script.Answer
}

func (s *loadAnswer) Answer(_ int, a script.Answer) {
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	s.got = &a
	s.l.open--
	s.l.by[a.Outcome]++
	s.l.slowest = max(s.l.slowest, time.Since(s.sent))
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
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
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
		})
	}
}
