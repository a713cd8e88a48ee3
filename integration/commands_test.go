package integration

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	containers "example.com/redlock/integration/fleet"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
)

// TestCommandsOfALock: which commands a master carries out for a lock that nobody else wants, and
// that it does not read a large hash of another program.
func TestCommandsOfALock(t *testing.T) {
	ctx := begin(t)
	f := startFleet(ctx, t, containers.Config{Masters: 1})
	m, client := f.masters[0], f.client(redlock.Config{})
	m.do(t, "EVAL", "for i = 1, 100000 do redis.call('hset', KEYS[1], i, i) end", 1, "large")
	warm := func(name string) {
		mustUnlock(ctx, t, mustLock(ctx, t, client, name))
		_, _ = redlockadmin.Of(client).Inspect(ctx, name)
		_, _ = redlockadmin.Of(client).ForceUnlock(ctx, name)
	}
	warm("other")
	eventually(ctx, t, "the client's record", func() error {
		if n, err := redis.Int(m.try("EXISTS", "redlock_sets")); err != nil || n != 1 {
			return fmt.Errorf("EXISTS = %d, %v", n, err)
		}
		return nil
	})
	for _, tt := range []struct {
		name string
		do   func()
		want map[string]int
	}{
		{
			"free", func() { mustUnlock(ctx, t, mustLock(ctx, t, client, "free")) },
			map[string]int{"evalsha": 2, "exists": 2, "set": 1, "hset": 1, "pexpire": 1, "hdel": 1, "publish": 1},
		},
		{
			"no lock", func() {
				if hold, err := client.TryLock(ctx, "large"); err == nil {
					t.Errorf("TryLock of a large hash = %v", hold)
				}
			},
			map[string]int{"evalsha": 2, "exists": 3, "hrandfield": 2, "type": 2, "hlen": 2, "hdel": 1},
		},
		{
			"inspect no lock", func() { _, _ = redlockadmin.Of(client).Inspect(ctx, "large") },
			map[string]int{"evalsha": 1, "hrandfield": 1, "type": 1, "hlen": 1},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for try := 1; ; try++ { // the client's next record is sent 12 s later, and may come between
				m.do(t, "CONFIG", "RESETSTAT")
				tt.do()
				var got map[string]int
				eventually(ctx, t, "all commands, or others", func() error {
					got = m.commands(t)
					for command, n := range tt.want {
						if got[command] < n {
							return fmt.Errorf("carried out %v, want %v", got, tt.want)
						}
					}
					return nil
				})
				if maps.Equal(got, tt.want) {
					break
				} else if try == 5 {
					t.Fatalf("carried out %v, want %v", got, tt.want)
				}
			}
		})
	}
}

// commands returns how often each command was carried out since the last CONFIG RESETSTAT, except
// those that a client sends every second.
func (m *master) commands(t *testing.T) map[string]int {
	t.Helper()
	calls := make(map[string]int)
	for name, value := range m.info(t, "commandstats") {
		n, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
		calls[strings.TrimPrefix(name, "cmdstat_")], _ = strconv.Atoi(n)
	}
	for _, other := range []string{"ping", "time", "info", "config|resetstat"} {
		delete(calls, other)
	}
	return calls
}

// TestForgedKeys: what no client of ours writes neither blocks readers nor an operator. Masters in memory know no such
// numbers.
func TestForgedKeys(t *testing.T) {
	ctx := begin(t)
	f := startFleet(ctx, t, containers.Config{Masters: 1})
	m, client := f.masters[0], f.client(redlock.Config{})
	admin := redlockadmin.Of(client)
	for _, ends := range []string{"inf", "1e300"} {
		m.do(t, "HSET", "forged", "mode", "shared")
		m.do(t, "ZADD", "redlock_read:{forged}", ends, "x:r1")
		reader, err := client.TryLock(ctx, "forged", redlock.Shared())
		if err != nil {
			t.Fatalf("a reader beside one that lasts until %s: %v", ends, err)
		}
		mustUnlock(ctx, t, reader)
		if freed, err := admin.ForceUnlock(ctx, "forged"); !freed || err != nil {
			t.Errorf("ForceUnlock of a reader that lasts until %s = %t, %v", ends, freed, err)
		}
	}
	m.do(t, "SET", "redlock_fence:{counted}", "nan")
	if _, err := client.TryLock(ctx, "counted", redlock.Shared()); err == nil || !strings.Contains(err.Error(), "no positive number") {
		t.Errorf("the lock of a reader whose counter is nan = %v", err)
	}
}
