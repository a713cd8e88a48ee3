package multilock

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/internal/check"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// What time it is, by the clocks of the masters.

// A minority of them that is wrong has no say.
func TestNowIsTheMedianOfTheMasters(t *testing.T) {
	const hour, slip = time.Hour, 5 * time.Millisecond
	for _, tt := range []struct {
		name  string
		skews []time.Duration
		want  time.Duration
	}{
		{"all right", []time.Duration{0, 0, 0}, 0},
		{"one ahead", []time.Duration{0, hour, 0}, 0},
		{"one behind", []time.Duration{-hour, 0, 0}, 0},
		{"one of each", []time.Duration{-hour, 0, hour}, 0},
		{"this client is behind", []time.Duration{hour, hour, hour}, hour},
		{"a little apart", []time.Duration{slip, 0, -slip, 2 * slip, -2 * slip}, 0},
		{"a minority far apart", []time.Duration{hour, slip, -hour, slip, slip}, slip},
		{"one master", []time.Duration{hour}, hour},
		{"two", []time.Duration{hour, 0}, 0},
	} {
		t.Run(tt.name, masters(len(tt.skews), func(t *testing.T, fx *fixture) {
			for i, skew := range tt.skews {
				fx.Master(i).Skew(skew)
			}
			m := fx.another(t)
			for range 3 {
				check.Equal(t, time.Until(m.All.Now()), tt.want, "Now is ahead by")
				time.Sleep(3*time.Second + time.Millisecond)
			}
		}))
	}
}

// Whoever begins to wait in an outage, with a clock of its own that is wrong, has the place in the queue of
// when it began.
func TestOutageGivesNobodyAWrongPlace(t *testing.T) {
	for _, skew := range []time.Duration{-time.Hour, time.Hour} {
		masters(3, func(t *testing.T, fx *fixture) {
			fx.each(func(m *redlocktest.Master) { m.Skew(skew); m.Kill() })
			m := fx.another(t)
			want := time.Now().Add(skew)
			c := begin(t, m, patient("k"))
			time.Sleep(time.Second)
			fx.each(func(m *redlocktest.Master) {
				m.Restart()
				m.HSet("k", id("x"), "1")
				m.Expire("k", time.Minute)
			})
			time.Sleep(5 * time.Second)
			for i := range fx.Masters() {
				places := fx.places(i)
				for _, since := range places {
					check.AtMost(t, time.UnixMicro(int64(since)).Sub(want).Abs(), 10*time.Millisecond, "m%d: its place is off by", i+1)
				}
				check.Equal(t, len(places), 1, "m%d: who waits", i+1)
			}
			c.cancel()
			c.wantError(t, "then", context.Canceled, poll.ErrTaken)
		})(t)
	}
}

// A caller that comes to wait for more slots of a semaphore has the place there that it has at the first, to the
// microsecond.
func TestACallerKeepsItsPlace(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		for slot := range maxStands {
			fx.each(func(m *redlocktest.Master) { m.HSet(script.SlotKey("k", slot), id("x"), "1") })
		}
		begin(t, fx.m, permit(maxStands))
		time.Sleep(5 * time.Second)
		fx.m.mu.Lock()
		defer fx.m.mu.Unlock()
		places := map[int64]int{}
		for _, d := range fx.m.names[script.Slots("k")].line.waiters[0].drivers {
			places[d.since]++
		}
		check.That(t, len(places) == 1, "slots at which it waits, by its place there: %v, want one place", places)
	})(t)
}

