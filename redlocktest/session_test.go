package redlocktest

import (
	"errors"
	"io"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
)

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
		if got, want := m.Keys(), []string{"before"}; !slices.Equal(got, want) {
			t.Errorf("keys: got %v, want %v", got, want)
		}
	})
}

// A script that publishes waits for no reader, and CLIENT KILL ends a subscription at once.
func TestSubscription(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		sub, c := dial(t, m), dial(t, m)
		id := do(t, sub, "CLIENT", "ID")
		do(t, sub, "SUBSCRIBE", "ch")
		script := "for i = 1, 999 do redis.call('publish', 'ch', i) end return redis.call('publish', 'ch', '1000')"
		if got := do(t, c, "EVAL", script, 0); got != int64(1) {
			t.Errorf("EVAL: got %v receivers, want 1", got)
		}
		for i := 1; i <= 1000; i++ {
			if got, err := redis.Strings(sub.Receive()); err != nil || !slices.Equal(got, []string{"message", "ch", strconv.Itoa(i)}) {
				t.Fatalf("Receive: got %v, %v, want message %d", got, err, i)
			}
		}
		do(t, c, "CLIENT", "KILL", "ID", id)
		if got := do(t, c, "PUBLISH", "ch", "two"); got != int64(0) {
			t.Errorf("PUBLISH after CLIENT KILL: got %v receivers, want 0", got)
		}
		if _, err := sub.Receive(); !errors.Is(err, io.EOF) {
			t.Errorf("Receive after CLIENT KILL: got %v, want EOF", err)
		}
	})
}

func TestClosedConnectionsAreForgotten(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		for range 10 {
			dial(t, m).Close()
			synctest.Wait()
		}
		dial(t, m)
		if got := len(m.network.links); got != 1 || m.Connections() != 1 {
			t.Errorf("got %d links and %d connections, want 1", got, m.Connections())
		}
	})
}
