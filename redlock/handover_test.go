package redlock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// await has c wait for name in the background, and sends its hold once it has it.
func await(t *testing.T, c *redlock.Client, name string) <-chan *redlock.Hold {
	return awaitIn(t, t.Context(), c, name)
}

// awaitIn is await until ctx ends.
func awaitIn(t *testing.T, ctx context.Context, c *redlock.Client, name string) <-chan *redlock.Hold {
	t.Helper()
	got := make(chan *redlock.Hold, 1)
	go func() {
		defer close(got)
		hold, err := c.Lock(ctx, name)
		if err == nil {
			got <- hold
		} else if ctx.Err() == nil {
			expect(t, "Lock", err, redlock.ErrClosed)
		}
	}()
	synctest.Wait()
	return got
}

// expectNoQueue wants no master to have a key that belongs to waiting for name.
func expectNoQueue(t *testing.T, fleet *redlocktest.Fleet, name string) {
	t.Helper()
	synctest.Wait()
	for _, m := range fleet.Masters() {
		for _, key := range keys(m) {
			if strings.HasSuffix(key, ":{"+name+"}") && !strings.HasPrefix(key, "redlock_fence:") {
				t.Errorf("%s has %s: %v", m.Name(), key, m.ZSet(key))
			}
		}
	}
}

// The caller that waits has the lock one message after the release has reached the
// masters. It does not ask for it, and the script calls of a hand-over are the release's.
func TestHandOverIsOneMessage(t *testing.T) {
	for n := 1; n <= 5; n++ {
		t.Run(fmt.Sprintf("N=%d", n), func(t *testing.T) {
			bubble(t, n, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				d := open(t, fleet, redlock.Config{})
				warm(t, c)
				warm(t, d)
				const delay = 5 * time.Millisecond
				each(fleet, 0, n, func(m *redlocktest.Master) { m.Delay(delay) })
				hold := lock(t, t.Context(), c, "a")
				next := await(t, d, "a")
				time.Sleep(1037 * time.Millisecond) // away from the asks
				before := scripts(fleet)
				start := time.Now()
				go hold.Unlock(t.Context())
				hold = <-next
				if got := time.Since(start); got != 2*delay {
					t.Errorf("the next holder had the lock after %v, want %v", got, 2*delay)
				}
				if got := scripts(fleet) - before; got != int64(n) {
					t.Errorf("the hand-over took %d script calls, want %d", got, n)
				}
				expectAlive(t, hold)
				unlock(t, hold)
				time.Sleep(2 * delay)
				expectFree(t, fleet, "a")
			})
		})
	}
}

// A master that is slow or dead does not hold up a hand-over.
func TestMinorityDoesNotHoldUpAHandOver(t *testing.T) {
	for name, fault := range map[string]func(*redlocktest.Master){
		"dead":    (*redlocktest.Master).Kill,
		"frozen":  (*redlocktest.Master).Freeze,
		"cut off": (*redlocktest.Master).Cut,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				d := open(t, fleet, redlock.Config{})
				warm(t, c)
				warm(t, d)
				const delay = 5 * time.Millisecond
				each(fleet, 0, 5, func(m *redlocktest.Master) { m.Delay(delay) })
				hold := lock(t, t.Context(), c, "a")
				next := await(t, d, "a")
				time.Sleep(1037 * time.Millisecond)
				each(fleet, 0, 2, fault)
				start := time.Now()
				go hold.Unlock(t.Context())
				hold = <-next
				if got := time.Since(start); got != 2*delay {
					t.Errorf("the next holder had the lock after %v, want %v", got, 2*delay)
				}
				expectAlive(t, hold)
			})
		})
	}
}

