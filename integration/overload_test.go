package integration

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	containers "example.com/redlock/integration/fleet"
	"example.com/redlock/integration/wire"
	"example.com/redlock/internal/beside"
	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
)

// full asks for the trials as they were measured; by default they are short. They run
// by themselves, since they make the machine busy.
var full = flag.Bool("full", false, "overload trials in full, with as many clients as were measured")

// size returns what a trial has in short, and in full.
func size[T any](short, whole T) T {
	if *full {
		return whole
	}
	return short
}

// crowd is many clients. Each holds a name of its own for as long as it lives, and takes turns with all
// others at one name. One more holds many names, and does no more: its renewals come first, whatever the
// others ask.
type crowd struct {
	t       *testing.T
	f       *fleet
	clients []*redlock.Client
	holds   []*redlock.Hold
	stop    context.CancelFunc
	all     sync.WaitGroup

	turns []atomic.Int64 // that each client has had
}

// gather starts clients, all at once, and returns once each has had its first turn.
func gather(ctx context.Context, t *testing.T, f *fleet, n int, cfg redlock.Config) *crowd {
	t.Helper()
	ctx, stop := context.WithCancel(ctx)
	c := &crowd{t: t, f: f, clients: make([]*redlock.Client, n), holds: make([]*redlock.Hold, n), stop: stop, turns: make([]atomic.Int64, n)}
	timeout := cfg.NodeTimeout
	cfg = f.config(cfg)
	cfg.Logger, cfg.NodeTimeout = nil, timeout
	var begun sync.WaitGroup
	begun.Add(n)
	for i := range n {
		c.all.Go(func() {
			had := sync.OnceFunc(begun.Done)
			defer had()
			client, err := redlock.New(cfg)
			if err != nil {
				t.Error(err)
				return
			}
			c.clients[i] = client
			if c.holds[i], err = client.Lock(ctx, fmt.Sprint("orders:", i)); err != nil {
				t.Error(err)
				return
			}
			for ctx.Err() == nil {
				if hold, err := client.Lock(ctx, "orders:all"); err == nil {
					c.turns[i].Add(1)
					_ = hold.Unlock(ctx) // of a hold that a fault may have ended
					had()
				} else if ctx.Err() == nil {
					time.Sleep(50 * time.Millisecond) // the masters are away
				}
			}
		})
	}
	begun.Wait()
	t.Cleanup(c.leave)
	c.hoard(ctx, cfg, size(1000, 20_000))
	if t.Failed() {
		t.FailNow()
	}
	return c
}

// hoard has one more client hold n names.
func (c *crowd) hoard(ctx context.Context, cfg redlock.Config, n int) {
	client, err := redlock.New(cfg)
	if err != nil {
		c.t.Error(err)
		return
	}
	c.clients = append(c.clients, client)
	holds := make([]*redlock.Hold, n)
	var all sync.WaitGroup
	const callers = 64
	for from := range callers {
		all.Go(func() {
			for i := from; i < n; i += callers {
				hold, err := client.Lock(ctx, fmt.Sprint("orders:stock:", i))
				if err != nil {
					c.t.Error(err)
					return
				}
				holds[i] = hold
			}
		})
	}
	all.Wait()
	c.holds = append(c.holds, holds...)
}

// leave ends all turns, and closes the clients.
func (c *crowd) leave() {
	c.stop()
	c.all.Wait()
	beside.All(c.clients, func(client *redlock.Client) error {
		if client != nil {
			_ = client.Close() // masters may be away
		}
		return nil
	})
	clear(c.clients)
}

// had returns how many turns each client has had, and all together.
func (c *crowd) had() (each []int64, all int64) {
	for i := range c.turns {
		each = append(each, c.turns[i].Load())
		all += each[i]
	}
	return each, all
}

// suffer has the crowd live through a fault, which is over when trigger returns, and fails the test unless each client
// has a turn afterwards, each hold has lived on, and no connection was made again more often than clients may try: not at
// all if it is to be kept. How fast all that is, it tells.
func (c *crowd) suffer(ctx context.Context, kept bool, trigger func()) {
	t := c.t
	t.Helper()
	// rate returns how many turns were taken a second while something was done.
	rate := func(do func()) (float64, time.Duration) {
		_, before := c.had()
		began := time.Now()
		do()
		_, after := c.had()
		took := time.Since(began)
		return float64(after-before) / took.Seconds(), took
	}
	before, _ := rate(func() { time.Sleep(size(2*time.Second, 5*time.Second)) })
	goroutines, accepted, began := runtime.NumGoroutine(), c.f.accepted(t), time.Now()
	during, lasted := rate(trigger)
	turns, _ := c.had()
	_, back := rate(func() {
		eventually(ctx, t, "each client has a turn after the fault", func() error {
			waiting := 0
			for i := range turns {
				if c.turns[i].Load() == turns[i] {
					waiting++
				}
			}
			if waiting > 0 {
				return fmt.Errorf("%d of %d have had none", waiting, len(turns))
			}
			return nil
		})
	})
	lost := 0
	for _, hold := range c.holds {
		if hold.Context().Err() != nil {
			lost++
		}
	}
	// Leases of 30 s are renewed each 10 s, so two thirds are left when a fault begins.
	check.That(t, lost == 0 || lasted+back >= 20*time.Second, "%d of %d holds were lost within %v", lost, len(c.holds), lasted+back)
	again := 0.0
	for i, now := range c.f.accepted(t) {
		count := now.since(accepted[i])
		again = max(again, float64(count)/float64(2*len(c.clients)))
		most := 10
		if !kept || lasted > silence {
			most += 2 * len(c.clients) * attempts(time.Since(began))
		}
		if count > most {
			t.Errorf("%s was connected to %d times again, want at most %d", c.f.masters[i].Name(), count, most)
		}
	}
	t.Logf("%d clients: %.0f turns a second before, %.0f during %.1f s of the fault; each has had another after %.1f s; %d holds lost; each connection made again %.2f times; goroutines %d, before %d",
		len(c.clients), before, during, lasted.Seconds(), back.Seconds(), lost, again, runtime.NumGoroutine(), goroutines)
}

