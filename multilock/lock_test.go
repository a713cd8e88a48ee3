package multilock

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node"
	"example.com/redlock/redlocktest"
)

// Locking without waiting: one vote, and the roll-back of what it left.

func TestLockTakesEveryMaster(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, fx *fixture) {
		now := time.Now()
		hold := fx.take(t, fx.m, "k")
		o := hold.Owner()
		fx.wantHolders(t, "k", strings.Join([]string{o, o, o, o, o}, " "))
		if got, want := hold.Remaining(), clock.Validity(lease, 0); got != want {
			t.Errorf("Remaining = %v, want %v", got, want)
		}
		if got, want := hold.Until(), now.Add(clock.Validity(lease, 0)); !got.Equal(want) {
			t.Errorf("Until = %v, want %v", got, want)
		}
		if got, want := hold.Token(), now.UnixMicro(); got != want || hold.Name() != "k" || hold.Count() != 1 {
			t.Errorf("token %d of %q, count %d; want the time, %d, of k, and 1", got, hold.Name(), hold.Count(), want)
		}
	})
}

func TestLockIsDecidedByTheMajority(t *testing.T) {
	for name, fault := range map[string]func(*redlocktest.Master){
		"frozen": (*redlocktest.Master).Freeze,
		"cut":    (*redlocktest.Master).Cut,
		"killed": (*redlocktest.Master).Kill,
		"slow":   func(m *redlocktest.Master) { m.Delay(40 * time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 5, func(t *testing.T, fx *fixture) {
				fault(fx.Master(1))
				fault(fx.Master(3))
				start := time.Now()
				if _, err := fx.try(t); err != nil {
					t.Errorf("Lock = %v", err)
				}
				if took := time.Since(start); took > 0 {
					t.Errorf("Lock took %v: it waited for the minority", took)
				}
			})
		})
	}
}

func TestValidityCountsFromBeforeTheCommandsWereSent(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.each(func(m *redlocktest.Master) { m.Delay(30 * time.Millisecond) })
		hold, err := fx.try(t)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := hold.Remaining(), clock.Validity(lease, 60*time.Millisecond); got != want {
			t.Errorf("validity after 60ms = %v, want %v", got, want)
		}
	})
}

func TestAGrantThatComesTooLateIsNone(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.each(func(m *redlocktest.Master) { m.Delay(30 * time.Millisecond) })
		req := request("k")
		req.Lease = 60 * time.Millisecond
		_, err := fx.m.Lock(t.Context(), req)
		if !errors.Is(err, ErrNoQuorum) || !errors.Is(err, errLate) {
			t.Errorf("Lock for 60ms over 60ms = %v, want ErrNoQuorum and errLate", err)
		}
		time.Sleep(time.Second)
		fx.wantNothing(t, "a second later", fx.m)
	})
}

func TestALostVoteIsRolledBack(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, fx *fixture) {
		fx.seat("other", time.Minute, 0, 1, 2)
		if _, err := fx.try(t); !errors.Is(err, ErrTaken) {
			t.Errorf("Lock = %v, want ErrTaken", err)
		}
		fx.wantHolders(t, "k", "other other other - -")
		wantForgotten(t, "after it", fx.m)
	})
}

func TestRollBackReachesTheMasterThatThaws(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, fx *fixture) {
		for i := range 3 {
			fx.Master(i).Freeze()
		}
		if _, err := fx.try(t); !errors.Is(err, ErrNoQuorum) {
			t.Errorf("Lock = %v, want ErrNoQuorum", err)
		}
		fx.wantHolders(t, "k", "- - - - -")
		time.Sleep(time.Second)
		for i := range 3 {
			fx.Master(i).Thaw() // and carry out what they were sent
		}
		time.Sleep(2 * time.Second)
		fx.wantNothing(t, "after they thawed", fx.m)
	})
}

func TestRollBackDoesNotNeedTheCallersContext(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.each(func(m *redlocktest.Master) { m.Delay(20 * time.Millisecond) })
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := fx.m.Lock(ctx, request("k"))
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrNoQuorum) {
			t.Errorf("Lock = %v, want DeadlineExceeded and ErrNoQuorum", err)
		}
		if took := time.Since(start); took != 30*time.Millisecond {
			t.Errorf("Lock returned after %v, want 30ms", took)
		}
		time.Sleep(time.Second)
		fx.wantNothing(t, "a second later", fx.m)
	})
}

func TestALateYesJoinsTheHold(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.Master(2).Delay(30 * time.Millisecond)
		hold := fx.take(t, fx.m, "k")
		o := hold.Owner()
		fx.wantHolders(t, "k", o+" "+o+" -")
		time.Sleep(50 * time.Millisecond)
		fx.wantHolders(t, "k", o+" "+o+" "+o)
		unlock(t, hold)
		time.Sleep(time.Second)
		fx.wantNothing(t, "after Unlock", fx.m)
	})
}

