package redlocktest

import (
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

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

func TestInfo(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		c := dial(t, m)
		m.SetUptime(90 * time.Second)
		time.Sleep(1500 * time.Millisecond)
		for _, section := range []string{"", "everything", "all", "default"} {
			got := info(t, c)
			if section != "" {
				got = info(t, c, section)
			}
			for field, want := range map[string]string{
				"role": "master", "connected_slaves": "0", "loading": "0", "aof_enabled": "0",
				"master_replid2": noReplID, "uptime_in_seconds": "91",
			} {
				check.Equal(t, got[field], want, "INFO %s: %s", section, field)
			}
		}
		got := slices.Sorted(maps.Keys(info(t, c, "PERSISTENCE")))
		if want := []string{"aof_enabled", "loading"}; !slices.Equal(got, want) {
			t.Errorf("INFO PERSISTENCE: got %v, want %v", got, want)
		}
		m.SetAOF(true)
		m.Refuse("LOADING Redis is loading the dataset in memory")
		if got := info(t, c, "server", "persistence"); got["loading"] != "1" || got["aof_enabled"] != "1" || got["run_id"] == "" {
			t.Errorf("INFO server persistence: got %v", got)
		}
	})
}

func TestRefuse(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		c := dial(t, m)
		m.Refuse("MISCONF no disk")
		refused(t, c, "MISCONF no disk", "EVAL", "return 1", 0)
		info(t, c)
		m.Refuse("")
		do(t, c, "EVAL", "return 1", 0)
	})
}

func TestClientKillBeforeThawedCommand(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		victim, killer := dial(t, m), dial(t, m)
		id := do(t, victim, "CLIENT", "ID")
		send(t, victim, "SET", "before", 1)
		synctest.Wait()
		m.Delay(time.Second) // the victim's next command is in transit when it is killed
		send(t, victim, "SET", "after", 1)
		m.Delay(0)
		victim.Close()
		check.Equal[any](t, do(t, killer, "CLIENT", "KILL", "ID", id), int64(1), "CLIENT KILL")
		check.Equal[any](t, do(t, killer, "CLIENT", "KILL", "ID", id), int64(0), "CLIENT KILL again")
		time.Sleep(time.Minute)
		wantKeys(t, m, "keys", "before")
	})
}

// A script that publishes waits for no reader, and CLIENT KILL ends a subscription at once.
func TestSubscription(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		sub, c := dial(t, m), dial(t, m)
		id := do(t, sub, "CLIENT", "ID")
		do(t, sub, "SUBSCRIBE", "ch")
		script := "for i = 1, 999 do redis.call('publish', 'ch', i) end return redis.call('publish', 'ch', '1000')"
		check.Equal[any](t, do(t, c, "EVAL", script, 0), int64(1), "receivers")
		for i := 1; i <= 1000; i++ {
			if got, err := redis.Strings(sub.Receive()); err != nil || !slices.Equal(got, []string{"message", "ch", strconv.Itoa(i)}) {
				t.Fatalf("Receive: got %v, %v, want message %d", got, err, i)
			}
		}
		do(t, c, "CLIENT", "KILL", "ID", id)
		check.Equal[any](t, do(t, c, "PUBLISH", "ch", "two"), int64(0), "receivers after CLIENT KILL")
		check.Err(t, "Receive after CLIENT KILL", second(sub.Receive()), io.EOF)
	})
}

func TestClosedConnectionsAreForgotten(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		for range 10 {
			dial(t, m).Close()
			synctest.Wait()
		}
		dial(t, m)
		got := len(m.network.links)
		check.That(t, got == 1 && m.Connections() == 1, "got %d links and %d connections, want 1", got, m.Connections())
	})
}
