package redlock_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// The callers of all clients are served in the order of their calls, whatever client has
// the lock before them, and whoever gives up.
func TestFleetIsServedInOrder(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				r := rand.New(rand.NewPCG(seed, 0))
				each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(time.Duration(r.Int64N(int64(3 * time.Millisecond)))) })
				clients := []*redlock.Client{c, open(t, fleet, redlock.Config{}), open(t, fleet, redlock.Config{})}
				hold := lock(t, t.Context(), c, "a")
				// So that all clients can be told.
				for _, c := range clients {
					q := &queue{t: t, c: c}
					q.wait(1)
					time.Sleep(time.Second)
					q.cancel[0]()
				}

				const callers = 30
				var mu sync.Mutex
				var served, want []int
				var stay []*queue
				for i := range callers {
					q := &queue{t: t, c: clients[r.IntN(len(clients))]}
					q.done = func(int) {
						mu.Lock()
						defer mu.Unlock()
						served = append(served, i)
					}
					q.wait(1)
					if r.IntN(4) == 0 {
						time.AfterFunc(time.Duration(r.Int64N(int64(time.Second))), q.cancel[0])
					} else {
						stay = append(stay, q)
						want = append(want, i)
					}
					time.Sleep(time.Millisecond + time.Duration(r.Int64N(int64(20*time.Millisecond))))
				}
				time.Sleep(1500 * time.Millisecond)
				unlock(t, hold)
				time.Sleep(callers * 100 * time.Millisecond)
				synctest.Wait()
				mu.Lock()
				defer mu.Unlock()
				if !slices.Equal(served, want) {
					t.Errorf("served %v, want %v", served, want)
				}
				for _, q := range stay {
					q.cancel[0]()
				}
				expectFree(t, fleet, "a")
				expectNoQueue(t, fleet, "a")
			})
		})
	}
}

// Clients that come back at once share the lock evenly.
func TestClientsShareEvenly(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
		clients := []*redlock.Client{c, open(t, fleet, redlock.Config{}), open(t, fleet, redlock.Config{}), open(t, fleet, redlock.Config{})}
		served := make([]int, len(clients))
		var longest time.Duration
		begin := time.Now()
		var wg sync.WaitGroup
		for i, c := range clients {
			wg.Go(func() {
				for time.Since(begin) < 2*time.Second {
					start := time.Now()
					hold := lock(t, t.Context(), c, "a")
					if time.Since(begin) > time.Second { // all are listening
						longest = max(longest, time.Since(start)) // the race detector checks exclusion here
						served[i]++
					}
					time.Sleep(time.Millisecond)
					unlock(t, hold)
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		least, most := slices.Min(served), slices.Max(served)
		if least < 70 || 10*least < 9*most {
			t.Errorf("served %v, want at least 70 each, and the least 0.9 of the most", served)
		}
		if want := 3 * 12 * time.Millisecond; longest > want {
			t.Errorf("the longest wait was %v, want at most %v", longest, want)
		}
	})
}
