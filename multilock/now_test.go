package multilock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/redlocktest"
)

// What time it is tell the masters, and a minority of them that is wrong has no say.
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
				fleet := redlocktest.Start(t, len(tt.skews))
				for i, skew := range tt.skews {
					fleet.Master(i).Skew(skew)
				}
				m := client(fleet)
				defer m.Close()
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
			fleet := redlocktest.Start(t, len(skews))
			for i, skew := range skews {
				fleet.Master(i).Skew(skew)
			}
			fleet.Master(0).Kill()
			m := client(fleet)
			defer m.Close()
			time.Sleep(time.Second)
			if got := time.Until(m.Now()); got.Abs() > time.Millisecond {
				t.Errorf("%v, the first one down: Now is %v ahead, want 0", skews, got)
			}
		})
	}
}

// Whoever begins to wait in an outage, with a clock of its own that is wrong, has the place in
// the queue of when it began.
func TestOutageGivesNobodyAWrongPlace(t *testing.T) {
	for _, skew := range []time.Duration{-time.Hour, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			fleet := redlocktest.Start(t, 3)
			each := func(f func(*redlocktest.Master)) {
				for _, m := range fleet.Masters() {
					f(m)
				}
			}
			each(func(m *redlocktest.Master) { m.Skew(skew); m.Kill() })
			m := client(fleet)
			defer m.Close()
			want := time.Now().Add(skew)
			bid := newBid(m)
			bid.Ask()
			waited := make(chan bool)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				_, won := bid.Wait(ctx, nil, nil)
				waited <- won
			}()
			time.Sleep(time.Second)
			each(func(m *redlocktest.Master) {
				m.Restart()
				m.HSet("k", id("x:r0"), "1")
				m.Expire("k", time.Minute)
			})
			time.Sleep(5 * time.Second)
			for i, m := range fleet.Masters() {
				queue := m.ZSet("redlock_wait:{k}")
				for _, since := range queue {
					if off := time.UnixMicro(int64(since)).Sub(want); off.Abs() > 10*time.Millisecond {
						t.Errorf("m%d: its place is off by %v", i+1, off)
					}
				}
				if len(queue) != 1 {
					t.Errorf("m%d: queue %v, want the one who waits", i+1, queue)
				}
			}
			cancel()
			if <-waited {
				t.Error("it won a lock that another owner has")
			}
			bid.GiveUp(nil)
			synctest.Wait()
		})
	}
}

// A client that only frees a lock by force tells the time of the masters as well.
func TestForceTellsTheTimeOfTheMasters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 3)
		waiter := client(fleet)
		defer waiter.Close()
		for _, m := range fleet.Masters() {
			m.Skew(-time.Hour)
			m.HSet("k", id("x:r0"), "1")
			m.Expire("k", time.Minute)
		}
		time.Sleep(5 * time.Second)
		bid := newBid(waiter)
		bid.Ask()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		go func() {
			time.Sleep(time.Second)
			for _, m := range fleet.Masters() {
				m.Delay(10 * time.Millisecond) // so that it has not connected yet
			}
			m := client(fleet)
			defer m.Close()
			if _, err := m.Force(t.Context(), "k"); err != nil {
				t.Error(err)
			}
		}()
		g, won := bid.Wait(ctx, nil, nil)
		if ahead := time.Until(time.UnixMicro(g.Token)); !won || ahead > -time.Hour/2 {
			t.Errorf("won %v, with a token of %v from now by our clock, want an hour ago", won, ahead)
		}
		waiter.Release(g.Claim, 0).Wait(ctx)
	})
}

// It goes on while masters are away, and before any is there it is our own clock.
func TestNowWithoutMasters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 3)
		each := func(f func(*redlocktest.Master)) {
			for _, m := range fleet.Masters() {
				f(m)
			}
		}
		each(func(m *redlocktest.Master) { m.Skew(time.Hour); m.Kill() })
		m := client(fleet)
		defer m.Close()
		want := func(when string, ahead time.Duration) {
			t.Helper()
			// TIME tells whole microseconds.
			if got := time.Until(m.Now()); (got - ahead).Abs() > time.Microsecond {
				t.Errorf("%s: Now is %v ahead, want %v", when, got, ahead)
			}
		}
		want("never connected", 0)
		each((*redlocktest.Master).Restart)
		time.Sleep(3 * time.Second)
		want("connected", time.Hour)
		each((*redlocktest.Master).Kill)
		time.Sleep(time.Hour)
		want("after an hour without masters", time.Hour)
	})
}

// The stamp of a waiter and the token that is proposed follow the masters' clocks.
func TestAsksTellTheTimeOfTheMasters(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		each(b, func(m *redlocktest.Master) { m.Skew(time.Hour) })
		m := b.another(t, 0)
		ahead := time.Now().Add(time.Hour).UnixMicro()
		bid := m.NewBid(Wanted{Key: "k", Lease: bidLease, Since: clock.Now()})
		bid.Ask()
		if g := wantWon(t, "a free lock", bid); g.Token != ahead || g.since() != ahead {
			t.Errorf("token %d and stamp %d, want %d", g.Token, g.since(), ahead)
		}
	})
}

// A client asks no more once a majority has answered, even if that would not tell.
func TestGreet(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fault  func(fleet *redlocktest.Fleet)
		asks   int // of four, that cost a command
		within time.Duration
	}{
		{"all there", func(*redlocktest.Fleet) {}, 1, 0},
		{"a minority dead", func(f *redlocktest.Fleet) { f.Master(0).Kill() }, 1, 0},
		{"a minority frozen", func(f *redlocktest.Fleet) { f.Master(0).Freeze() }, 1, 0},
		{"a majority dead", func(f *redlocktest.Fleet) { f.Master(0).Kill(); f.Master(1).Kill() }, 4, 0},
		{"a majority frozen", func(f *redlocktest.Fleet) { f.Master(0).Freeze(); f.Master(1).Freeze() }, 4, timeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fleet := redlocktest.Start(t, 3)
				tt.fault(fleet)
				m := client(fleet)
				defer m.Close()
				start, before := time.Now(), fleet.Master(2).Calls("TIME")
				for range 4 {
					m.Greet(t.Context())
					synctest.Wait()
				}
				if took := time.Since(start); took > tt.within {
					t.Errorf("took %v, want %v at most", took, tt.within)
				}
				if got := fleet.Master(2).Calls("TIME") - before; got != int64(tt.asks) {
					t.Errorf("asked %d times, want %d", got, tt.asks)
				}
			})
		})
	}
}
