package redlock_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// got is a call that must succeed. All masters have answered when it returns.
func got(t *testing.T, what string, call func(context.Context) (*redlock.Hold, error), ctx context.Context) *redlock.Hold {
	t.Helper()
	hold, err := call(ctx)
	check.OK(t, err, "%s", what)
	synctest.Wait() // it returns with the majority
	return hold
}

// waiting is a call that waits in the background.
type waiting struct {
	hold   *redlock.Hold // once it has returned, nil if it failed
	err    error
	at     time.Time
	over   bool
	cancel context.CancelFunc
	done   chan struct{} // closed when it has returned
}

// returned waits for the call to return with a hold.
func (w *waiting) returned(t *testing.T) *redlock.Hold {
	t.Helper()
	<-w.done
	expect(t, "the call that waited", w.err)
	return w.hold
}

// waitFor makes a call in the background.
func waitFor(t *testing.T, call func(context.Context) (*redlock.Hold, error)) *waiting {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &waiting{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.hold, w.err = call(ctx)
		w.at, w.over = time.Now(), true
	}()
	synctest.Wait()
	return w
}

// locking is Lock in the background.
func locking(t *testing.T, c *redlock.Client, name string, options ...redlock.Option) *waiting {
	t.Helper()
	return waitFor(t, func(ctx context.Context) (*redlock.Hold, error) { return c.Lock(ctx, name, options...) })
}

// rest lets time pass, and then all that happens at that moment.
func rest(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// betweenAsks waits until the waiters have just asked the masters, which are 5 ms away: they do not ask for the next 20 ms.
// Their pauses are as long as they get after 1.3 s, and then end on a grid of 50 ms, plus a round trip, that depends on
// when the process began. Some ask once more when they have the answer.
func betweenAsks(fleet *redlocktest.Fleet) {
	rest(2 * time.Second)
	for before := scripts(fleet); scripts(fleet) == before; {
		rest(time.Millisecond)
	}
	rest(10 * time.Millisecond)
}

// expectHolds checks that those of all in want have their holds, and the others wait.
func expectHolds(t *testing.T, when string, all []*waiting, want ...int) {
	t.Helper()
	synctest.Wait()
	wanted := make(map[int]bool)
	for _, i := range want {
		wanted[i] = true
	}
	for i, w := range all {
		if w.over != wanted[i] || w.over && w.err != nil {
			t.Errorf("%s: caller %d returned %v, with %v; want %v to have a hold and the others to wait", when, i, w.over, w.err, want)
		}
	}
}

// One release lets in all readers at the head of the queue, with one message each.
func TestReadersAreLetInAtOnce(t *testing.T) {
	for phase := range 10 { // of the grid on which pauses end
		t.Run(fmt.Sprint(phase), bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
			const delay = 5 * time.Millisecond
			time.Sleep(time.Duration(phase) * 5 * time.Millisecond)
			clients := []*redlock.Client{c, open(t, fleet, redlock.Config{}), open(t, fleet, redlock.Config{})}
			use(t, c, "warm")
			each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(delay) })
			hold := lock(t, t.Context(), c, "a")
			var all []*waiting
			for i := range 6 {
				all = append(all, locking(t, clients[i%3], "a", redlock.Shared()))
			}
			betweenAsks(fleet)
			before, start := scripts(fleet), time.Now()
			unlock(t, hold)
			expectHolds(t, "one message later", all, 0, 1, 2, 3, 4, 5)
			for i, r := range all {
				check.Equal(t, r.at.Sub(start), 2*delay, "reader %d had the lock after", i)
				if r.hold.Token() != all[0].hold.Token() || r.hold.Token() < hold.Token() {
					t.Errorf("reader %d has token %d, the first reader %d, the writer before %d", i, r.hold.Token(), all[0].hold.Token(), hold.Token())
				}
			}
			check.Equal(t, scripts(fleet)-before, 3, "script calls, those of the release")
		}))
	}
}

// A reader cannot become a writer, since two that did would wait for each other. A writer that waits gets ErrUpgrade when
// its owner becomes a reader.
func TestUpgradeIsAnError(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		d := open(t, fleet, redlock.Config{})
		other := lock(t, t.Context(), d, "b")
		ctx := redlock.WithOwner(t.Context())
		r := waitFor(t, func(context.Context) (*redlock.Hold, error) { return c.Lock(ctx, "b", redlock.Shared()) })
		rest(time.Microsecond)
		w := waitFor(t, func(context.Context) (*redlock.Hold, error) { return c.Lock(ctx, "b") })
		rest(time.Second)
		unlock(t, other)
		rest(10 * time.Millisecond)
		expect(t, "RLock", r.err)
		expect(t, "Lock", w.err, redlock.ErrUpgrade)
		unlock(t, r.hold)
	})(t)
}
