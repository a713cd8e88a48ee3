package redlock_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// queue is callers of one client that wait for a name, and the order they were served in.
type queue struct {
	t      *testing.T
	c      *redlock.Client
	cancel []context.CancelFunc
	done   func(caller int) // called under the lock, if there is one

	mu     sync.Mutex
	served []int
}

// wait adds callers to the end of the queue. Each unlocks at once, or says nothing if
// its wait was cut.
func (q *queue) wait(callers int) {
	for i := range callers {
		ctx, cancel := context.WithCancel(q.t.Context())
		q.cancel = append(q.cancel, cancel)
		go func() {
			hold, err := q.c.Lock(ctx, "a")
			if err != nil {
				expect(q.t, "Lock", err, context.Canceled, redlock.ErrTaken)
				return
			}
			q.mu.Lock()
			q.served = append(q.served, i)
			q.mu.Unlock()
			if q.done != nil {
				q.done(i)
			}
			unlock(q.t, hold)
		}()
		synctest.Wait()
	}
}

// Only one of a client's callers asks the masters, however many wait.
func TestManyCallersCostOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // not beside others, whose goroutines would count
		fleet := redlocktest.Start(t, 3)
		c, d := open(t, fleet, redlock.Config{}), open(t, fleet, redlock.Config{})
		hold := lockFor(t, t.Context(), d, "a", lease)

		const callers, served = 1000, 100
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		goroutines := runtime.NumGoroutine()
		done := make(chan error, callers)
		inside := 0
		for range callers {
			go func() {
				done <- c.Do(ctx, "a", func(context.Context) error {
					if inside++; inside == served { // the race detector checks exclusion here
						cancel()
					}
					return nil
				})
			}()
		}
		synctest.Wait()
		if got := runtime.NumGoroutine() - goroutines; got > callers+100 {
			t.Errorf("%d callers that wait need %d goroutines", callers, got)
		}
		for _, m := range fleet.Masters() {
			if got := m.Connections(); got > 4 {
				t.Errorf("%s has %d connections", m.Name(), got)
			}
		}
		before := fleet.Master(0).Calls("EVALSHA")
		time.Sleep(10 * time.Second)
		// A contender asks after 200 ms, then ever more seldom, and from 0.8 s on every 400 ms.
		// Each pause is up to 50 ms shorter, so that asks of many names come together.
		if got := fleet.Master(0).Calls("EVALSHA") - before; got < 25 || got > 30 {
			t.Errorf("%d callers that wait ran %d scripts in 10s, want 25 to 30", callers, got)
		}
		unlock(t, hold)
		for range callers {
			if err := <-done; err != nil {
				expect(t, "Do", err, context.Canceled)
			}
		}
		if inside < served {
			t.Errorf("%d callers were inside, want %d", inside, served)
		}
	})
}

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

// channels are those that anybody is subscribed to at m.
func channels(t *testing.T, m *redlocktest.Master) []string {
	t.Helper()
	nc, err := m.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn := redis.NewConn(nc, 0, 0)
	defer conn.Close()
	list, err := redis.Strings(conn.Do("PUBSUB", "CHANNELS"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// expectChannels wants that many channels with subscribers at each master.
func expectChannels(t *testing.T, fleet *redlocktest.Fleet, want int) {
	t.Helper()
	synctest.Wait()
	for _, m := range fleet.Masters() {
		if got := channels(t, m); len(got) != want {
			t.Errorf("%s: subscribed to %q, want %d channels", m.Name(), got, want)
		}
	}
	synctest.Wait() // the connections that asked are gone
}

// A caller whose context ends leaves nothing but its client's one subscription, wherever it
// stands and whoever has the lock.
func TestGivingUpLeavesNothing(t *testing.T) {
	for _, holder := range []string{"the client", "another client", "one of Redisson's"} {
		for _, caller := range []string{"the first", "one in the middle", "the last", "all"} {
			t.Run(holder+" has it/"+caller, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { // not beside others, whose goroutines would count
					fleet := redlocktest.Start(t, 3)
					c, d := open(t, fleet, redlock.Config{}), open(t, fleet, redlock.Config{})
					var hold *redlock.Hold
					release := func() { unlock(t, hold) }
					switch holder {
					case "the client":
						hold = lock(t, t.Context(), c, "a")
					case "another client":
						hold = lock(t, t.Context(), d, "a")
					default:
						for _, m := range fleet.Masters() {
							m.HSet("a", someone, "1")
							m.Expire("a", lease)
						}
						release = func() {
							for _, m := range fleet.Masters() {
								m.Del("a")
							}
						}
					}
					synctest.Wait()            // it has all masters
					warm := &queue{t: t, c: c} // its subscriptions stay
					warm.wait(1)
					time.Sleep(time.Second)
					warm.cancel[0]()
					synctest.Wait()
					expectNoQueue(t, fleet, "a")
					expectChannels(t, fleet, 1)
					goroutines, connections := runtime.NumGoroutine(), fleet.Master(0).Connections()

					const callers = 5
					q := &queue{t: t, c: c}
					q.wait(callers)
					time.Sleep(1037 * time.Millisecond)
					first, last := 0, callers-1
					switch caller {
					case "the first":
						last = 0
					case "one in the middle":
						first, last = 2, 2
					case "the last":
						first = last
					}
					for i := first; i <= last; i++ {
						q.cancel[i]()
						synctest.Wait()
					}
					left := callers - (last - first + 1)
					if got := runtime.NumGoroutine() - goroutines; got > left+1 {
						t.Errorf("%d goroutines with %d callers that wait", got, left)
					}
					contenders := min(left, 1)
					for _, m := range fleet.Masters() {
						if got := len(m.ZSet("redlock_wait:{a}")); holder != "the client" && got != contenders {
							t.Errorf("%s: %d wait, want %d", m.Name(), got, contenders)
						}
					}
					for _, cancel := range q.cancel {
						cancel()
					}
					synctest.Wait()
					expectNoQueue(t, fleet, "a")
					expectChannels(t, fleet, 1)
					if got := fleet.Master(0).Connections(); got != connections {
						t.Errorf("%d connections, want %d", got, connections)
					}
					time.Sleep(time.Second)
					synctest.Wait()
					if got := runtime.NumGoroutine(); got > goroutines+2 { // some slack: a leak grows with the callers
						t.Errorf("%d goroutines, want %d", got, goroutines)
					}
					release()
					expectFree(t, fleet, "a")
					expectQuiet(t, fleet)
				})
			})
		}
	}
}
