package fleet

import (
	"errors"
	"io"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
)

// wantError wants that a command is refused with a reply that begins with prefix.
func wantError(t *testing.T, m *Master, prefix, command string, args ...any) {
	t.Helper()
	if reply, err := m.Do(command, args...); err == nil || !strings.HasPrefix(err.Error(), prefix) {
		t.Errorf("%s %v = %v, %v, want the error %s", command, args, reply, err, prefix)
	}
}

// TestHarm: each act on a server that goes on does what tests and trials rely on.
func TestHarm(t *testing.T) {
	t.Parallel()
	m := one(t, Config{})
	for _, tt := range []struct {
		name string
		test func(t *testing.T)
	}{
		{"flush", func(t *testing.T) {
			check.OK(t, m.Flush())
			check.Equal[any](t, do(t, m, "DBSIZE"), int64(0), "DBSIZE")
		}},
		{"flush scripts", func(t *testing.T) {
			hash := do(t, m, "SCRIPT", "LOAD", "return 1")
			do(t, m, "EVALSHA", hash, 0)
			check.OK(t, m.FlushScripts())
			wantError(t, m, "NOSCRIPT", "EVALSHA", hash, 0)
		}},
		{"kill clients", func(t *testing.T) {
			client, subscriber := dial(t, m), dial(t, m)
			_, err := client.Do("PING")
			check.OK(t, err)
			_, err = subscriber.Do("SUBSCRIBE", "channel")
			check.OK(t, err)
			check.OK(t, m.KillClients())
			if _, err := client.Do("PING"); err == nil {
				t.Error("the connection of a client still works")
			}
			if reply, err := redis.ReceiveWithTimeout(subscriber, patience); !errors.Is(err, io.EOF) {
				t.Errorf("the connection of a subscriber still works: %v, %v", reply, err)
			}
		}},
		{"demote and promote", func(t *testing.T) {
			check.OK(t, m.Demote())
			wantError(t, m, "READONLY", "SET", "key", "changed")
			if err := m.Evict(); err == nil || !strings.HasPrefix(err.Error(), "evict a key of m1: ") {
				t.Errorf("Evict of a replica = %v", err)
			}
			check.OK(t, m.Promote())
			if got, err := redis.String(m.Do("GET", "key")); got != "value" {
				t.Errorf("GET = %q, %v, want what was there", got, err)
			}
			do(t, m, "SET", "key", "changed")
		}},
		{"fill and drain", func(t *testing.T) {
			check.OK(t, m.Fill())
			wantError(t, m, "OOM", "SET", "other", "value")
			check.Equal[any](t, do(t, m, "DBSIZE"), int64(1), "DBSIZE")
			check.OK(t, m.Drain())
			do(t, m, "SET", "other", "value")
		}},
		{"evict", func(t *testing.T) {
			for range 2 { // there is a key, and then there is none
				check.OK(t, m.Evict())
				check.Equal[any](t, do(t, m, "DBSIZE"), int64(0), "DBSIZE")
			}
		}},
		{"occupy", func(t *testing.T) {
			const d = 200 * time.Millisecond
			conn := dial(t, m)
			var refused error
			for range 20 { // what the server reads together with the script, it may carry out before
				var done atomic.Bool
				var acted error
				var wg sync.WaitGroup
				wg.Go(func() {
					for !done.Load() && refused == nil {
						_, refused = conn.Do("SET", "key", "changed")
					}
				})
				wg.Go(func() {
					for !done.Load() && acted == nil {
						acted = m.FlushScripts() // waits for its turn
					}
				})
				began := time.Now()
				err := m.Occupy(d)
				took := time.Since(began)
				done.Store(true)
				wg.Wait()
				if err != nil || acted != nil || took < d {
					t.Fatalf("Occupy = %v after %v, and another act = %v", err, took, acted)
				}
				if refused != nil {
					break
				}
			}
			check.That(t, refused != nil && strings.HasPrefix(refused.Error(), "BUSY"), "SET = %v, want BUSY", refused)
			if limit, err := configured(conn, "lua-time-limit"); limit != "5000" || err != nil {
				t.Errorf("lua-time-limit is %s, %v afterwards", limit, err)
			}
			do(t, m, "SET", "key", "changed")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			do(t, m, "FLUSHALL")
			do(t, m, "SET", "key", "value")
			tt.test(t)
		})
	}
}

// TestKeys: what is left on a master.
func TestKeys(t *testing.T) {
	t.Parallel()
	m := one(t, Config{})
	do(t, m, "SET", "string", strings.Repeat("x", 1000))
	do(t, m, "HSET", "hash", "owner", 1)
	do(t, m, "ZADD", "zset", 7, "a")
	do(t, m, "SADD", "set", "a")
	keys, err := m.Keys()
	check.OK(t, err)
	want := map[string]string{
		"string": `string -1 "` + strings.Repeat("x", 189),
		"hash":   `hash -1 ["owner","1"]`,
		"zset":   `zset -1 ["a","7"]`,
		"set":    "set -1",
	}
	check.That(t, maps.Equal(keys, want), "Keys = %q, want %q", keys, want)
	do(t, m, "PEXPIRE", "hash", 100_000)
	if keys, err = m.Keys(); err != nil || strings.HasPrefix(keys["hash"], "hash -1") {
		t.Errorf("Keys = %q, %v, want what is left of 100000 ms", keys, err)
	}
}

