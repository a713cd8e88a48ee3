package fleet

import (
	"context"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// TestRestart: a master that ends and comes back has forgotten everything if it is not durable, and nothing
// if it is.
func TestRestart(t *testing.T) {
	t.Parallel()
	ctx, f := start(t, Config{Masters: 2, Durable: func(i int) bool { return i == 1 }})
	for _, end := range []struct {
		name string
		act  func(*Master, context.Context) error
	}{{"kill", (*Master).Kill}, {"stop", (*Master).Stop}} {
		for i, m := range f.Masters() {
			t.Run(end.name+" "+m.Name(), func(t *testing.T) {
				do(t, m, "SET", "key", "value")
				before := runID(t, m)
				did(t, end.act(m, ctx))
				if _, err := m.Do("PING"); err == nil {
					t.Error("it answers after its end")
				}
				did(t, m.Start(ctx))
				if runID(t, m) == before {
					t.Error("the run id is that of before")
				}
				if keys, want := do(t, m, "DBSIZE"), int64(i); keys != want {
					t.Errorf("DBSIZE = %v, want %d", keys, want)
				}
			})
		}
	}
}

// TestReplace: whatever its state and data, a replaced master is another server at the same address.
func TestReplace(t *testing.T) {
	t.Parallel()
	ctx, m := one(t, Config{Durable: func(int) bool { return true }})
	for _, state := range []struct {
		name string
		get  func() error
	}{
		{"running", func() error { return nil }},
		{"killed", func() error { return m.Kill(ctx) }},
		{"paused", m.Pause},
	} {
		t.Run(state.name, func(t *testing.T) {
			do(t, m, "SET", "key", "value")
			id, address := runID(t, m), m.Addr()
			did(t, state.get())
			did(t, m.Replace(ctx))
			if runID(t, m) == id || m.Addr() != address {
				t.Errorf("run %s at %s, want another than %s at %s", runID(t, m), m.Addr(), id, address)
			}
			if keys := do(t, m, "DBSIZE"); keys != int64(0) {
				t.Errorf("DBSIZE = %v, want 0", keys)
			}
			if age := number(t, m, "uptime_in_seconds"); age > 5 {
				t.Errorf("it is %d s old", age)
			}
		})
	}
}

// TestPause: a paused master carries out what it was sent when it goes on.
func TestPause(t *testing.T) {
	t.Parallel()
	ctx, m := one(t, Config{})
	conn := dial(t, m)
	did(t, m.Pause())
	if _, err := redis.DoWithTimeout(conn, 200*time.Millisecond, "SET", "key", "value"); err == nil {
		t.Error("a paused master answers")
	}
	did(t, m.Unpause())
	eventually(t, 5*time.Second, "the command is carried out", func() bool { return do(t, m, "DBSIZE") == int64(1) })

	did(t, m.Pause())
	did(t, m.Kill(ctx))
	did(t, m.Start(ctx))
	if keys := do(t, m, "DBSIZE"); keys != int64(0) {
		t.Errorf("DBSIZE = %v after it was killed while it was paused, want 0", keys)
	}
}
