package redlock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

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

// Callers without number give up at random, also while the lock is passed to them.
func TestThousandCallersGiveUpLong(t *testing.T) {
	for seed := range portion(3) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 0))
				fleet := redlocktest.Start(t, 3)
				var clients []*redlock.Client
				for range 4 {
					clients = append(clients, open(t, fleet, redlock.Config{}))
				}
				each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(time.Duration(r.Int64N(int64(3 * time.Millisecond)))) })
				served := 0
				var wg sync.WaitGroup
				for i := range 1000 {
					begin := time.Duration(r.Int64N(int64(time.Second)))
					wait := time.Duration(r.Int64N(int64(2 * time.Second)))
					keep := time.Duration(r.Int64N(int64(10 * time.Millisecond)))
					wg.Go(func() {
						time.Sleep(begin)
						ctx, cancel := context.WithTimeout(t.Context(), wait)
						defer cancel()
						hold, err := clients[i%len(clients)].Lock(ctx, "a")
						if err != nil {
							expect(t, "Lock", err, context.DeadlineExceeded)
							return
						}
						served++ // the race detector checks exclusion here
						time.Sleep(keep)
						expect(t, "Unlock", hold.Unlock(t.Context()))
					})
				}
				wg.Wait()
				time.Sleep(20 * time.Millisecond)
				if served < 100 {
					t.Errorf("%d were served, want more than 100", served)
				}
				expectFree(t, fleet, "a")
				expectNoQueue(t, fleet, "a")
				expectChannels(t, fleet, len(clients))
				start := time.Now()
				each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(0) })
				unlock(t, lock(t, t.Context(), clients[0], "a"))
				if got := time.Since(start); got != 0 {
					t.Errorf("the lock was free after %v, want at once", got)
				}
				synctest.Wait()
				expectQuiet(t, fleet)
			})
		})
	}
}

// Close in the middle of a wait leaves no place in the queue, no subscription and no vote,
// and those who wait elsewhere get the lock as if nothing had been.
func TestCloseWhileWaitingLeavesNothing(t *testing.T) {
	for _, passed := range []bool{false, true} {
		t.Run(fmt.Sprintf("passed to it=%v", passed), func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				d, e := open(t, fleet, redlock.Config{}), open(t, fleet, redlock.Config{})
				warm(t, c)
				const delay = 5 * time.Millisecond
				each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(delay) })
				hold := lock(t, t.Context(), c, "a")
				dead := await(t, d, "a")
				time.Sleep(10 * time.Millisecond)
				next := await(t, e, "a")
				time.Sleep(1037 * time.Millisecond)
				if passed {
					go hold.Unlock(t.Context())
					time.Sleep(delay + delay/2) // the masters have passed it, and d does not know yet
				}
				expect(t, "Close", d.Close())
				if hold, ok := <-dead; ok {
					t.Errorf("a closed client has %s", hold.Owner())
				}
				time.Sleep(2 * delay)
				start := time.Now()
				if !passed {
					unlock(t, hold)
				}
				hold = <-next
				if got := time.Since(start); got > 2*delay {
					t.Errorf("the next holder had the lock after %v, want at most %v", got, 2*delay)
				}
				unlock(t, hold)
				time.Sleep(2 * delay)
				expectFree(t, fleet, "a")
				expectNoQueue(t, fleet, "a")
				each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(0) })
				expectChannels(t, fleet, 1)
			})
		})
	}
}
