package redlock_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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

func (q *queue) expect(want ...int) {
	q.t.Helper()
	time.Sleep(time.Second)
	q.mu.Lock()
	defer q.mu.Unlock()
	if !slices.Equal(q.served, want) {
		q.t.Errorf("served %v, want %v", q.served, want)
	}
	for _, cancel := range q.cancel {
		cancel()
	}
}

func TestCallersAreServedInOrder(t *testing.T) {
	for name, other := range map[string]bool{"the client has it": false, "another client has it": true} {
		for _, tt := range []struct {
			name   string
			giveUp []int
			want   []int
		}{
			{"all stay", nil, []int{0, 1, 2, 3, 4}},
			{"the first gives up", []int{0}, []int{1, 2, 3, 4}},
			{"the first two give up", []int{0, 1}, []int{2, 3, 4}},
			{"one in the middle gives up", []int{2}, []int{0, 1, 3, 4}},
			{"the last gives up", []int{4}, []int{0, 1, 2, 3}},
			{"all but one give up", []int{4, 3, 0, 1}, []int{2}},
		} {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
					holder := c
					if other {
						holder = open(t, fleet, redlock.Config{})
					}
					hold := lock(t, t.Context(), holder, "a")
					q := &queue{t: t, c: c}
					q.wait(5)
					time.Sleep(time.Second)
					for _, i := range tt.giveUp {
						q.cancel[i]()
						synctest.Wait()
					}
					unlock(t, hold)
					q.expect(tt.want...)
					expectFree(t, fleet, "a")
				})
			})
		}
	}
}

// A hand-over inside a client is one round trip behind the Unlock that it follows.
func TestLocalHandOverIsOneRoundTrip(t *testing.T) {
	bubble(t, 5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		warm(t, c)
		const delay = 5 * time.Millisecond
		each(fleet, 0, 5, func(m *redlocktest.Master) { m.Delay(delay) })
		hold := lock(t, t.Context(), c, "a")
		took := make(chan time.Duration)
		var start time.Time
		go func() {
			lock(t, t.Context(), c, "a")
			took <- time.Since(start)
		}()
		time.Sleep(time.Second)
		start = time.Now()
		unlock(t, hold)
		if got := <-took; got != 2*delay {
			t.Errorf("the next caller had the lock after %v, want %v", got, 2*delay)
		}
	})
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

// Two clients whose callers contend all get their turn.
func TestContendersOfManyClients(t *testing.T) {
	for n := 1; n <= 5; n++ {
		t.Run(fmt.Sprintf("N=%d", n), func(t *testing.T) {
			bubble(t, n, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				each(fleet, 0, n, func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
				clients := []*redlock.Client{c, open(t, fleet, redlock.Config{}), open(t, fleet, redlock.Config{})}
				const rounds = 10
				done := make(chan error)
				inside := 0
				for _, c := range clients {
					go func() {
						for range rounds {
							done <- c.Do(t.Context(), "a", func(context.Context) error {
								inside++
								time.Sleep(time.Millisecond)
								return nil
							})
						}
					}()
				}
				for range rounds * len(clients) {
					expect(t, "Do", <-done)
				}
				if want := rounds * len(clients); inside != want {
					t.Errorf("%d were inside, want %d", inside, want)
				}
			})
		})
	}
}

// Whoever waited for a hold of the same client is told whose that is.
func TestWaitForAHoldOfTheSameClient(t *testing.T) {
	bubble(t, 3, func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
		hold := lock(t, t.Context(), c, "a")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Lock(ctx, "a")
		expect(t, "Lock", err, redlock.ErrTaken, context.DeadlineExceeded)
		if want := "held by another caller of this client for 1s"; !strings.Contains(err.Error(), want) {
			t.Errorf("Lock = %v, want that it names %q", err, want)
		}
		unlock(t, hold)
	})
}
