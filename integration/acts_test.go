package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// TestActs checks the harness itself: each act must do what the other tests rely on. Those that need no
// wire are checked in package fleet.
func TestActs(t *testing.T) {
	key := func(m *master) (string, error) { return redis.String(m.try("GET", "key")) }

	t.Run("freeze and cut", func(t *testing.T) {
		ctx := begin(t, time.Minute)
		m := startFleet(ctx, t, fleetConfig{Masters: 1, Wires: true}).masters[0]
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
				if _, err := conn.Do("PING"); err != nil { // the wire has dialed the master
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
