package multilock

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/redlocktest"
)

// An outage is told to the log once, and its end, however many holds and waiting callers suffer from it and however
// often they try; of the holds that are lost, a few are named, and the others counted.
func TestAnOutageIsToldOnce(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		const holds, names = 100, 20
		told := func(message string, least, most int, says string) {
			t.Helper()
			synctest.Wait()
			lines := fx.log.Lines(message)
			check.That(t, len(lines) >= least && len(lines) <= most, "%d lines say %q, want %d to %d:\n%s", len(lines), message, least, most, strings.Join(lines, ""))
			for _, line := range lines {
				check.That(t, strings.Contains(line, says), "the log has %q, want %q in it", line, says)
			}
		}
		for i := range holds {
			fx.lock(t, watched(fmt.Sprint("held ", i)))
		}
		fx.each((*redlocktest.Master).Kill, 0, 1)
		var calls []*call
		for i := range names {
			calls = append(calls, begin(t, fx.m, patient(fmt.Sprint("wanted ", i))))
		}
		gone := begin(t, fx.m, patient("gone"))
		time.Sleep(lease / 2)
		gone.cancel()
		told("renewal failed", 1, 3, fmt.Sprintf("holds=%d ", holds)) // for other reasons as well
		told("waiting for a quorum", 1, 3, "")
		fx.each((*redlocktest.Master).RestartWithData, 0, 1)
		time.Sleep(lease / 2)
		told("renewals succeed again", 1, 1, fmt.Sprintf("holds=%d\n", holds))
		told("quorum is back", 1, 1, fmt.Sprintf("names=%d\n", names+1))
		for _, c := range calls {
			unlock(t, c.wantHold(t, "after the outage"))
		}

		fx.each((*redlocktest.Master).Kill)
		time.Sleep(lease + lossesFor + suspendWatch)
		told("renewal failed", 2, 7, "")
		told("renewals succeed again", 1, 1, "")
		told("hold is lost", maxLosses, maxLosses, "name=\"held ")
		told("more holds are lost", 1, 1, fmt.Sprintf("holds=%d\n", holds-maxLosses))
		check.Equal(t, len(fx.m.unrenewed.lacks), 0, "holds that are remembered, and have ended")
	})(t)
}

// In an outage that has outlasted the standing of its client, a caller that begins to wait looks when a master changes, and
// not again and again. One that does not wait asks the master that is left for nothing.
func TestAnOutageIsWaitedFor(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		const callers = 100
		m := fx.introduced(t)
		unlock(t, fx.take(t, m, "k"))
		fx.each((*redlocktest.Master).Kill, 0, 1)
		time.Sleep(10 * time.Second)
		scripts := func() int64 { return fx.Master(2).Calls("EVAL") + fx.Master(2).Calls("EVALSHA") }
		asked := scripts()
		_, err := m.Lock(t.Context(), request("k"))
		check.That(t, errors.Is(err, poll.ErrNoQuorum) && scripts() == asked, "a try = %v, and %d scripts ran; want ErrNoQuorum, and none", err, scripts()-asked)
		for i := range callers {
			begin(t, m, patient(fmt.Sprint(i)))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		time.Sleep(30 * time.Second)
		runtime.ReadMemStats(&after)
		check.AtMost(t, (after.Mallocs-before.Mallocs)/callers, 5000, "allocations of each of them")
	})(t)
}

// A caller that waits for masters that restarted goes on when their guard ends, though nothing tells that.
func TestAGuardIsWaitedFor(t *testing.T) {
	const guard = 10 * time.Second
	guarded(3, guard, func(t *testing.T, fx *fixture) {
		fx.each((*redlocktest.Master).Restart)
		rest(2 * time.Second)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		check.OK(t, fx.m.All.Reach(ctx, "lock", "k"))
		check.Between(t, time.Since(began), guard/2, guard+2*time.Second, "Reach took")
	})(t)
}

// A renewal that fails when its hold has been given back is no outage, nor is a round that fails when its caller has left:
// nobody would tell the log of its end.
func TestNoOutageOfWhatHasEnded(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		hold := fx.lock(t, watched("k"))
		time.Sleep(attempt.RenewEvery(lease) - time.Millisecond)
		fx.each((*redlocktest.Master).Freeze, 0, 1)
		time.Sleep(2 * time.Millisecond)
		hold.end(attempt.End, poll.ErrNotHeld)
		time.Sleep(time.Second)
		lines := fx.log.Lines("renewal failed")
		check.That(t, len(lines) == 0 && len(fx.m.unrenewed.lacks) == 0, "the log has %q, and %d holds are remembered; want nothing", lines, len(fx.m.unrenewed.lacks))
		fx.m.report("k", fx.m.All.Lost("lock", "k", &poll.Ballot{N: 3}, poll.ErrNoQuorum, nil, nil))
		check.Equal(t, len(fx.m.ungranted.lacks), 0, "names that are remembered, and nobody waits for")
		fx.each((*redlocktest.Master).Thaw)
	})(t)
}
