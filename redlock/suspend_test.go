package redlock

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/redlocktest"
)

// sleeper has holds end by a suspend: their validity is over, and no timer has moved.
type sleeper struct {
	*Client
	fleet *redlocktest.Fleet
	slept *atomic.Int64
	said  *atomic.Int64 // renewals that failed, by the log
}

// mustLock is Lock of a name that nobody has.
func (s *sleeper) mustLock(t *testing.T) *Hold {
	t.Helper()
	hold, err := s.Lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { runtime.KeepAlive(hold) }) // what is garbage is not renewed
	return hold
}

func (s *sleeper) killAll() {
	for _, m := range s.fleet.Masters() {
		m.Kill()
	}
}

func (s *sleeper) suspend(holds ...*Hold) {
	for _, h := range holds {
		h.h.mu.Lock()
		h.h.until = clock.Now().Add(-time.Minute)
		h.h.mu.Unlock()
	}
	s.slept.Add(int64(time.Hour))
}

// counter counts what is logged.
type counter struct {
	slog.Handler
	message string
	n       *atomic.Int64
}

func (c counter) Enabled(context.Context, slog.Level) bool { return true }

func (c counter) Handle(_ context.Context, r slog.Record) error {
	if r.Message == c.message {
		c.n.Add(1)
	}
	return nil
}

// asleep runs f with a client. It is no parallel test: what others know of suspend changes.
func asleep(t *testing.T, f func(*testing.T, *sleeper)) {
	t.Helper()
	s := &sleeper{slept: new(atomic.Int64), said: new(atomic.Int64)}
	suspended = func() time.Duration { return time.Duration(s.slept.Load()) }
	defer func() { suspended = clock.Suspended }()
	synctest.Test(t, func(t *testing.T) {
		s.fleet = redlocktest.Start(t, 3)
		log := slog.New(counter{slog.DiscardHandler, "redlock: renewal failed", s.said})
		c, err := New(Config{Pools: s.fleet.Pools(), RestartGuard: -1, Logger: log})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s.Client = c
		f(t, s)
	})
}

func wantLost(t *testing.T, ctx context.Context) {
	t.Helper()
	if cause := context.Cause(ctx); !errors.Is(cause, ErrLost) {
		t.Errorf("cause = %v, want ErrLost", cause)
	}
}

// After a suspend the loss is known at once to those who ask, and within a second to those
// who wait, of holds with a fixed lease and of others.
func TestSuspend(t *testing.T) {
	asleep(t, func(t *testing.T, s *sleeper) {
		fixed, err1 := s.LockFor(t.Context(), "fixed", time.Minute/2)
		watched, err2 := s.Lock(t.Context(), "watched")
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		child, cancel := context.WithCancel(fixed.Context())
		defer cancel()
		time.Sleep(time.Second / 2)
		s.suspend(fixed, watched)

		if err := watched.Context().Err(); !errors.Is(err, context.Canceled) {
			t.Errorf("Err after the suspend = %v, want context.Canceled", err)
		}
		wantLost(t, watched.Context())
		start := time.Now()
		<-child.Done()
		if took := time.Since(start); took > suspendWatch {
			t.Errorf("Done after %v, want %v at most", took, suspendWatch)
		}
		wantLost(t, child)
	})
}

// A hold that ended in a suspend ends at the latest when the next one of its name is granted, also
// before anything else has noticed the suspend: its context never goes on beside that of the next.
func TestNextHoldAfterASuspend(t *testing.T) {
	asleep(t, func(t *testing.T, s *sleeper) {
		old := s.mustLock(t)
		synctest.Wait() // all masters have it
		s.suspend(old)
		for _, m := range s.fleet.Masters() {
			m.Del("a")
		}
		next, err := s.TryLock(t.Context(), "a")
		if err != nil {
			t.Fatalf("TryLock of a lock that has expired = %v", err)
		}
		select {
		case <-old.Context().Done():
			wantLost(t, old.Context())
		default:
			t.Error("the context of the old hold goes on beside that of the next")
		}
		synctest.Wait()
		if err := old.Unlock(t.Context()); !errors.Is(err, ErrLost) {
			t.Errorf("Unlock of the old hold = %v, want ErrLost", err)
		}
		for _, m := range s.fleet.Masters() {
			if got := m.Holder("a"); got != next.Owner() {
				t.Errorf("%s has %q, want the next hold's owner %s", m.Name(), got, next.Owner())
			}
		}
		// The end of the old hold has not made the client forget the next.
		if err := s.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		if cause := context.Cause(next.Context()); !errors.Is(cause, ErrClosed) {
			t.Errorf("cause of the next hold after Close = %v, want ErrClosed", cause)
		}
		for _, m := range s.fleet.Masters() {
			if got := m.Holder("a"); got != "" {
				t.Errorf("%s has %q after Close", m.Name(), got)
			}
		}
	})
}

