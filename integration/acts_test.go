package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// TestActs checks the harness itself: each act must do what the other tests rely on.
func TestActs(t *testing.T) {
	key := func(m *master) (string, error) { return redis.String(m.try("GET", "key")) }

	for _, durable := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart durable=%v", durable), func(t *testing.T) {
			ctx := begin(t, time.Minute)
			m := startFleet(ctx, t, fleetConfig{Masters: 1, Durable: durable}).masters[0]
			for _, end := range []func(*master, context.Context, *testing.T){(*master).kill, (*master).stop} {
				m.do(t, "SET", "key", "value")
				end(m, ctx, t)
				if _, err := key(m); err == nil {
					t.Errorf("an ended master answers")
				}
				m.start(ctx, t)
				if got, err := key(m); (got == "value") != durable {
					t.Errorf("GET after the restart = %q, %v, with durable=%v", got, err, durable)
				}
			}
		})
	}

	t.Run("freeze and cut", func(t *testing.T) {
		ctx := begin(t, time.Minute)
		m := startFleet(ctx, t, fleetConfig{Masters: 1, Relay: true}).masters[0]
		acts := []struct {
			name       string
			hurt, undo func()
			during     string // what the master has carried out while it is hurt
		}{
			{"pause", func() { m.pause(t) }, func() { m.unpause(t) }, "unknown"},
			{"cut", m.cut, m.mend, "before"},
			{"cut answers", m.cutAnswers, m.mend, "after"},
		}
		for _, act := range acts {
			t.Run(act.name, func(t *testing.T) {
				m.do(t, "SET", "key", "before")
				conn, err := redis.Dial("tcp", m.addr, redis.DialReadTimeout(5*time.Second))
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if _, err := conn.Do("PING"); err != nil { // the relay has dialed the master
					t.Fatal(err)
				}
				act.hurt()
				if _, err := redis.DoWithTimeout(conn, 200*time.Millisecond, "SET", "key", "after"); err == nil {
					t.Errorf("a hurt master answers")
				}
				if act.during != "unknown" {
					if got, err := key(m); got != act.during {
						t.Errorf("GET while hurt = %q, %v, want %q", got, err, act.during)
					}
				}
				act.undo()
				eventually(ctx, t, 2*time.Second, "the command is carried out afterwards", func() error {
					if got, err := key(m); got != "after" {
						return fmt.Errorf("GET = %q, %v", got, err)
					}
					return nil
				})
			})
		}
	})
}
