package multilock

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlocktest"
)

// The log tells what callers wait for where that is not another owner: once for each reason, and when it is
// over.
func TestOutageIsReported(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.seat("x", time.Hour, 0, 1, 2)
		for range 3 {
			begin(t, fx.m, patient("k")) // the first asks for all
		}
		reports := func() (many, over int) {
			return len(fx.log.lines("waiting for a quorum")), len(fx.log.lines("quorum is back"))
		}
		want := func(when string, wantMany, wantOver int) {
			t.Helper()
			synctest.Wait()
			if many, over := reports(); many != wantMany || over != wantOver {
				t.Errorf("%s: the log tells %d times of an outage, and %d times that it is over; want %d, %d", when, many, over, wantMany, wantOver)
			}
		}
		time.Sleep(5 * time.Second)
		want("while another owner has the lock", 0, 0)
		fx.each(func(m *redlocktest.Master) { m.Refuse("OOM command not allowed") })
		time.Sleep(5 * time.Second)
		want("while the masters refuse", 1, 0)
		if line := fx.log.lines("waiting for a quorum")[0]; !strings.Contains(line, "name=k") || !strings.Contains(line, "OOM") {
			t.Errorf("the log says %q, want which lock, and why", line)
		}
		fx.Master(0).Refuse("MISCONF no disk")
		time.Sleep(5 * time.Second)
		want("with one more reason", 2, 0)
		fx.each(func(m *redlocktest.Master) { m.Refuse("") })
		time.Sleep(5 * time.Second)
		want("when it is over", 2, 1)
		time.Sleep(5 * time.Second)
		want("then", 2, 1)
	})
}

// Where masters have restarted lately, the log says that, and for how long.
func TestGuardIsReported(t *testing.T) {
	inGuardedBubble(t, 3, lease, func(t *testing.T, fx *fixture) {
		fx.each((*redlocktest.Master).Restart)
		time.Sleep(2 * time.Second)
		c := begin(t, fx.m, patient("k"))
		time.Sleep(5 * time.Second)
		lines := fx.log.lines("waiting for masters that restarted lately")
		if len(lines) != 1 || !strings.Contains(lines[0], "left=") {
			t.Errorf("the log says %q, want once that masters restarted, and what is left", lines)
		}
		time.Sleep(lease)
		unlock(t, c.wantHold(t, "after the guard"))
		if got := fx.log.lines("quorum is back"); len(got) != 1 {
			t.Errorf("the log says %q, want once that the quorum is back", got)
		}
	})
}