// Renewals fail after a suspend, since the network is not back yet: that ends the hold.
func TestSuspendWithoutNetwork(t *testing.T) {
	asleep(t, func(t *testing.T, s *sleeper) {
		hold := s.mustLock(t)
		s.killAll()
		time.Sleep(time.Second)
		s.suspend(hold)
		hold.h.NotRenewed(new(MajorityError))
		if n := s.said.Load(); n != 0 {
			t.Errorf("%d renewals failed, by the log, want none of a hold that is over", n)
		}
		select {
		case <-hold.Context().Done():
			wantLost(t, hold.Context())
		default:
			t.Error("the hold goes on")
		}
	})
}

// The cause of a loss is the loss itself, and not a renewal that failed long before others succeeded.
func TestLossAfterAnOutageThatIsOver(t *testing.T) {
	asleep(t, func(t *testing.T, s *sleeper) {
		hold := s.mustLock(t)
		time.Sleep(9 * time.Second)
		s.killAll()
		time.Sleep(2 * time.Second)
		if s.said.Load() == 0 {
			t.Fatal("no renewal failed")
		}
		for _, m := range s.fleet.Masters() {
			m.RestartWithData()
		}
		time.Sleep(15 * time.Second)
		s.suspend(hold)
		time.Sleep(suspendWatch)
		wantLost(t, hold.Context())
		if cause := context.Cause(hold.Context()); errors.Is(cause, ErrNoQuorum) {
			t.Errorf("cause = %v, want nothing of an outage that was over", cause)
		}
	})
}

// A renewal that crosses Unlock has failed to no purpose: the log is silent.
func TestUnlockedHoldIsNotReported(t *testing.T) {
	asleep(t, func(t *testing.T, s *sleeper) {
		hold := s.mustLock(t)
		if err := hold.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		hold.h.NotRenewed(new(MajorityError))
		if n := s.said.Load(); n != 0 {
			t.Errorf("%d renewals failed, by the log, want none", n)
		}
	})
}

// In an outage a hold is renewed again and again, sooner as validity runs out, but neither
// the masters nor the log are flooded.
func TestRenewalsOfAnOutage(t *testing.T) {
	asleep(t, func(t *testing.T, s *sleeper) {
		hold := s.mustLock(t)
		s.killAll()
		<-hold.Context().Done()
		if n := s.said.Load(); n < 10 || n > 20 {
			t.Errorf("%d renewals failed until the end of validity, want 10 to 20", n)
		}
	})
}

// merged is a user's context that ends with another one as well; here with the k-th call of Done.
type merged struct {
	context.Context
	also context.Context
	end  func()
	left atomic.Int32
}

func (m *merged) Done() <-chan struct{} {
	if m.left.Add(-1) == 0 {
		m.end()
	}
	return m.also.Done()
}

func (m *merged) Err() error { return cmp.Or(m.Context.Err(), m.also.Err()) }

// A context that asks a hold's whether it has ended may be given to any call for that hold.
func TestContextThatAsksAHold(t *testing.T) {
	for k := int32(1); k < 6; k++ {
		done := make(chan struct{})
		go func() {
			defer close(done)
			fleet := redlocktest.New(3)
			defer fleet.Close()
			c, err := New(Config{Pools: fleet.Pools(), RestartGuard: -1})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			hold, err := c.Lock(t.Context(), "a")
			if err != nil {
				t.Error(err)
				return
			}
			m := &merged{Context: hold.Context()}
			m.left.Store(k)
			m.also, m.end = context.WithCancel(t.Context())
			_ = c.Do(m, "a", func(context.Context) error { return nil }) // it ends somewhere in it
			if err := hold.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatalf("a context that ends in the call %d of Done: deadlock", k)
		}
	}
}
