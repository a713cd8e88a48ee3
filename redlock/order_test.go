package redlock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// stay is one caller's wait for a name, and its hold of it.
type stay struct {
	client, number       int
	reads                bool
	asked, decided, over time.Duration // since the start
	got                  bool
}

func (s *stay) String() string {
	kind := "writer"
	if s.reads {
		kind = "reader"
	}
	return fmt.Sprintf("%s %d.%d, who asked at %v and was decided at %v (held: %v, until %v)", kind, s.client, s.number, s.asked, s.decided, s.got, s.over)
}

// Without faults, whoever asks first is served first, whichever client it belongs to and whatever that has
// at the moment: among writers and readers who come, give up, become readers and leave at random.
func TestOrderLong(t *testing.T) {
	for seed := range portion(8) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { order(t, seed) })
		})
	}
}

func order(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 7))
	n := []int{1, 3, 3, 4, 5}[r.IntN(5)]
	fleet := redlocktest.Start(t, n)
	delay := time.Duration(r.Int64N(int64(4 * time.Millisecond)))
	each(fleet, 0, n, func(m *redlocktest.Master) { m.Delay(delay) })
	clients := make([]*redlock.Client, 2+r.IntN(3))
	for i := range clients {
		clients[i] = open(t, fleet, redlock.Config{Lease: 10 * time.Second})
		hold := lock(t, t.Context(), clients[i], "warm")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // so that it can be told
		_, err := clients[i].Lock(ctx, "warm")
		expect(t, "Lock", err, context.DeadlineExceeded)
		cancel()
		unlock(t, hold)
	}

	var mu sync.Mutex
	var stays []*stay
	var callers sync.WaitGroup
	start := time.Now()
	const long = 10 * time.Second
	for i, c := range clients {
		for range 3 + r.IntN(3) {
			d := rand.New(rand.NewPCG(r.Uint64(), 0))
			callers.Go(func() {
				for time.Since(start) < long {
					pause(d, 400*time.Millisecond)
					s := &stay{client: i, reads: d.IntN(2) == 0}
					mu.Lock()
					s.number = len(stays)
					stays = append(stays, s)
					mu.Unlock()
					s.visit(t, c, d, start)
				}
			})
		}
	}
	callers.Wait()
	judged := 0
	for _, first := range stays {
		for _, second := range stays {
			// Clients take a stamp from clocks that they have read at some time.
			if second.asked < first.asked+30*time.Millisecond+4*delay || first.decided < second.asked || !second.got {
				continue
			}
			late := 2 * delay // their messages differ by so much
			if first.reads && second.reads {
				late = 450*time.Millisecond + 6*delay // one may have to ask, when both may come in
			}
			judged++
			if first.decided > second.decided+late {
				t.Errorf("%v\novertook %v\n%d masters, delay %v", second, first, n, delay)
			}
		}
	}
	if judged < 150 {
		t.Errorf("%d pairs of %d calls could be judged, want more", judged, len(stays))
	}
}

// visit waits for the name, at most for a time, and keeps it for a while.
func (s *stay) visit(t *testing.T, c *redlock.Client, d *rand.Rand, start time.Time) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if d.IntN(4) == 0 {
		time.AfterFunc(time.Duration(d.Int64N(int64(time.Second))), cancel)
	}
	take := c.Lock
	if s.reads {
		take = c.RLock
	}
	s.asked = time.Since(start)
	hold, err := take(ctx, "a")
	s.decided, s.got = time.Since(start), err == nil
	if err != nil {
		expect(t, "Lock", err, context.Canceled)
		return
	}
	if d.IntN(2) == 0 { // others are shorter than what is handed off is valid for
		pause(d, 200*time.Millisecond)
	}
	if !s.reads && d.IntN(2) == 0 {
		expect(t, "Downgrade", hold.Downgrade(t.Context()))
		pause(d, 200*time.Millisecond)
	}
	unlock(t, hold)
	s.over = time.Since(start)
}