// silence is how long a master may be silent without losing a connection: four times a NodeTimeout of a second. Half a
// second of it is for answers that are due when the silence is over.
const silence = 4*time.Second - time.Second/2

// attempts returns how often a client may try to connect to a master within d. An attempt that a master accepts may take
// a second, and each one after that twice as long, up to 8 s.
func attempts(d time.Duration) (n int) {
	for takes := time.Second; d > 0; takes = min(2*takes, 8*time.Second) {
		d -= takes
		n++
	}
	return n
}

// TestOverloadStart: clients that start all at once all get their locks over the connections that they began with: two
// to each master, since they wait. They keep both, and their holds, when all masters hang for two seconds.
func TestOverloadStart(t *testing.T) {
	ctx := begin(t)
	f := startFleet(ctx, t, containers.Config{Masters: 3})
	before := f.accepted(t) // with the connection that tells this
	n, began := size(200, 1000), time.Now()
	c := gather(ctx, t, f, n, redlock.Config{NodeTimeout: time.Second})
	for i, now := range f.accepted(t) {
		count, most := now.since(before[i]), (n+1)*(1+attempts(time.Since(began))) // one subscribes only over one that works
		if count > most {
			t.Errorf("%s was connected to %d times by %d clients, want at most %d", f.masters[i].Name(), count, n, most)
		}
	}
	c.suffer(ctx, true, func() {
		f.each(t, (*containers.Master).Pause)
		time.Sleep(2 * time.Second) // longer than a NodeTimeout
		f.each(t, (*containers.Master).Unpause)
	})
}

// TestOverloadRestart: all masters, which forget nothing, restart at once under clients that hold and wait.
func TestOverloadRestart(t *testing.T) {
	ctx := begin(t)
	f := startFleet(ctx, t, containers.Config{Masters: 3, Durable: func(int) bool { return true }})
	c := gather(ctx, t, f, size(60, 300), redlock.Config{})
	c.suffer(ctx, false, func() { f.restart(t) })
}

// TestOverloadTLS: the same over TLS, where each connection costs the masters a millisecond or two.
func TestOverloadTLS(t *testing.T) {
	ctx := begin(t)
	secrets := newSecrets(t)
	set := secrets.masters(t, append([]string{"--include", "/etc/redis/conf/tls.conf"}, durable...)...)
	set.TLS = secrets.tls(t)
	f := startFleet(ctx, t, set)
	c := gather(ctx, t, f, size(60, 500), redlock.Config{TLS: set.TLS})
	c.suffer(ctx, false, func() { f.restart(t) })
}

// TestOverloadLoss: a third of the packets to and from all masters is lost for a while.
func TestOverloadLoss(t *testing.T) {
	ctx := begin(t)
	f := startFleet(ctx, t, containers.Config{Masters: 3})
	cfg := redlock.Config{Masters: f.urls()}
	var wires []*wire.Wire
	for i, m := range f.masters {
		w, err := wire.New(m.Addr())
		check.OK(t, err)
		t.Cleanup(func() { _ = w.Close() })
		wires, cfg.Masters[i] = append(wires, w), w.Addr()
	}
	c := gather(ctx, t, f, size(30, 100), cfg)
	c.suffer(ctx, false, func() {
		for _, w := range wires {
			w.Lose(1.0 / 3)
		}
		time.Sleep(size(5*time.Second, 10*time.Second))
		for _, w := range wires {
			w.Lose(0)
		}
	})
}

// restart kills all masters at once, and starts them again.
func (f *fleet) restart(t *testing.T) {
	t.Helper()
	f.each(t, (*containers.Master).Kill)
	f.each(t, (*containers.Master).Start)
}

// each does something to all masters at once.
func (f *fleet) each(t *testing.T, do func(*containers.Master) error) {
	t.Helper()
	check.OK(t, errors.Join(beside.All(f.masters, func(m *master) error { return do(m.Master) })...))
}

// accepted returns how many connections each master has accepted.
func (f *fleet) accepted(t *testing.T) (counts []connections) {
	t.Helper()
	for _, m := range f.masters {
		info := m.info(t)
		count, err := strconv.Atoi(info["total_connections_received"])
		check.OK(t, err)
		counts = append(counts, connections{info["run_id"], count})
	}
	return counts
}

// connections is how many a process of a master has accepted.
type connections struct {
	process string
	count   int
}

// since returns how many have been accepted since before. A process that has started since then began at none.
func (c connections) since(before connections) int {
	if c.process != before.process {
		return c.count
	}
	return c.count - before.count
}
