package redlock_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// A busy master has one processor: what it has to do for all clients together waits for its turn. What a
// client has sent is work even after the client gave up on the answer.
type busy struct {
	*redlocktest.Master
	mu    sync.Mutex
	until time.Time
	dials int
}

// A command and its answer take this master 4 ms, and a connection 60 ms: TLS on a small machine does so.
const (
	messageCosts    = 2 * time.Millisecond
	connectionCosts = 60 * time.Millisecond
)

// work returns when the master will have done what costs that much.
func (b *busy) work(cost time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := time.Now(); b.until.Before(now) {
		b.until = now
	}
	b.until = b.until.Add(cost)
	return time.Until(b.until)
}

// pool makes a client's connections.
func (b *busy) pool() *redis.Pool {
	w := b.Wire()
	w.Lag(func() time.Duration { return b.work(messageCosts) })
	return dialing(func(ctx context.Context) (net.Conn, error) {
		b.mu.Lock()
		b.dials++
		b.mu.Unlock()
		select {
		case <-time.After(b.work(connectionCosts)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return w.Dial(ctx)
	})
}

// Clients whose connections cost the masters far longer than any of them waits for an answer start all at
// once, and come back all at once when the masters were restarted or hung. No storm keeps them from the
// masters: soon there are as many turns as before, no hold was lost, and few connections were made in vain.
func TestStormLong(t *testing.T) {
	const clients = 15
	for _, fault := range []struct {
		name     string
		strike   func(fleet *redlocktest.Fleet)
		connects int // to one master afterwards, at most
	}{
		{"restart", func(fleet *redlocktest.Fleet) {
			each(fleet, 0, 3, (*redlocktest.Master).RestartWithData)
		}, 3 * clients},
		{"hang", func(fleet *redlocktest.Fleet) {
			each(fleet, 0, 3, (*redlocktest.Master).Freeze)
			time.Sleep(3 * nodeTimeout)
			each(fleet, 0, 3, (*redlocktest.Master).Thaw)
		}, 0},
	} {
		t.Run(fault.name, func(t *testing.T) {
			masters(t, 3, func(t *testing.T, fleet *redlocktest.Fleet) {
				var c crowd
				for _, m := range fleet.Masters() {
					c.masters = append(c.masters, &busy{Master: m})
				}
				ctx, stop := context.WithCancel(t.Context())
				start := time.Now()
				for i := range clients {
					c.first.Add(1)
					c.callers.Go(func() { c.takeTurns(ctx, t, fmt.Sprint("own:", i)) })
				}
				c.first.Wait()
				t.Logf("the last client's first turn after %v", time.Since(start))
				if n, most := c.connects(), 4*clients; n > most {
					t.Errorf("the start took %d connections to one master, want at most %d", n, most)
				}
				const span = 2 * time.Second
				before := c.taken(span)
				c.connects()
				fault.strike(fleet)
				back := time.Now()
				for c.taken(span) < before*9/10 && time.Since(back) < time.Minute {
				}
				late, n := time.Since(back), c.connects()
				t.Logf("%d turns in %v; again after %v, with %d connections", before, span, late, n)
				if late > 8*time.Second {
					t.Errorf("fewer turns for %v, want at most 8s", late)
				}
				if n > fault.connects {
					t.Errorf("it took %d connections to one master, want at most %d", n, fault.connects)
				}
				for _, hold := range c.holds {
					expectAlive(t, hold)
				}
				stop()
				c.callers.Wait()
			})
		})
	}
}

// crowd is many clients, each with a hold of its own, that take turns at one name.
type crowd struct {
	masters []*busy
	callers sync.WaitGroup
	first   sync.WaitGroup // turn of each

	mu    sync.Mutex
	turns int
	holds []*redlock.Hold
}

func (c *crowd) takeTurns(ctx context.Context, t *testing.T, own string) {
	first := sync.OnceFunc(c.first.Done)
	defer first()
	cfg := redlock.Config{RestartGuard: -1}
	for _, b := range c.masters {
		cfg.Pools = append(cfg.Pools, b.pool())
	}
	client, err := redlock.New(cfg)
	if err != nil {
		t.Errorf("New: %v", err)
		return
	}
	defer client.Close()
	hold, err := client.Lock(ctx, own)
	if err != nil {
		t.Errorf("Lock(%q): %v", own, err)
		return
	}
	c.mu.Lock()
	c.holds = append(c.holds, hold)
	c.mu.Unlock()
	for ctx.Err() == nil {
		turn, err := client.Lock(ctx, "all")
		if err != nil {
			time.Sleep(50 * time.Millisecond) // the masters are away
			continue
		}
		c.mu.Lock()
		c.turns++
		c.mu.Unlock()
		first()
		_ = turn.Unlock(ctx) // of a hold that a fault may have ended
	}
}

// taken returns how many turns are taken in span.
func (c *crowd) taken(span time.Duration) int {
	c.mu.Lock()
	before := c.turns
	c.mu.Unlock()
	time.Sleep(span)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turns - before
}

// connects returns how many connections were begun to one master, at most, since it was asked last.
func (c *crowd) connects() (most int) {
	for _, b := range c.masters {
		b.mu.Lock()
		most, b.dials = max(most, b.dials), 0
		b.mu.Unlock()
	}
	return most
}
