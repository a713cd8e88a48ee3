package redlock_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

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
				next := writer(t, d)
				time.Sleep(1037 * time.Millisecond)
				each(fleet, 0, 2, fault)
				start := time.Now()
				go hold.Unlock(t.Context())
				hold = next.returned(t)
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
	const callers = 5
	for _, holder := range []string{"the client", "another client", "one of Redisson's"} {
		for who, leave := range map[string][2]int{"the first": {0, 1}, "one in the middle": {2, 3}, "the last": {4, 5}, "all": {0, 5}} {
			t.Run(holder+" has it/"+who, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { // not beside others, whose goroutines would count
					fleet := redlocktest.Start(t, 3)
					c, d := open(t, fleet, redlock.Config{}), open(t, fleet, redlock.Config{})
					var release func()
					if client := map[string]*redlock.Client{"the client": c, "another client": d}[holder]; client != nil {
						hold := lock(t, t.Context(), client, "a")
						release = func() { unlock(t, hold) }
					} else {
						each(fleet, 0, 3, func(m *redlocktest.Master) {
							m.HSet("a", someone, "1")
							m.Expire("a", lease)
						})
						release = func() { each(fleet, 0, 3, func(m *redlocktest.Master) { m.Del("a") }) }
					}
					synctest.Wait()      // it has all masters
					warm := writer(t, c) // its subscriptions stay
					time.Sleep(time.Second)
					warm.cancel()
					queued := func(want int) {
						t.Helper()
						synctest.Wait()
						for _, m := range fleet.Masters() {
							if got := len(m.ZSet("redlock_wait:{a}")); got != want {
								t.Errorf("%s: %d wait, want %d", m.Name(), got, want)
							}
						}
					}
					queued(0)
					expectChannels(t, fleet, 1)
					goroutines, connections := runtime.NumGoroutine(), fleet.Master(0).Connections()

					var all []*waiting
					for range callers {
						all = append(all, writer(t, c))
					}
					time.Sleep(1037 * time.Millisecond)
					for _, w := range all[leave[0]:leave[1]] {
						w.cancel()
						synctest.Wait()
					}
					left := callers - (leave[1] - leave[0])
					if got := runtime.NumGoroutine() - goroutines; got > left+1 {
						t.Errorf("%d goroutines with %d callers that wait", got, left)
					}
					if holder != "the client" {
						queued(min(left, 1))
					}
					for _, w := range all {
						w.cancel()
					}
					queued(0)
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
