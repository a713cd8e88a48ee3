package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	containers "example.com/redlock/integration/fleet"
	"example.com/redlock/node/script"
	"example.com/redlock/redlock"
)

// TestNotALock: every call reports another program's data, and leaves it alone.
func TestNotALock(t *testing.T) {
	ctx := begin(t, time.Minute)
	f := startFleet(ctx, t, containers.Config{Masters: 3})
	client := f.client(redlock.Config{})
	dump := func(key string) (all []string) {
		for _, m := range f.masters {
			text, err := redis.String(m.try("DUMP", key))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, text)
		}
		return all
	}
	for _, tt := range []struct {
		key  string
		put  []any
		what string
	}{
		{"user:1", []any{"HSET", "user:1", "name", "bob", "age", "3"}, "a hash of 2 fields"},
		{"user:2", []any{"SET", "user:2", "bob"}, "a string"},
		{"user:3", []any{"HSET", "user:3", "name", "bob"}, "a hash whose only field is no owner"},
		{"user:4", []any{"ZADD", "user:4", 1, "bob"}, "a sorted set"},
		{"user:5", []any{"HSET", "user:5", "mode", "write", "7ee2cd4e-5d3b-4b6e-8f2a-6b1b6f1f2a10:1:write", 1}, "a hash of 2 fields"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			for _, m := range f.masters {
				m.do(t, "FLUSHALL")
				m.do(t, tt.put[0].(string), tt.put[1:]...)
			}
			before := dump(tt.key)
			for name, call := range map[string]func(context.Context) error{
				"Lock":        func(ctx context.Context) error { _, err := client.Lock(ctx, tt.key); return err },
				"TryLock":     func(ctx context.Context) error { _, err := client.TryLock(ctx, tt.key); return err },
				"Inspect":     func(ctx context.Context) error { _, err := client.Inspect(ctx, tt.key); return err },
				"ForceUnlock": func(ctx context.Context) error { _, err := client.ForceUnlock(ctx, tt.key); return err },
			} {
				short, cancel := context.WithTimeout(ctx, time.Second)
				err := call(short)
				cancel()
				what, ok := errors.AsType[*script.NotLockError](err)
				if !ok || what.What != tt.what || !errors.Is(err, redlock.ErrNoQuorum) {
					t.Errorf("%s = %v, want ErrNoQuorum and %q", name, err, tt.what)
				}
			}
			for i, after := range dump(tt.key) {
				if after != before[i] {
					t.Errorf("%s has changed %s", f.masters[i].Name(), tt.key)
				}
			}
			for _, m := range f.masters {
				keys, err := redis.Strings(m.try("KEYS", "*"))
				keys = slices.DeleteFunc(keys, func(key string) bool {
					return key == "redlock_sets" || strings.HasPrefix(key, "redlock_client:") // no lock's
				})
				if err != nil || len(keys) != 1 {
					t.Errorf("%s has the keys %q, %v, want %s alone", m.Name(), keys, err, tt.key)
				}
			}
		})
	}
}

// TestCommandsOfALock: which commands a master carries out for a lock that nobody else wants, and
// that it does not read a large hash of another program.
func TestCommandsOfALock(t *testing.T) {
	ctx := begin(t, time.Minute)
	f := startFleet(ctx, t, containers.Config{Masters: 1})
	m, client := f.masters[0], f.client(redlock.Config{})
	m.do(t, "EVAL", "for i = 1, 100000 do redis.call('hset', KEYS[1], i, i) end", 1, "large")
	warm := func(name string) {
		mustUnlock(ctx, t, mustLock(ctx, t, client, name))
		_, _ = client.Inspect(ctx, name)
		_, _ = client.ForceUnlock(ctx, name)
	}
	warm("other")
	eventually(ctx, t, time.Second, "the client's record", func() error { // the next is sent 12 s later
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
			map[string]int{"evalsha": 2, "exists": 3, "pttl": 1, "hrandfield": 1, "type": 1, "hlen": 1, "hdel": 1, "zpopmin": 1},
		},
		{
			"inspect no lock", func() { _, _ = client.Inspect(ctx, "large") },
			map[string]int{"evalsha": 1, "hrandfield": 1, "type": 1, "hlen": 1},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m.do(t, "CONFIG", "RESETSTAT")
			tt.do()
			eventually(ctx, t, time.Second, "the commands", func() error {
				if got := m.commands(t); !maps.Equal(got, tt.want) {
					return fmt.Errorf("carried out %v, want %v", got, tt.want)
				}
				return nil
			})
		})
	}
}

// commands returns how often each command was carried out since the last CONFIG RESETSTAT, except
// those that a client sends every second.
func (m *master) commands(t *testing.T) map[string]int {
	t.Helper()
	text, err := redis.String(m.do(t, "INFO", "commandstats"), nil)
	if err != nil {
		t.Fatal(err)
	}
	calls := make(map[string]int)
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		number, _, _ := strings.Cut(rest, ",")
		if n, err := strconv.Atoi(number); err == nil {
			calls[name] = n
		}
	}
	for _, other := range []string{"ping", "time", "info", "config|resetstat"} {
		delete(calls, other)
	}
	return calls
}