// A hold that was passed on has a short lease for 20 ms, and then the one that was asked
// for. Only the watchdog's goes on being renewed.
func TestPassedHoldGetsItsLease(t *testing.T) {
	const short, fixed = time.Second, 10 * time.Second
	for _, tt := range []struct {
		name string
		lock func(context.Context, *redlock.Client) (*redlock.Hold, error)
		want time.Duration
		ends bool
	}{
		{"Lock", func(ctx context.Context, c *redlock.Client) (*redlock.Hold, error) { return c.Lock(ctx, "a") }, lease, false},
		{"LockFor", func(ctx context.Context, c *redlock.Client) (*redlock.Hold, error) { return c.LockFor(ctx, "a", fixed) }, fixed, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				first := lock(t, t.Context(), c, "a")
				synctest.Wait()
				d := open(t, fleet, redlock.Config{})
				next := make(chan *redlock.Hold)
				go func() {
					hold, err := tt.lock(t.Context(), d)
					expect(t, tt.name, err)
					next <- hold
				}()
				time.Sleep(1037 * time.Millisecond)
				unlock(t, first)
				hold := <-next
				start := time.Now()
				if got := hold.Remaining(); got <= 0 || got > short {
					t.Errorf("Remaining = %v at first, want at most %v", got, short)
				}
				time.Sleep(20*time.Millisecond - time.Nanosecond)
				synctest.Wait()
				if got := hold.Remaining(); got > short {
					t.Errorf("Remaining = %v before 20ms, want at most %v", got, short)
				}
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				if got, want := hold.Remaining(), tt.want-tt.want/100-2*time.Millisecond; got != want {
					t.Errorf("Remaining = %v after 20ms, want %v", got, want)
				}
				for _, m := range fleet.Masters() {
					if got := m.TTL("a"); got != tt.want {
						t.Errorf("%s: expires in %v, want %v", m.Name(), got, tt.want)
					}
				}
				if tt.ends {
					expectEnd(t, hold, start, 20*time.Millisecond+fixed-fixed/100-2*time.Millisecond, redlock.ErrLost)
					return
				}
				time.Sleep(10 * lease)
				expectAlive(t, hold)
			})
		})
	}
}

// Critical sections that are shorter than 20 ms cost no renewal.
func TestShortSectionsAreNotRenewed(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		const rounds = 10
		warm(t, c)
		clients := []*redlock.Client{open(t, fleet, redlock.Config{}), c}
		hold, next := lock(t, t.Context(), clients[0], "a"), await(t, c, "a")
		for range 2 { // until both have waited, and were told
			time.Sleep(1037 * time.Millisecond)
			unlock(t, hold)
			hold, next = <-next, await(t, clients[0], "a")
			clients[0], clients[1] = clients[1], clients[0]
		}
		for i := range rounds {
			after := await(t, clients[(i+1)%2], "a")
			before := scripts(fleet)
			time.Sleep(19 * time.Millisecond)
			unlock(t, hold)
			hold = <-next
			synctest.Wait()
			if got := scripts(fleet) - before; got != 3 {
				t.Errorf("hand-over %d: %d script calls, want 3: the release alone", i, got)
			}
			next = after
		}
	})
}

// TryLock neither enters a queue nor overtakes those who stand in it.
func TestTryLockStaysOutOfTheQueue(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		first := lock(t, t.Context(), c, "a")
		d, e := open(t, fleet, redlock.Config{}), open(t, fleet, redlock.Config{})
		try := func(c *redlock.Client) {
			t.Helper()
			_, err := c.TryLock(t.Context(), "a")
			expect(t, "TryLock", err, redlock.ErrTaken)
		}
		try(d)
		expectNoQueue(t, fleet, "a")

		next := await(t, d, "a")
		time.Sleep(time.Second)
		for _, m := range fleet.Masters() {
			if got := len(m.ZSet("redlock_wait:{a}")); got != 1 {
				t.Errorf("%s: %d wait, want 1", m.Name(), got)
			}
		}
		// Where the key is gone and nobody has passed it on, the first in the queue comes first.
		for _, m := range fleet.Masters() {
			m.Del("a")
		}
		try(e)
		hold := <-next
		expect(t, "Unlock of what is gone", first.Unlock(t.Context()), redlock.ErrLost)
		expectAlive(t, hold)
		try(e)
		unlock(t, hold)
		expectFree(t, fleet, "a")
		expectNoQueue(t, fleet, "a")
	})
}
