package multilock

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/node"
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
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fx := &fixture{Fleet: redlocktest.Start(t, len(tt.skews))}
				for i, skew := range tt.skews {
					fx.Master(i).Skew(skew)
				}
				m := fx.another(t)
				for range 3 {
					if got := time.Until(m.Now()); got != tt.want {
						t.Errorf("Now is %v ahead, want %v", got, tt.want)
					}
					time.Sleep(3*time.Second + time.Millisecond)
				}
			})
		})
	}
}

// Where one is down, our own clock stands for it: one of the others that is wrong has no say.
func TestNowWithAMinorityDown(t *testing.T) {
	const hour = time.Hour
	for _, skews := range [][]time.Duration{{0, 0, hour}, {0, 0, -hour}, {0, hour, 0, hour, 0}, {0, -hour, 0, -hour, 0}} {
		synctest.Test(t, func(t *testing.T) {
			fx := &fixture{Fleet: redlocktest.Start(t, len(skews))}
			for i, skew := range skews {
				fx.Master(i).Skew(skew)
			}
			fx.Master(0).Kill()
			m := fx.another(t)
			time.Sleep(time.Second)
			if got := time.Until(m.Now()); got.Abs() > time.Millisecond {
				t.Errorf("%v, the first one down: Now is %v ahead, want 0", skews, got)
			}
		})
	}
}

// It goes on while masters are away, and before any is there it is our own clock.
func TestNowWithoutMasters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := &fixture{Fleet: redlocktest.Start(t, 3)}
		fx.each(func(m *redlocktest.Master) { m.Skew(time.Hour); m.Kill() })
		m := fx.another(t)
		want := func(when string, ahead time.Duration) {
			t.Helper()
			// TIME tells whole microseconds.
			if got := time.Until(m.Now()); (got - ahead).Abs() > time.Microsecond {
				t.Errorf("%s: Now is %v ahead, want %v", when, got, ahead)
			}
		}
		want("never connected", 0)
		fx.each((*redlocktest.Master).Restart)
		time.Sleep(3 * time.Second)
		want("connected", time.Hour)
		fx.each((*redlocktest.Master).Kill)
		time.Sleep(time.Hour)
		want("after an hour without masters", time.Hour)
	})
}

// Whoever begins to wait in an outage, with a clock of its own that is wrong, has the place in the queue of
// when it began.
func TestOutageGivesNobodyAWrongPlace(t *testing.T) {
	for _, skew := range []time.Duration{-time.Hour, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			fx := &fixture{Fleet: redlocktest.Start(t, 3)}
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
					if off := time.UnixMicro(int64(since)).Sub(want); off.Abs() > 10*time.Millisecond {
						t.Errorf("m%d: its place is off by %v", i+1, off)
					}
				}
				if len(places) != 1 {
					t.Errorf("m%d: queue %v, want the one who waits", i+1, places)
				}
			}
			c.cancel()
			c.wantError(t, "then", context.Canceled, ErrTaken)
		})
	}
}

// A client that starts where only a minority is in reach asks that for nothing: the counter there would take
// over its own clock, and keep it.
func TestNothingIsAskedBeforeTheTimeIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := &fixture{Fleet: redlocktest.Start(t, 5)}
		fx.each(func(m *redlocktest.Master) { m.Skew(-time.Hour) }) // or: the client's clock is ahead
		for i := range 3 {
			fx.Master(i).Kill()
		}
		log := new(journal)
		m := fx.client(t, node.Config{Logger: slog.New(slog.NewTextHandler(log, nil))})
		c := begin(t, m, patient("k"))
		_, err := m.Lock(t.Context(), request("k"))
		if !errors.Is(err, ErrNoQuorum) {
			t.Errorf("a try = %v, want %v", err, ErrNoQuorum)
		}
		_, errs := m.TryAll(t.Context(), []Request{request("k"), request("l")})
		for _, err := range errs {
			if why, ok := errors.AsType[*MajorityError](err); !ok || !errors.Is(err, ErrNoQuorum) || len(why.Nodes.Errors) != 3 {
				t.Errorf("one of several tries = %v, want %v with three masters", err, ErrNoQuorum)
			}
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if _, err := m.Lock(ended, request("k")); !errors.Is(err, ErrNoQuorum) || !errors.Is(err, context.Canceled) {
			t.Errorf("a try whose context has ended = %v, want %v and %v", err, ErrNoQuorum, context.Canceled)
		}
		if _, err := m.Force(t.Context(), "k"); !errors.Is(err, ErrNoQuorum) {
			t.Errorf("Force = %v, want %v", err, ErrNoQuorum)
		}
		time.Sleep(time.Minute)
		for i := 3; i < 5; i++ {
			if got := fx.Master(i).Keys(); len(got) > 0 {
				t.Errorf("m%d has %q, want nothing", i+1, got)
			}
		}
		c.wantWaiting(t, "a minority is there")
		if lines := log.lines("waiting for a quorum"); len(lines) != 1 {
			t.Errorf("the log has %q, want one line that says so", lines)
		}

		fx.Master(0).Restart()
		time.Sleep(3 * time.Second)
		hold := c.wantHold(t, "a majority is there")
		if ahead := time.Until(time.UnixMicro(hold.Token())); ahead > -time.Hour/2 {
			t.Errorf("a token of %v from now by our clock, want an hour ago", ahead)
		}
		if lines := log.lines("quorum is back"); len(lines) != 1 {
			t.Errorf("the log has %q, want one line that says so", lines)
		}
		unlock(t, hold)
	})
}

