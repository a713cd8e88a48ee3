package redlocktest

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
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
		got, want := m.Keys(), []string{"before"}
		check.That(t, slices.Equal(got, want), "keys: got %v, want %v", got, want)
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
		got := len(m.network.links)
		check.That(t, got == 1 && m.Connections() == 1, "got %d links and %d connections, want 1", got, m.Connections())
	})
}