// A client that starts where only a minority is in reach asks that for nothing: the counter there would take
// over its own clock, and keep it.
func TestNothingIsAskedBeforeTheTimeIsKnown(t *testing.T) {
	masters(5, func(t *testing.T, fx *fixture) {
		fx.each(func(m *redlocktest.Master) { m.Skew(-time.Hour) }) // or: the client's clock is ahead
		fx.each((*redlocktest.Master).Kill, 0, 1, 2)
		m := fx.client(t, node.Config{Logger: slog.New(slog.NewTextHandler(fx.log, nil))})
		c := begin(t, m, patient("k"))
		_, err := m.Lock(t.Context(), request("k"))
		check.Err(t, "a try", err, poll.ErrNoQuorum)
		_, errs := m.TryAll(t.Context(), []Request{request("k"), request("l")})
		for _, err := range errs {
			why, ok := errors.AsType[*poll.MajorityError](err)
			check.That(t, ok && errors.Is(err, poll.ErrNoQuorum) && len(why.Nodes.Errors) == 3, "one of several tries = %v, want %v with three masters", err, poll.ErrNoQuorum)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		_, err = m.Lock(ended, request("k"))
		check.Err(t, "a try whose context has ended", err, poll.ErrNoQuorum, context.Canceled)
		time.Sleep(time.Minute)
		for i := 3; i < 5; i++ {
			check.Equal(t, len(fx.Master(i).Keys()), 0, "keys of m%d", i+1)
		}
		c.wantWaiting(t, "a minority is there")
		check.Equal(t, len(fx.log.Lines("waiting for a quorum")), 1, "lines in the log that say so")

		fx.Master(0).Restart()
		time.Sleep(3 * time.Second)
		hold := c.wantHold(t, "a majority is there")
		check.AtMost(t, time.Until(time.UnixMicro(hold.Token())), -time.Hour/2, "by our clock, the token is ahead by")
		check.Equal(t, len(fx.log.Lines("quorum is back")), 1, "lines in the log that say so")
		unlock(t, hold)
	})(t)
}

// A wait for the masters' time ends where no majority can tell it.
func TestWaitForTimeInVain(t *testing.T) {
	masters(3, func(t *testing.T, fx *fixture) {
		fx.each((*redlocktest.Master).Kill)
		c := begin(t, fx.another(t), patient("k"))
		time.Sleep(time.Second)
		c.wantWaiting(t, "nobody is there")
		fx.each(func(m *redlocktest.Master) {
			m.Password("secret")
			m.Restart()
		})
		time.Sleep(3 * time.Second)
		c.wantError(t, "then", poll.ErrNoQuorum)
	})(t)
}

// The first Lock of a client waits until it knows their time.
func TestFirstLockTellsTheTimeOfTheMasters(t *testing.T) {
	masters(3, func(t *testing.T, fx *fixture) {
		fx.each(func(m *redlocktest.Master) {
			m.Skew(-time.Hour)
			m.Delay(10 * time.Millisecond)
		})
		m := connect(fx.Fleet, fx.Pools(), node.Config{})
		defer m.Close()
		hold, err := m.Lock(t.Context(), request("k"))
		check.OK(t, err)
		check.AtMost(t, time.Until(time.UnixMicro(hold.Token())), -time.Hour/2, "by our clock, the token is ahead by")
		unlock(t, hold)
	})(t)
}

// A majority answers no sooner than its slowest master, and nobody waits for the rest.
func TestRoundTripOfAMajority(t *testing.T) {
	bubble(5, func(t *testing.T, fx *fixture) {
		for i, ms := range []time.Duration{40, 10, 60, 30, 20} {
			fx.Master(i).Delay(ms * time.Millisecond / 2)
		}
		m := fx.another(t)
		time.Sleep(3 * time.Minute) // checks from time to time: the deviation of the first guess has gone
		check := func(when string, want time.Duration) {
			t.Helper()
			check.Between(t, m.All.RoundTrip(), want, want+want/10, "%s: RoundTrip", when)
		}
		check("five masters", 30*time.Millisecond)
		fx.Master(1).Kill()
		time.Sleep(time.Second)
		check("without the fastest", 40*time.Millisecond)
		fx.each((*redlocktest.Master).Kill, 2, 3)
		time.Sleep(time.Second)
		check("without a majority", 40*time.Millisecond)
		fx.each((*redlocktest.Master).Kill, 0, 4)
		time.Sleep(time.Second)
		check("without masters", 0)
	})(t)
}

// What becomes of what was won when masters turn out not to stand by it.

// The clocks of so many masters gain on the client's, as all do while its machine is paused and does not know
// it. Of 10 s that a hold is valid, as much is gone, within a second, whatever has it; and a hold that is over
// then never is beside the next one. A minority that runs ahead costs a hold nothing, and is found out at once.
func TestClockThatStoodStill(t *testing.T) {
	full := clock.Validity(lease, 0)
	for _, tt := range []struct {
		name   string
		ahead  int
		paused time.Duration
		want   time.Duration // left of the fixed lease a second later; 0: it is over
		keeps  bool          // the hold that is renewed
	}{
		{"a minority for long", 1, time.Hour, full - time.Second, true},
		{"a majority for a while", 2, 3 * time.Second, full - 4*time.Second, true},
		{"all for a while", 3, 3 * time.Second, full - 4*time.Second, true},
		{"a majority for longer than the lease", 2, time.Minute, 0, false},
		{"all for longer than the lease", 3, time.Minute, 0, false},
	} {
		t.Run(tt.name, bubble(3, func(t *testing.T, fx *fixture) {
			fixed, req := fx.take(t, fx.m, "fixed"), watched("k")
			renewed := fx.lock(t, req)
			for i := range tt.ahead {
				fx.Master(i).Skew(tt.paused)
			}
			rest(time.Second)
			check.Equal(t, fixed.Remaining(), tt.want, "what is left a second later")
			if tt.want == 0 {
				entryOf(fixed).wantEnded(t, poll.ErrLost)
			} else {
				entryOf(fixed).wantAlive(t)
				rest(tt.want)
				entryOf(fixed).wantEnded(t, poll.ErrLost) // and its timer fires then
			}
			if err := renewed.Check(); tt.keeps && tt.ahead == 1 && err != nil || !tt.keeps && !errors.Is(err, poll.ErrLost) {
				t.Errorf("the hold that is renewed: %v, want it kept: %v", err, tt.keeps)
			}
			renewed.end(attempt.End, nil)
		}))
	}
}

// A hold ends as soon as it is known that the clock stood still, and not when the watchdog looks the next time.
func TestLagEndsHoldsAtOnce(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		e := entryOf(hold)
		fx.m.Gained(0, time.Minute)
		synctest.Wait()
		e.wantAlive(t)
		fx.m.Gained(1, time.Minute)
		synctest.Wait()
		e.wantEnded(t, poll.ErrLost)
	})(t)
}

