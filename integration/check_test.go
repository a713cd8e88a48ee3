package integration

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlock"
)

// orphanWait is how long after a thaw a key that nobody holds may still be there.
const orphanWait = 2 * time.Second

// eventually calls check until it returns nil, and fails the test if limit passes first.
func eventually(ctx context.Context, t *testing.T, limit time.Duration, what string, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %v: %v", what, limit, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// watch calls check again and again for span, and fails the test if it ever returns an error.
func watch(ctx context.Context, t *testing.T, span time.Duration, check func() error) {
	t.Helper()
	end := time.After(span)
	for {
		if err := check(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		case <-end:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// quick calls fn, and reports an error if that took longer than limit.
func quick(t *testing.T, limit time.Duration, what string, fn func()) {
	t.Helper()
	start := time.Now()
	fn()
	if took := time.Since(start); took > limit {
		t.Errorf("%s took %v, want at most %v", what, took, limit)
	}
}

// mustLock and mustUnlock are for calls that a test expects to succeed.
func mustLock(ctx context.Context, t *testing.T, client *redlock.Client, name string) *redlock.Hold {
	t.Helper()
	hold, err := client.Lock(ctx, name)
	if err != nil {
		t.Fatalf("Lock(%q) = %v, want a hold", name, err)
	}
	return hold
}

func mustUnlock(ctx context.Context, t *testing.T, hold *redlock.Hold) {
	t.Helper()
	if err := hold.Unlock(ctx); err != nil {
		t.Fatalf("Unlock(%q) = %v, want nil", hold.Name(), err)
	}
}

// wantTaken tries to lock name once, and expects to find it taken.
func wantTaken(ctx context.Context, t *testing.T, client *redlock.Client, name string) {
	t.Helper()
	hold, err := client.TryLock(ctx, name)
	if !errors.Is(err, redlock.ErrTaken) {
		t.Fatalf("TryLock(%q) by another client = %v, %v, want ErrTaken", name, hold, err)
	}
}

// live returns nil if the hold is alive, or else why not.
func live(hold *redlock.Hold) error {
	if err := hold.Context().Err(); err != nil {
		return fmt.Errorf("hold of %q ended: %w", hold.Name(), context.Cause(hold.Context()))
	}
	if left := hold.Remaining(); left <= 0 {
		return fmt.Errorf("hold of %q: Remaining() = %v, want more", hold.Name(), left)
	}
	return nil
}

// wantFree waits until none of the masters has any of the names.
func (f *fleet) wantFree(ctx context.Context, t *testing.T, masters []*master, names ...string) {
	t.Helper()
	eventually(ctx, t, orphanWait, "no key left behind", func() error { return nothing(masters, names...) })
	f.log.event("none of %d names is left on %d masters", len(names), len(masters))
}

// nothing returns nil if no master has any of the names, or else says which master has which.
func nothing(masters []*master, names ...string) (left error) {
	for _, m := range masters {
		found, err := m.leftovers(names)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			left = errors.Join(left, fmt.Errorf("%s still has %q", m.name, found))
		}
	}
	return left
}

// leftovers checks all names in one pipeline and returns those that exist.
func (m *master) leftovers(names []string) ([]string, error) {
	conn, err := m.dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	for _, name := range names {
		if err := conn.Send("EXISTS", name); err != nil {
			return nil, err
		}
	}
	if err := conn.Flush(); err != nil {
		return nil, err
	}
	var found []string
	for _, name := range names {
		there, err := redis.Bool(conn.Receive())
		if err != nil {
			return nil, err
		}
		if there {
			found = append(found, name)
		}
	}
	return found, nil
}

// resource is what the lock protects: a counter that two simultaneous holders would corrupt, and a
// check that notices them. Each access is atomic, so that the race detector does not complain, but
// the sequence of accesses is not.
type resource struct {
	t       *testing.T
	inside  atomic.Int64 // who is inside, 0 for nobody
	counter atomic.Int64
	token   atomic.Int64
}

// stay is how long a holder is inside: about as long as the masters take to answer, so that a second
// holder, if there is one, has time to arrive.
const stay = 300 * time.Microsecond

// use is one holder's turn. who is the holder's own number, which is not 0.
func (r *resource) use(who int64, hold *redlock.Hold) {
	if !r.inside.CompareAndSwap(0, who) {
		r.t.Errorf("overlap: %d entered while %d was inside", who, r.inside.Load())
	}
	value := r.counter.Load()
	for end := time.Now().Add(stay); time.Now().Before(end); {
		runtime.Gosched()
	}
	r.counter.Store(value + 1)
	if token := hold.Token(); token <= 0 {
		r.t.Errorf("Token() = %d, want more than 0", token)
	} else {
		r.token.Store(token)
	}
	if !r.inside.CompareAndSwap(who, 0) {
		r.t.Errorf("overlap: %d was inside when %d left", r.inside.Load(), who)
	}
}

// median of at least one duration.
func median(d []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return sorted[len(sorted)/2]
}
