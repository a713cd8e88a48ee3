package integration

import (
	"context"
	"errors"
	"slices"
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