// TestActs: what is done to a master's container leaves its address as it was. It forgets everything if it is not
// durable, and nothing if it is; one that is replaced is another server; and one that was paused goes on, and carries
// out what it was sent meanwhile.
func TestActs(t *testing.T) {
	t.Parallel()
	f := start(t, Config{Masters: 2, Durable: func(i int) bool { return i == 1 }})
	forgets, keeps := f.Masters()[0], f.Masters()[1]
	killPaused := func(m *Master) error {
		check.OK(t, m.Pause())
		return m.Kill()
	}
	for _, act := range []struct {
		name       string
		m          *Master
		begin, end func(*Master) error // nil: there is nothing before the end
		keys       int64
		goesOn     bool // as the same process
	}{
		{"kill", forgets, (*Master).Kill, (*Master).Start, 0, false},
		{"kill one that keeps all", keeps, (*Master).Kill, (*Master).Start, 1, false},
		{"stop", forgets, (*Master).Stop, (*Master).Start, 0, false},
		{"stop one that keeps all", keeps, (*Master).Stop, (*Master).Start, 1, false},
		{"pause", forgets, (*Master).Pause, (*Master).Unpause, 2, true},
		{"kill one that is paused", forgets, killPaused, (*Master).Start, 0, false},
		{"replace", keeps, nil, (*Master).Replace, 0, false},
		{"replace one that is killed", keeps, (*Master).Kill, (*Master).Replace, 0, false},
		{"replace one that is paused", keeps, (*Master).Pause, (*Master).Replace, 0, false},
	} {
		t.Run(act.name, func(t *testing.T) {
			m := act.m
			do(t, m, "FLUSHALL")
			do(t, m, "SET", "key", "value")
			id, address := runID(t, m), m.Addr()
			if act.begin != nil {
				check.OK(t, act.begin(m))
				conn, err := m.Dial(redis.DialReadTimeout(time.Second))
				if err == nil {
					_, err = conn.Do("SET", "other", "value")
					conn.Close()
				}
				if err == nil {
					t.Error("it answers")
				}
			}
			check.OK(t, act.end(m))
			check.Eventually(t, "it has the keys", func() bool { return do(t, m, "DBSIZE") == act.keys })
			if goesOn := runID(t, m) == id; goesOn != act.goesOn || m.Addr() != address {
				t.Errorf("the same process: %v at %s, want %v at %s", goesOn, m.Addr(), act.goesOn, address)
			}
		})
	}
}

// look is when a master was asked for the time, and when it had answered, by our clock.
type look struct{ asked, told, answered time.Time }

func lookAt(t *testing.T, m *Master) look {
	t.Helper()
	l := look{asked: time.Now()}
	now, err := redis.Int64s(m.Do("TIME"))
	check.OK(t, err)
	l.answered, l.told = time.Now(), time.Unix(now[0], now[1]*1000)
	return l
}

// wantAhead allows for a slow answer, and for what the clock gained since then.
func wantAhead(t *testing.T, m *Master, want, gained time.Duration) {
	t.Helper()
	const off = 100 * time.Millisecond
	l := lookAt(t, m)
	if least, most := l.told.Sub(l.answered), l.told.Sub(l.asked); most < want-off || least > want+gained+off {
		t.Errorf("the clock is %v to %v ahead, want %v", least, most, want)
	}
}

// wantPace looks twice. However slow the answers are, the time between them is known within limits.
func wantPace(t *testing.T, m *Master, want float64) {
	t.Helper()
	first := lookAt(t, m)
	time.Sleep(time.Second)
	second := lookAt(t, m)
	passed := second.told.Sub(first.told).Seconds()
	if least, most := second.asked.Sub(first.answered).Seconds(), second.answered.Sub(first.asked).Seconds(); passed < 0.9*want*least || passed > 1.1*want*most {
		t.Errorf("%.2f s passed by a clock that runs at %v, in %.2f to %.2f s", passed, want, least, most)
	}
}

// TestClocks: only the wall clock moves, and keys expire by it.
func TestClocks(t *testing.T) {
	t.Parallel()
	m := one(t, Config{Clocks: true})
	wantAhead(t, m, 0, 0)

	do(t, m, "SET", "key", "value", "EX", 1000)
	check.OK(t, m.MoveClock(time.Hour))
	wantAhead(t, m, time.Hour, 0)
	if there := do(t, m, "EXISTS", "key"); there != int64(0) {
		t.Error("a key that was to expire after 1000 s is still there when the clock is an hour ahead")
	}
	check.OK(t, m.MoveClock(-3*time.Hour))
	wantAhead(t, m, -2*time.Hour, 0)
	check.OK(t, m.Kill())
	check.OK(t, m.Start())
	wantAhead(t, m, -2*time.Hour, 0)
	check.OK(t, m.RightClock())
	wantAhead(t, m, 0, 0)

	runs := time.Now()
	check.OK(t, m.RunClock(2))
	wantAhead(t, m, 0, time.Since(runs)+time.Second)
	wantPace(t, m, 2)
	const busy = 500 * time.Millisecond
	began := time.Now()
	check.OK(t, m.Occupy(busy)) // by the monotonic clock
	if took := time.Since(began); took < busy {
		t.Errorf("while the clock runs at twice the speed, %v took %v", busy, took)
	}
	check.OK(t, m.RunClock(1))
	if l := lookAt(t, m); l.told.Sub(l.asked) < 900*time.Millisecond {
		t.Errorf("the clock is %v ahead, want what it gained", l.told.Sub(l.asked))
	}
	check.OK(t, m.RunClock(0.5))
	wantPace(t, m, 0.5)
	check.OK(t, m.RunClock(10_000)) // shows if it goes on running
	check.OK(t, m.RightClock())
	wantAhead(t, m, 0, 0)
}