func TestWhyALockWasNotGranted(t *testing.T) {
	for _, tt := range []struct {
		name    string
		holders string // at each master: - free, x dead, else the holder
		want    error
		split   bool
	}{
		{"taken by one", "b b b", ErrTaken, false},
		{"taken by one, the rest is free", "b b b - -", ErrTaken, false},
		{"split three ways", "b c d", ErrTaken, true},
		{"split, we would be third", "b b c c -", ErrTaken, true},
		{"even split", "b b - -", ErrTaken, true},
		{"a majority is dead", "x x x - -", ErrNoQuorum, false},
		{"dead and taken", "x x b", ErrNoQuorum, false},
		{"the dead one may be the holder's third, or not", "b b x - -", ErrTaken, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			holders := strings.Fields(tt.holders)
			inBubble(t, len(holders), func(t *testing.T, fx *fixture) {
				for i, h := range holders {
					switch h {
					case "x":
						fx.Master(i).Kill()
					case "-":
					default:
						fx.seat(h, time.Minute, i)
					}
				}
				_, err := fx.try(t)
				why, ok := errors.AsType[*MajorityError](err)
				if !ok || !errors.Is(err, tt.want) || why.Split() != tt.split {
					t.Fatalf("Lock = %v (split %v), want %v (split %v)", err, ok && why.Split(), tt.want, tt.split)
				}
				synctest.Wait()
				wantForgotten(t, "after it", fx.m)
			})
		})
	}
}

// Where several owners share the masters, the lock is free: a try asks again a few times, as
// a new owner each time.
func TestATryThatSplitsTheVotesAsksAgain(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.seat("x", time.Hour, 0)
		fx.seat("y", time.Hour, 1)
		before := fx.Master(2).Calls("EVALSHA")
		start := time.Now()
		_, err := fx.try(t)
		if why, ok := errors.AsType[*MajorityError](err); !ok || !why.Split() {
			t.Errorf("Lock = %v, want a split", err)
		}
		synctest.Wait()
		// Six grants of m3, and a release after each.
		if got := fx.Master(2).Calls("EVALSHA") - before; got != 12 {
			t.Errorf("m3 ran %d scripts, want 12", got)
		}
		if took := time.Since(start); took < 5*time.Millisecond || took > time.Second {
			t.Errorf("Lock took %v, want five random pauses that add up to less than a second", took)
		}
		fx.wantHolders(t, "k", "x y -")
		wantForgotten(t, "after it", fx.m)

		start = time.Now()
		time.AfterFunc(2*time.Millisecond, func() { fx.Master(1).Del("k") })
		if _, err := fx.try(t); err != nil {
			t.Errorf("Lock = %v, %v after a split, want it locked once a majority is free", err, time.Since(start))
		}
	})
}

// A try that pauses after a split ends with its caller's context, and with the client.
func TestATryThatPausesIsCutShort(t *testing.T) {
	const slow = 40 * time.Millisecond
	for _, tt := range []struct {
		name string
		cut  func(m *Masters, c *call)
		want []error
	}{
		{"its context ends", func(_ *Masters, c *call) { c.cancel() }, []error{context.Canceled, ErrTaken}},
		{"the client is closed", func(m *Masters, _ *call) { go m.Close() }, []error{ErrClosed}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				fx.seat("x", time.Hour, 0)
				fx.seat("y", time.Hour, 1)
				fx.each(func(m *redlocktest.Master) { m.Delay(slow / 2) })
				m := fx.another(t)
				m.greet(t.Context())
				c := begin(t, m, request("k"))
				time.Sleep(slow) // the first round is answered, and the pause is a round trip
				synctest.Wait()
				start := time.Now()
				tt.cut(m, c)
				c.wantError(t, "at once", tt.want...)
				if took := c.at.Sub(start); took > 0 {
					t.Errorf("Lock returned after %v, want at once", took)
				}
				time.Sleep(time.Second)
				fx.wantHolders(t, "k", "x y -")
			})
		})
	}
}

// The error of a try that asked several times is made of the answers to its last round.
func TestATryIsJudgedByItsOwnAnswers(t *testing.T) {
	const slow = 40 * time.Millisecond
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.seat("x", time.Hour, 0)
		fx.seat("y", time.Hour, 1)
		fx.each(func(m *redlocktest.Master) { m.Delay(slow / 2) })
		m := fx.client(t, node.Config{Timeout: time.Second})
		m.greet(t.Context())
		c := begin(t, m, request("k"))
		time.Sleep(slow) // the first round is answered, and the pause takes three round trips at most
		synctest.Wait()
		fx.each((*redlocktest.Master).Freeze)
		time.Sleep(5 * slow)
		c.cancel()
		c.wantError(t, "in the second round", context.Canceled, ErrNoQuorum)
		if want := "m1: no answer yet; m2: no answer yet; m3: no answer yet"; !strings.HasSuffix(c.err.Error(), want) {
			t.Errorf("Lock = %v, want %s", c.err, want)
		}
	})
}
