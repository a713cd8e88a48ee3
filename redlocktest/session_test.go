package redlocktest

import (
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
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
		if got := do(t, killer, "CLIENT", "KILL", "ID", id); got != int64(1) {
			t.Errorf("CLIENT KILL: got %v, want 1", got)
		}
		if got := do(t, killer, "CLIENT", "KILL", "ID", id); got != int64(0) {
			t.Errorf("CLIENT KILL again: got %v, want 0", got)
		}
		time.Sleep(time.Minute)
		if got, want := m.Keys(), []string{"before"}; !slices.Equal(got, want) {
			t.Errorf("keys: got %v, want %v", got, want)
		}
	})
}

// TestClientKillRacesThaw freezes a master while one connection kills the other. The commands may run
// in either order, but the answer must say which.
func TestClientKillRacesThaw(t *testing.T) {
	orders := map[bool]int{}
	for range 50 {
		bubble(t, func(t *testing.T, m *Master) {
			victim, killer := dial(t, m), dial(t, m)
			id := do(t, victim, "CLIENT", "ID")
			m.Freeze()
			send(t, killer, "CLIENT", "KILL", "ID", id)
			send(t, victim, "SET", "k", 1)
			victim.Close()
			synctest.Wait()
			m.Thaw()
			killed, err := redis.Int(killer.Receive())
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			ran := len(m.Keys()) == 1
			if killed == 0 && !ran {
				t.Error("CLIENT KILL answered 0, and the command did not run")
			}
			orders[ran]++
		})
	}
	t.Logf("ran before the kill: %d, prevented: %d", orders[true], orders[false])
}

func TestClientKillEndsSubscription(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		sub, c := dial(t, m), dial(t, m)
		id := do(t, sub, "CLIENT", "ID")
		do(t, sub, "SUBSCRIBE", "ch")
		if got := do(t, c, "PUBLISH", "ch", "one"); got != int64(1) {
			t.Errorf("PUBLISH: got %v receivers, want 1", got)
		}
		if got, err := redis.Strings(sub.Receive()); err != nil || !slices.Equal(got, []string{"message", "ch", "one"}) {
			t.Errorf("Receive: got %v, %v", got, err)
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

func TestPublishInScriptNeverWaitsForReader(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		sub, c := dial(t, m), dial(t, m)
		do(t, sub, "SUBSCRIBE", "ch")
		script := "for i = 1, 1000 do redis.call('publish', 'ch', i) end return redis.call('publish', 'ch', 'last')"
		if got := do(t, c, "EVAL", script, 0); got != int64(1) {
			t.Errorf("EVAL: got %v, want 1 receiver", got)
		}
		for i := 1; i <= 1000; i++ {
			if _, err := sub.Receive(); err != nil {
				t.Fatalf("message %d: %v", i, err)
			}
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
		if got := len(m.links); got != 1 || m.Connections() != 1 {
			t.Errorf("got %d links and %d connections, want 1", got, m.Connections())
		}
	})
}
