package otelredlock

import (
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// TestMasterStates: what a master is good for, as it changes.
func TestMasterStates(t *testing.T) {
	for name, tt := range map[string]struct {
		harm, mend   func(*redlocktest.Master)
		state, after string
	}{
		"killed":      {(*redlocktest.Master).Kill, (*redlocktest.Master).RestartWithData, "down", "guarded"},
		"frozen":      {(*redlocktest.Master).Freeze, (*redlocktest.Master).Thaw, "down", "up"},
		"restarted":   {(*redlocktest.Master).Restart, func(*redlocktest.Master) {}, "guarded", "guarded"},
		"a replica":   {func(m *redlocktest.Master) { m.SetRole("slave") }, func(m *redlocktest.Master) { m.SetRole("master") }, "refused", "guarded"},
		"ahead":       {func(m *redlocktest.Master) { m.Skew(time.Minute) }, func(*redlocktest.Master) {}, "unsteady", "unsteady"},
		"ahead, dead": {func(m *redlocktest.Master) { m.Skew(time.Minute) }, (*redlocktest.Master).Restart, "unsteady", "guarded"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, Config{}, func(t *testing.T, l *lab) {
				c := l.open(redlock.Config{RestartGuard: time.Minute})
				hold := l.lock(t.Context(), c, "a") // masters are asked each second
				l.expectState("at first", "up")
				tt.harm(l.fleet.Master(0))
				time.Sleep(5 * time.Second)
				l.expectState("when it is harmed", tt.state)
				tt.mend(l.fleet.Master(0))
				time.Sleep(5 * time.Second)
				l.expectState("when it is mended", tt.after)
				time.Sleep(2 * time.Minute)
				l.expectState("later", "up")
				l.unlock(hold)
			})
		})
	}
}

// TestNotConnected: masters count from the beginning, though none has been reached yet.
func TestNotConnected(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, l *lab) {
		each(l.fleet, 0, 3, (*redlocktest.Master).Cut)
		l.open(redlock.Config{})
		l.expectState("before any answer", "down")
	})
}

// TestClientsShareMasters: clients that see a master in the same state are counted, and one that is
// closed no longer.
func TestClientsShareMasters(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, l *lab) {
		a, b := l.open(redlock.Config{}), l.open(redlock.Config{})
		up := "master.state{master=pool 0,state=up}"
		l.expect("with two clients", map[string]int64{up: 2})
		a.Close()
		synctest.Wait()
		l.expect("with one client", map[string]int64{up: 1})
		b.Close()
		synctest.Wait()
		if _, there := l.metrics()[up]; there {
			t.Error("a master is left when all clients are closed")
		}
		l.open(redlock.Config{})
		l.expect("with a new client", map[string]int64{up: 1})
	})
}

// expectState wants the first master to be in this state, and in no other.
func (l *lab) expectState(when, state string) {
	l.t.Helper()
	values := map[string]int64{}
	for _, s := range states {
		values["master.state{master=pool 0,state="+s+"}"] = 0
	}
	values["master.state{master=pool 0,state="+state+"}"] = 1
	l.expect(when, values)
}