// Who holds a lock learns at once that a majority of the masters has restarted without it, and that it still
// has the lock where a minority has.
func TestRestartIsLookedAtOnce(t *testing.T) {
	for _, tt := range []struct {
		name    string
		restart func(*redlocktest.Master)
		masters int
		want    error
	}{
		{"a majority, empty", (*redlocktest.Master).Restart, 2, poll.ErrLost},
		{"a majority, with its data", (*redlocktest.Master).RestartWithData, 2, nil},
		{"a minority, empty", (*redlocktest.Master).Restart, 1, nil},
	} {
		t.Run(tt.name, guarded(3, time.Minute, func(t *testing.T, fx *fixture) {
			req := watched("k")
			req.Lease = 30 * time.Second
			hold := fx.lock(t, req)
			time.Sleep(3 * time.Second)
			for i := range tt.masters {
				tt.restart(fx.Master(i))
			}
			rest(100 * time.Millisecond)
			check.Err(t, "Check", hold.Check(), tt.want)
			if want := clock.Validity(30*time.Second, 100*time.Millisecond); tt.want == nil && hold.Remaining() < want {
				t.Errorf("%v is left, want %v or more: it was renewed", hold.Remaining(), want)
			}
			hold.end(attempt.End, nil)
		}))
	}
}
