package integration

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlock"
)

// TestUncontended: two clients lock in turn, without contention.
func TestUncontended(t *testing.T) {
	for _, n := range []int{3, 5} {
		t.Run(fmt.Sprintf("masters=%d", n), func(t *testing.T) {
			ctx := begin(t, time.Minute)
			f := startFleet(ctx, t, fleetConfig{Masters: n})
			clients := []*redlock.Client{f.client(redlock.Config{}), f.client(redlock.Config{})}
			guarded := &resource{t: t}
			const rounds = 50
			var last int64
			for i := range rounds {
				hold := mustLock(ctx, t, clients[i%2], "orders:42")
				if hold.Token() <= last {
					t.Errorf("Token() = %d after %d, want more", hold.Token(), last)
				}
				last = hold.Token()
				guarded.use(int64(i+1), hold)
				mustUnlock(ctx, t, hold)
			}
			if got := guarded.counter.Load(); got != rounds {
				t.Errorf("counter = %d, want %d", got, rounds)
			}
			f.wantFree(ctx, t, f.masters, "orders:42")
		})
	}
}

// TestContended: several clients with several goroutines each compete for one name.
func TestContended(t *testing.T) {
	for _, n := range []int{3, 5} {
		t.Run(fmt.Sprintf("masters=%d", n), func(t *testing.T) {
			ctx := begin(t, 90*time.Second)
			f := startFleet(ctx, t, fleetConfig{Masters: n})
			const clients, goroutines, rounds = 4, 3, 10
			guarded := &resource{t: t}
			var wg sync.WaitGroup
			for c := range clients {
				client := f.client(redlock.Config{})
				for g := range goroutines {
					wg.Go(func() {
						who := int64(c*goroutines + g + 1)
						for range rounds {
							if err := turn(ctx, client, guarded, who); err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
			}
			wg.Wait()
			if got := guarded.counter.Load(); got != clients*goroutines*rounds && !t.Failed() {
				t.Errorf("counter = %d, want %d", got, clients*goroutines*rounds)
			}
			f.wantFree(ctx, t, f.masters, "orders:42")
		})
	}
}

// turn takes the lock, uses the resource, releases the lock and pauses for a random moment: without
// the pause, a client would mostly compete with itself.
func turn(ctx context.Context, client *redlock.Client, guarded *resource, who int64) error {
	hold, err := client.Lock(ctx, "orders:42")
	if err != nil {
		return fmt.Errorf("%d: Lock = %w", who, err)
	}
	guarded.use(who, hold)
	if err := hold.Unlock(ctx); err != nil {
		return fmt.Errorf("%d: Unlock = %w", who, err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(rand.N(3 * time.Millisecond)):
	}
	return nil
}

// TestExclusionUnderFaults: contenders work while one or two of five durable masters at a time are
// hurt in every way that the harness has. No contender may notice.
func TestExclusionUnderFaults(t *testing.T) {
	ctx := begin(t, 2*time.Minute)
	random := randomness(t)
	f := startFleet(ctx, t, fleetConfig{Masters: 5, Durable: true, Wires: true})
	const clients, goroutines = 6, 1
	working, done := context.WithCancel(ctx)
	guarded := &resource{t: t}
	var turns [clients * goroutines]int64
	var wg sync.WaitGroup
	for c := range clients {
		client := f.client(redlock.Config{Lease: 10 * time.Second})
		for g := range goroutines {
			wg.Go(func() {
				who := c*goroutines + g
				for working.Err() == nil {
					if err := turn(ctx, client, guarded, int64(who+1)); err != nil {
						t.Error(err)
						return
					}
					turns[who]++
				}
			})
		}
	}
	for range 12 {
		f.hurt(ctx, t, random)
	}
	done()
	wg.Wait()
	var total int64
	for _, n := range turns {
		total += n
	}
	f.log.event("turns by contender: %v", turns)
	if got := guarded.counter.Load(); got != total {
		t.Errorf("counter = %d after %d turns", got, total)
	}
	f.wantFree(ctx, t, f.masters, "orders:42")
}

// hurt picks one or two masters, does the same harm to each, waits, and undoes it. It returns when
// every client has reached every master again and locks have been passed on since then: otherwise
// the next harm could hit a majority.
func (f *fleet) hurt(ctx context.Context, t *testing.T, random *rand.Rand) {
	t.Helper()
	victims := random.Perm(len(f.masters))[:1+random.IntN(2)]
	harm := random.IntN(4)
	for _, i := range victims {
		switch m := f.masters[i]; harm {
		case 0:
			m.kill(ctx, t)
		case 1:
			m.pause(t)
		case 2:
			m.cut()
		case 3:
			m.cutAnswers()
		}
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(random.Int64N(int64(1200 * time.Millisecond)))):
	}
	for _, i := range victims {
		switch m := f.masters[i]; harm {
		case 0:
			m.start(ctx, t)
		case 1:
			m.unpause(t)
		default:
			m.mend()
		}
	}
	eventually(ctx, t, 5*time.Second, "every client reaches every master again", func() error {
		for _, client := range f.clients {
			in, err := client.Inspect(ctx, "orders:42")
			if err != nil {
				return err
			}
			for _, m := range in.Masters {
				if m.Err != nil {
					return m.Err
				}
			}
		}
		return nil
	})
	select {
	case <-ctx.Done():
	case <-time.After(100 * time.Millisecond):
	}
}

// TestManyWaiters: a thousand callers that wait for one name cost the client few goroutines of its
// own, and each master few connections.
func TestManyWaiters(t *testing.T) {
	ctx := begin(t, time.Minute)
	f := startFleet(ctx, t, fleetConfig{Masters: 5})
	before := runtime.NumGoroutine()
	holder, client := f.client(redlock.Config{}), f.client(redlock.Config{})
	hold := mustLock(ctx, t, holder, "orders:42")

	const callers = 1000
	waiting, giveUp := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			got, err := client.Lock(waiting, "orders:42")
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Lock given up = %v, %v, want context.Canceled", got, err)
			}
		})
	}
	most := 0
	watch(ctx, t, 2*time.Second, func() error { most = max(most, runtime.NumGoroutine()-before-callers); return nil })
	f.log.event("%d callers wait: at most %d goroutines beside theirs", callers, most)
	if most > 100 {
		t.Errorf("%d goroutines beside those of %d callers, want at most 100", most, callers)
	}
	for _, m := range f.masters {
		list, err := redis.String(m.do(t, "CLIENT", "LIST"), nil)
		if err != nil {
			t.Fatal(err)
		}
		connections := countLines(list) - 1 // without the one that asks
		f.log.event("%s has %d connections of two clients", m.name, connections)
		if connections > 2*4 {
			t.Errorf("%s: %d connections of two clients, want at most 4 of each", m.name, connections)
		}
	}
	giveUp()
	wg.Wait()
	mustUnlock(ctx, t, hold)
	f.wantFree(ctx, t, f.masters, "orders:42")
}

func countLines(s string) (n int) {
	for _, r := range s {
		if r == '\n' {
			n++
		}
	}
	return n
}
