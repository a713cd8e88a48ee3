package fleet

import (
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// TestActs: what is done to a master's container leaves its address as it was. It forgets everything if it is not
// durable, and nothing if it is; one that is replaced is another server; and one that was paused goes on, and carries
// out what it was sent meanwhile.
func TestActs(t *testing.T) {
	t.Parallel()
	f := start(t, Config{Masters: 2, Durable: func(i int) bool { return i == 1 }})
	forgets, keeps := f.Masters()[0], f.Masters()[1]
	killPaused := func(m *Master) error {
		did(t, m.Pause())
		return m.Kill()
	}
	for _, act := range []struct {
		name       string
		m          *Master
		begin, end func(*Master) error // nil: there is nothing before the end
		keys       int64
		goesOn     bool // as the same process
	}{
		{"kill", forgets, (*Master).Kill, (*Master).Start, 0, false},
		{"kill one that keeps all", keeps, (*Master).Kill, (*Master).Start, 1, false},
		{"stop", forgets, (*Master).Stop, (*Master).Start, 0, false},
		{"stop one that keeps all", keeps, (*Master).Stop, (*Master).Start, 1, false},
		{"pause", forgets, (*Master).Pause, (*Master).Unpause, 2, true},
		{"kill one that is paused", forgets, killPaused, (*Master).Start, 0, false},
		{"replace", keeps, nil, (*Master).Replace, 0, false},
		{"replace one that is killed", keeps, (*Master).Kill, (*Master).Replace, 0, false},
		{"replace one that is paused", keeps, (*Master).Pause, (*Master).Replace, 0, false},
	} {
		t.Run(act.name, func(t *testing.T) {
			m := act.m
			do(t, m, "FLUSHALL")
			do(t, m, "SET", "key", "value")
			id, address := runID(t, m), m.Addr()
			if act.begin != nil {
				did(t, act.begin(m))
				conn, err := m.Dial(redis.DialReadTimeout(time.Second))
				if err == nil {
					_, err = conn.Do("SET", "other", "value")
					conn.Close()
				}
				if err == nil {
					t.Error("it answers")
				}
			}
			did(t, act.end(m))
			eventually(t, "it has the keys", func() bool { return do(t, m, "DBSIZE") == act.keys })
			if goesOn := runID(t, m) == id; goesOn != act.goesOn || m.Addr() != address {
				t.Errorf("the same process: %v at %s, want %v at %s", goesOn, m.Addr(), act.goesOn, address)
			}
		})
	}
}
