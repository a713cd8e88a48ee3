package redlock_test

import (
	"bytes"
	"context"
	"net"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// spy sees what a client writes, before it leaves.
type spy struct {
	mu    sync.Mutex
	check func(p []byte) // nil: nothing is checked
}

// spied is a connection that a spy sees.
type spied struct {
	net.Conn
	*spy
}

func (c spied) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.check != nil {
		c.check(p)
	}
	return c.Conn.Write(p)
}

func (s *spy) watch(check func(p []byte)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.check = check
}

// pools returns a pool for each master, of connections that s sees.
func (s *spy) pools(fleet *redlocktest.Fleet) (pools []*redis.Pool) {
	for _, m := range fleet.Masters() {
		pools = append(pools, dialing(func(ctx context.Context) (net.Conn, error) {
			conn, err := m.Dial(ctx)
			return spied{conn, s}, err
		}))
	}
	return pools
}

// The contexts of a hold have ended when its release leaves, however it comes to an end: from then
// on another client may have the lock.
func TestContextsEndBeforeTheReleaseIsSent(t *testing.T) {
	for name, tt := range map[string]struct {
		end   func(*testing.T, *redlocktest.Fleet, *redlock.Client, []*redlock.Hold)
		cause error
	}{
		"Unlock": {func(t *testing.T, _ *redlocktest.Fleet, _ *redlock.Client, holds []*redlock.Hold) {
			unlock(t, holds[0])
			unlock(t, holds[1])
		}, redlock.ErrNotHeld},
		"Close": {func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client, _ []*redlock.Hold) {
			expect(t, "Close", c.Close())
		}, redlock.ErrClosed},
		"end of validity": {func(*testing.T, *redlocktest.Fleet, *redlock.Client, []*redlock.Hold) {
			time.Sleep(11 * time.Second)
		}, redlock.ErrLost},
		"loss that Extend hears of": {func(t *testing.T, f *redlocktest.Fleet, _ *redlock.Client, holds []*redlock.Hold) {
			seize(f, 0, 2)
			expect(t, "Extend", holds[0].Extend(t.Context(), time.Second), redlock.ErrLost)
		}, redlock.ErrLost},
	} {
		t.Run(name, withMasters(3, func(t *testing.T, fleet *redlocktest.Fleet) {
			var s spy
			c := open(t, fleet, redlock.Config{Pools: s.pools(fleet)})
			unlock(t, lock(t, t.Context(), c, "warm", redlock.Lease(time.Second)))
			outer := lock(t, redlock.WithOwner(t.Context()), c, "a", redlock.Lease(10*time.Second))
			inner := lock(t, outer.Context(), c, "a", redlock.Lease(10*time.Second))
			synctest.Wait()
			// Not by Err, which would look at the clock.
			ended := func(hold *redlock.Hold) bool {
				select {
				case <-hold.Context().Done():
					return true
				default:
					return false
				}
			}
			releases, release := 0, script.NewOwner("a", "").Release(0, 0).Words(nil, false)[1].(string)
			s.watch(func(p []byte) {
				// What ends first is no release yet: the count of the inner Unlock, and Extend.
				if !bytes.Contains(p, []byte(outer.Owner())) || !bytes.Contains(p, []byte(release)) {
					return
				}
				releases++
				if !ended(outer) || !ended(inner) {
					t.Errorf("a release is sent, and contexts go on: outer %v, inner %v", !ended(outer), !ended(inner))
				}
			})
			tt.end(t, fleet, c, []*redlock.Hold{outer, inner})
			synctest.Wait()
			s.watch(nil)
			check.Equal(t, releases, 3, "releases, one to each master")
			expect(t, "Cause", context.Cause(outer.Context()), tt.cause)
			expect(t, "Cause", context.Cause(inner.Context()), tt.cause)
		}))
	}
}

// At the instant at which validity ends, Err of a hold's context says so whether or not the timer
// has fired yet, and so does Unlock: which of the two comes first is up to the scheduler, so it is tried often.
func TestErrDoesNotWaitForTheTimer(t *testing.T) {
	bubble(t, 1, func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
		for i := range 400 {
			hold := lock(t, t.Context(), c, strconv.Itoa(i), redlock.Lease(time.Second))
			time.Sleep(hold.Remaining())
			if i%2 == 0 {
				expect(t, "Unlock at the end of validity", hold.Unlock(t.Context()), redlock.ErrLost)
			} else if hold.Context().Err() == nil {
				t.Error("Err is nil at the end of validity")
			}
			expect(t, "Cause", context.Cause(hold.Context()), redlock.ErrLost)
		}
	})
}

// The token of a hold is found in its context and below it, and so is the slot of a permit: those of the innermost
// hold, and of the innermost permit, where there are several.
func TestWhatAContextTells(t *testing.T) {
	bubble(t, 3, func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
		outer := lock(t, t.Context(), c, "a")
		type key struct{}
		below := context.WithValue(outer.Context(), key{}, 1)
		again := got(t, "Enter", outer.Enter, below)
		time.Sleep(time.Millisecond)
		inner := lock(t, below, c, "b")
		one := acquire(t, c, "gpu", 2)
		two := lock(t, one.Context(), c, "gpu", redlock.Permits(2))
		if one.Slot() == two.Slot() || inner.Token() == outer.Token() {
			t.Errorf("slots %d and %d, tokens %d and %d; want others", one.Slot(), two.Slot(), outer.Token(), inner.Token())
		}
		underOne, underTwo := lock(t, one.Context(), c, "c"), lock(t, two.Context(), c, "d")
		for _, tt := range []struct {
			what   string
			ctx    context.Context
			hold   *redlock.Hold // whose token it tells
			permit *redlock.Hold // whose slot it tells
		}{
			{"no hold", t.Context(), nil, nil},
			{"a lock", outer.Context(), outer, nil},
			{"what is below it", below, outer, nil},
			{"its re-entry", again.Context(), outer, nil},
			{"another lock under it", inner.Context(), inner, nil},
			{"a permit", one.Context(), one, one},
			{"another permit under it", two.Context(), two, two},
			{"a lock under a permit", underOne.Context(), underOne, one},
			{"a lock under both permits", underTwo.Context(), underTwo, two},
		} {
			var token int64
			if tt.hold != nil {
				token = tt.hold.Token()
			}
			check.Equal(t, redlock.Token(tt.ctx), token, "Token of %s", tt.what)
			slot := 0
			if tt.permit != nil {
				slot = tt.permit.Slot()
			}
			if got, ok := redlock.PermitSlot(tt.ctx); got != slot || ok != (tt.permit != nil) {
				t.Errorf("PermitSlot of %s = %d, %v, want %d", tt.what, got, ok, slot)
			}
		}
	})
}
