package redlocktest

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
)

func TestData(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		c := dial(t, m)
		do(t, c, "HSET", "lock", "owner", 2)
		do(t, c, "PEXPIRE", "lock", 1500)
		do(t, c, "ZADD", "queue", "1763683200123456", "a", 2, "b")
		m.Set("queue2", "v")
		m.HSet("queue2", "f", "v")
		m.Expire("queue2", time.Second)
		for _, tt := range []struct {
			call      string
			got, want any
		}{
			{"Holder(lock)", m.Holder("lock"), "owner"},
			{"Holder(none)", m.Holder("none"), ""},
			{"HGet(lock, owner)", m.HGet("lock", "owner"), "2"},
			{"TTL(lock)", m.TTL("lock"), 1500 * time.Millisecond},
			{"TTL(queue)", m.TTL("queue"), time.Duration(0)},
			{"Type(queue)", m.Type("queue"), "zset"},
			{"Type(queue2)", m.Type("queue2"), "hash"},
			{"Type(none)", m.Type("none"), ""},
			{"Hash(queue)", len(m.Hash("queue")), 0},
			{"ZSet(lock)", len(m.ZSet("lock")), 0},
			{"Get(lock)", m.Get("lock"), ""},
			{"Connections()", m.Connections(), 1},
			{"Calls(zadd)", m.Calls("zadd"), int64(1)},
			{"Commands()", m.Commands(), int64(3)},
		} {
			check.That(t, tt.got == tt.want, "%s: got %v, want %v", tt.call, tt.got, tt.want)
		}
		if got, want := m.ZSet("queue"), (map[string]float64{"a": 1763683200123456, "b": 2}); !maps.Equal(got, want) {
			t.Errorf("ZSet(queue): got %v, want %v", got, want)
		}
		time.Sleep(1500 * time.Millisecond)
		if got, want := m.Keys(), []string{"queue"}; !slices.Equal(got, want) || m.Holder("lock") != "" {
			t.Errorf("after 1.5s: got %v, holder %q, want %v and none", got, m.Holder("lock"), want)
		}
		check.That(t, m.Del("queue") && !m.Del("queue"), "Del(queue): want true, then false")
		m.Set("k", "v")
		m.FlushAll()
		check.Equal(t, len(m.Keys()), 0, "keys after FlushAll")
		sha := do(t, c, "SCRIPT", "LOAD", "return 1")
		do(t, c, "EVALSHA", sha, 0)
		m.FlushScripts()
		refused(t, c, "NOSCRIPT ", "EVALSHA", sha, 0)
	})
}

// wide returns what an integer of more than 32 bits becomes in an answer: see the caveats of this package.
func wide(n int64) int64 {
	if strconv.IntSize == 32 {
		return math.MinInt32
	}
	return n
}

// TestScripts checks what our scripts need from Lua, and that errors are worded as in Redis.
func TestScripts(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		c := dial(t, m)
		do(t, c, "SET", "string", "v")
		do(t, c, "HSET", "hash", "f", 1)
		do(t, c, "PEXPIRE", "hash", 1234)
		const sha = "0000000000000000000000000000000000000000"
		for _, test := range []struct {
			script string
			want   any // an error is its text, with sha for the script's own
		}{
			{"return redis.call('pttl', 'hash')", int64(1234)},
			{"return redis.call('pttl', 'none')", int64(-2)},
			{"return redis.call('hexists', 'hash', 'f')", int64(1)},
			{"return redis.call('hkeys', 'hash')[1]", "f"},
			{"return redis.call('publish', 'ch', 'm')", int64(0)},
			{"return redis.call('get', 'none') == false", int64(1)},
			{"return 2^53", wide(1 << 53)},
			{"return -4294967296123", wide(-4294967296123)},
			{"return string.format('%.0f', ARGV[1] + 1)", "9007199254740992"},
			{"redis.call('set', 'n', ARGV[1] + 1) return redis.call('get', 'n')", "9007199254740992"},
			{"return redis.error_reply('MY own')", "MY own"},
			{"return redis.pcall('hget', 'string', 'f').err", "WRONGTYPE Operation against a key holding the wrong kind of value"},
			{"\n\nreturn redis.call('hget', 'string', 'f')", "WRONGTYPE Operation against a key holding the wrong kind of value script: " + sha + ", on @user_script:3."},
			{"error('boom')", "ERR user_script:1: boom script: " + sha + ", on @user_script:1."},
			{"return redis.call('nope')", "ERR Unknown Redis command called from script script: " + sha + ", on @user_script:1."},
		} {
			want := test.want
			for _, call := range []string{"EVAL", "EVALSHA"} {
				text := test.script
				id, err := c.Do("SCRIPT", "LOAD", test.script)
				check.OK(t, err)
				if call == "EVALSHA" {
					text = string(id.([]byte))
				}
				got, err := c.Do(call, text, 0, "9007199254740991")
				if err != nil {
					got = strings.ReplaceAll(err.Error(), string(id.([]byte)), sha)
				} else if b, ok := got.([]byte); ok {
					got = string(b)
				}
				check.That(t, got == want, "%s %q:\ngot  %v\nwant %v", call, test.script, got, want)
			}
		}
	})
}

// TestCloseEndsEverything: everybody who waits for a fleet gets an error when it closes.
func TestCloseEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New(4)
		frozen, cut, dialled, slow := f.Master(0), f.Master(1), f.Master(2), f.Master(3)
		a, b, c := dial(t, frozen), dial(t, cut), dial(t, slow)
		frozen.Freeze()
		cut.Cut()
		dialled.Cut()
		slow.Delay(time.Hour)
		errs := make(chan error, 4)
		go func() { _, err := a.Do("PING"); errs <- err }()
		go func() { _, err := b.Do("PING"); errs <- err }()
		go func() { _, err := c.Do("PING"); errs <- err }()
		go func() { _, err := dialled.Dial(t.Context()); errs <- err }()
		synctest.Wait()
		start := time.Now()
		f.Close()
		f.Close()
		for range 4 {
			check.That(t, <-errs != nil, "got no error")
		}
		check.Equal(t, time.Since(start), 0, "Close took")
		f.Master(0).Restart()
		check.That(t, !f.Master(0).Alive(), "Restart after Close: the master lives")
	})
}