// A wait for the masters' time ends as any wait does.
func TestWaitForTimeEnds(t *testing.T) {
	start := func(t *testing.T) (*fixture, *Masters, *call) {
		fx := &fixture{Fleet: redlocktest.Start(t, 3)}
		fx.each((*redlocktest.Master).Kill)
		m := fx.another(t)
		c := begin(t, m, patient("k"))
		time.Sleep(time.Second)
		c.wantWaiting(t, "nobody is there")
		return fx, m, c
	}
	t.Run("context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, _, c := start(t)
			c.cancel()
			c.wantError(t, "then", context.Canceled, ErrNoQuorum)
		})
	})
	t.Run("close", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, m, c := start(t)
			m.Close()
			c.wantError(t, "then", ErrClosed)
			if _, err := m.Lock(t.Context(), request("k")); !errors.Is(err, ErrClosed) {
				t.Errorf("a try after that = %v, want %v", err, ErrClosed)
			}
		})
	})
	t.Run("in vain", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			fx, _, c := start(t)
			fx.each(func(m *redlocktest.Master) {
				m.Password("secret")
				m.Restart()
			})
			time.Sleep(3 * time.Second)
			c.wantError(t, "then", ErrNoQuorum)
		})
	})
}

// The place of a waiter and the token that is proposed follow the masters' clocks.
func TestRoundsTellTheTimeOfTheMasters(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.each(func(m *redlocktest.Master) { m.Skew(time.Hour) })
		m := fx.another(t)
		ahead := time.Now().Add(time.Hour).UnixMicro()
		c := askedQuiet(m)
		if g := wantWon(t, "a free lock", c); g.Token != ahead || g.since() != ahead {
			t.Errorf("token %d and place %d, want %d", g.Token, g.since(), ahead)
		} else {
			m.release(g.Claim, 0)
		}
	})
}

// The first Lock of a client waits until it knows their time.
func TestFirstLockTellsTheTimeOfTheMasters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := &fixture{Fleet: redlocktest.Start(t, 3)}
		fx.each(func(m *redlocktest.Master) {
			m.Skew(-time.Hour)
			m.Delay(10 * time.Millisecond)
		})
		m := connect(fx.Fleet, fx.Pools(), node.Config{})
		defer m.Close()
		hold, err := m.Lock(t.Context(), request("k"))
		if err != nil {
			t.Fatal(err)
		}
		if ahead := time.Until(time.UnixMicro(hold.Token())); ahead > -time.Hour/2 {
			t.Errorf("a token of %v from now by our clock, want an hour ago", ahead)
		}
		unlock(t, hold)
	})
}

// A client that only frees a lock by force tells the time of the masters as well.
func TestForceTellsTheTimeOfTheMasters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := &fixture{Fleet: redlocktest.Start(t, 3)}
		waiter := fx.another(t)
		fx.each(func(m *redlocktest.Master) {
			m.Skew(-time.Hour)
			m.HSet("k", id("x"), "1")
			m.Expire("k", time.Minute)
		})
		time.Sleep(5 * time.Second)
		c := begin(t, waiter, patient("k"))
		time.Sleep(time.Second)
		fx.each(func(m *redlocktest.Master) { m.Delay(10 * time.Millisecond) }) // so that it has not connected yet
		m := connect(fx.Fleet, fx.Pools(), node.Config{})
		defer m.Close()
		if _, err := m.Force(t.Context(), "k"); err != nil {
			t.Errorf("Force = %v", err)
		}
		time.Sleep(time.Second)
		hold := c.wantHold(t, "after Force")
		if ahead := time.Until(time.UnixMicro(hold.Token())); ahead > -time.Hour/2 {
			t.Errorf("a token of %v from now by our clock, want an hour ago", ahead)
		}
		unlock(t, hold)
		time.Sleep(time.Second)
	})
}

// Connections tell the time, so nothing is asked for it. Where no majority is connected, that is known when
// the attempts to connect are over.
func TestGreet(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fault  func(fx *fixture)
		within time.Duration
	}{
		{"all there", func(*fixture) {}, 0},
		{"a minority dead", func(fx *fixture) { fx.Master(0).Kill() }, 0},
		{"a minority frozen", func(fx *fixture) { fx.Master(0).Freeze() }, 0},
		{"a majority dead", func(fx *fixture) { fx.Master(0).Kill(); fx.Master(1).Kill() }, 0},
		{"a majority frozen", func(fx *fixture) { fx.Master(0).Freeze(); fx.Master(1).Freeze() }, timeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fx := &fixture{Fleet: redlocktest.Start(t, 3)}
				tt.fault(fx)
				m := fx.another(t)
				start, before := time.Now(), fx.Master(2).Calls("TIME")
				for range 4 {
					m.greet(t.Context())
					synctest.Wait()
				}
				if took := time.Since(start); took > tt.within {
					t.Errorf("took %v, want %v at most", took, tt.within)
				}
				if got := fx.Master(2).Calls("TIME") - before; got > 0 {
					t.Errorf("asked %d times, want never", got)
				}
			})
		})
	}
}
