package redlocktest

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
)

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
				"master_replid2": noReplID, "uptime_in_seconds": "91", "tcp_port": "6379",
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

func TestSlaveRefusesWritesAndPromotionShows(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		c := dial(t, m)
		m.SetRole("slave")
		slave := info(t, c)
		check.Equal(t, slave["role"], "slave", "role")
		refused(t, c, "READONLY ", "EVAL", "return redis.call('set', 'k', 1)", 0)
		refused(t, c, "READONLY ", "EVAL", "redis.call('get', 'k') return redis.call('hset', 'h', 'f', 1)", 0)
		do(t, c, "EVAL", "return redis.call('pttl', 'k')", 0)
		m.SetRole("master")
		promoted := info(t, c)
		if promoted["master_replid2"] != slave["master_replid"] || promoted["run_id"] != slave["run_id"] {
			t.Errorf("after promotion: got %v, want master_replid2 %s", promoted, slave["master_replid"])
		}
		do(t, c, "SET", "k", 1)
	})
}

func TestPassword(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := Start(t, 1)
		f.Master(0).Password("secret")
		c := f.Pools()[0].Get()
		defer c.Close()
		refused(t, c, "NOAUTH ", "PING")
		c = f.Pools(redis.DialPassword("wrong"))[0].Get()
		defer c.Close()
		refused(t, c, "WRONGPASS ", "PING")
		c = f.Pools(redis.DialPassword("secret"))[0].Get()
		defer c.Close()
		do(t, c, "PING")
	})
}

func TestSkew(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		c := dial(t, m)
		do(t, c, "SET", "k", "v", "PX", 10_000)
		m.Skew(4 * time.Second)
		check.Equal[any](t, do(t, c, "PTTL", "k"), int64(6000), "PTTL")
		now, err := redis.Int64s(c.Do("TIME"))
		if want := time.Now().Add(4 * time.Second).Unix(); err != nil || now[0] != want {
			t.Errorf("TIME: got %v, %v, want %d", now, err, want)
		}
		m.Skew(0)
		time.Sleep(4 * time.Second)
		if got := do(t, c, "PTTL", "k"); got != int64(2000) {
			t.Errorf("PTTL: got %v, want 2000 (miniredis keeps what is left)", got)
		}
		time.Sleep(time.Second)
		check.Equal(t, m.TTL("k"), time.Second, "TTL")
	})
}
