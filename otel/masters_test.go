package otelredlock

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktest"
	"example.com/redlock/redlocktrace"
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
		_, there := l.metrics()[up]
		check.That(t, !there, "a master is left when all clients are closed")
		l.open(redlock.Config{})
		l.expect("with a new client", map[string]int64{up: 1})
	})
}

// expectState wants the first master to be in this state, and in no other.
func (l *lab) expectState(when, state string) {
	l.t.Helper()
	values := map[string]int64{}
	for _, s := range states {
		values["master.state{master=pool 0,state="+string(s)+"}"] = 0
	}
	values["master.state{master=pool 0,state="+state+"}"] = 1
	l.expect(when, values)
}

// TestOverlap: other sets of masters in use are counted until they are no longer.
func TestOverlap(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, l *lab) {
		c := l.open(redlock.Config{})
		l.expect("at first", map[string]int64{"overlap.count{}": 0})
		l.trace.SetsOverlap(redlocktrace.SetsOverlap{Client: redlockadmin.Of(c).IDs()[0], Other: "3:a,b,c", Err: redlock.ErrOverlap})
		l.trace.SetsOverlap(redlocktrace.SetsOverlap{Client: redlockadmin.Of(c).IDs()[0], Other: "3:a,b,d", Err: redlock.ErrOverlap})
		l.expect("when two were found", map[string]int64{"overlap.count{}": 2})
		l.trace.SetsOverlap(redlocktrace.SetsOverlap{Client: redlockadmin.Of(c).IDs()[0], Other: "3:a,b,c"})
		l.expect("when one has gone", map[string]int64{"overlap.count{}": 1})
	})
}

// TestMissed: when events were dropped, what had begun is forgotten, and what goes on does no harm.
func TestMissed(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, l *lab) {
		a, b := l.open(redlock.Config{}), l.open(redlock.Config{})
		hold := l.lock(t.Context(), a, "a")
		other := l.lock(t.Context(), b, "b")
		got := make(chan *redlock.Hold)
		go func() { got <- l.lock(t.Context(), a, "b") }()
		time.Sleep(time.Second)
		l.expect("before", map[string]int64{"hold.count{kind=lock}": 2, "waiter.count{kind=lock}": 1})
		l.trace.ClientChanged(redlocktrace.ClientChanged{Client: redlockadmin.Of(a).IDs()[0], State: redlocktrace.ClientMissed, Missed: 7})
		l.expect("then", map[string]int64{"hold.count{kind=lock}": 1, "waiter.count{kind=lock}": 0, "trace.missed{}": 7})
		l.unlock(hold)
		check.OK(t, other.Unlock(t.Context()))
		next := <-got
		time.Sleep(time.Minute)
		l.expect("later", map[string]int64{"hold.count{kind=lock}": 1, "waiter.count{kind=lock}": 0, "acquire.duration{kind=lock,outcome=acquired}": 3})
		l.unlock(next)
		l.expect("at the end", map[string]int64{"hold.count{kind=lock}": 0, "release.duration{}": 3})
	})
}

// TestErrorsOfScripts: a script call has the code that the master's error begins with. Words that a master makes up
// make no time series.
func TestErrorsOfScripts(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, l *lab) {
		for _, text := range []string{"OOM command not allowed", "NOTLOCK list", "no code"} {
			l.trace.Answered(redlocktrace.Answered{Master: "pool 0", Err: errors.New(text)})
		}
		const many = 10_000
		for i := range many {
			word := []byte("QZKXAAAA")
			for at := 4; i > 0; at, i = at+1, i/26 {
				word[at] += byte(i % 26)
			}
			l.trace.Answered(redlocktrace.Answered{Master: "pool 0", Err: errors.New(string(word))})
		}
		check.Equal(t, len(l.metrics()), 3, "time series")
		l.expect("at the end", map[string]int64{
			"script.duration{error.type=OOM,master=pool 0}":     1,
			"script.duration{error.type=NOTLOCK,master=pool 0}": 1,
			"script.duration{error.type=_OTHER,master=pool 0}":  many + 1,
		})
	})
}
