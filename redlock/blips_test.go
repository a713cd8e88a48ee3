package redlock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// TestBlips: soon after connections broke, however many at once, or masters hung or were cut off, each caller that waits
// without a deadline has had another turn.
func TestBlips(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { blips(t, dice{rand.New(rand.NewPCG(seed, 0))}) })
		})
	}
}

func blips(t *testing.T, d dice) {
	fleet := redlocktest.Start(t, 3)
	for _, m := range fleet.Masters() {
		m.Delay(d.upTo(2 * time.Millisecond))
	}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	options := [][]redlock.Option{nil, nil, nil, {redlock.Shared()}, {redlock.Permits(2)}}
	breaks := [][2]func(*redlocktest.Master){ // and what mends them
		{(*redlocktest.Master).KillClients, func(*redlocktest.Master) {}},
		{(*redlocktest.Master).RestartWithData, func(*redlocktest.Master) {}},
		{(*redlocktest.Master).Freeze, (*redlocktest.Master).Thaw},
		{(*redlocktest.Master).Cut, (*redlocktest.Master).Mend},
	}
	turns := make([]atomic.Int64, 2+d.IntN(4))
	cfg := redlock.Config{Lease: 3 * time.Second, Keep: time.Duration(d.IntN(2)) * 200 * time.Millisecond}
	clients := []*redlock.Client{open(t, fleet, cfg), open(t, fleet, cfg)}
	clients, options = clients[:1+d.IntN(2)], options[:1+d.IntN(len(options))]
	names := 1 + d.IntN(3)
	for i := range turns {
		d := d.fork()
		all.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				way := options[d.IntN(len(options))]
				name := fmt.Sprintf("n%d of %d", n%names, len(way)) // permits are not of a lock
				client, work := clients[i%len(clients)], d.upTo(30*time.Millisecond)
				if len(options) > 1 && d.oneIn(8) {
					if holds, err := client.LockAll(ctx, []string{"n0 of 0", "n1 of 0"}); err == nil {
						time.Sleep(work)
						_ = holds.Unlock(ctx)
					}
				}
				_ = client.Do(ctx, name, func(context.Context) error {
					time.Sleep(work)
					return nil
				}, way...) // what breaks may cost a hold
				turns[i].Add(1)
			}
		})
	}
	for round := range 8 {
		time.Sleep(d.upTo(300 * time.Millisecond))
		masters := fleet.Masters()
		d.Shuffle(len(masters), func(i, j int) { masters[i], masters[j] = masters[j], masters[i] })
		masters = masters[d.IntN(2):]
		kind := breaks[d.IntN(len(breaks))]
		for _, m := range masters {
			kind[0](m)
		}
		time.Sleep(d.upTo(600 * time.Millisecond))
		for _, m := range masters {
			kind[1](m)
		}
		before := make([]int64, len(turns))
		for i := range turns {
			before[i] = turns[i].Load() + 1 // the one under way does not count
		}
		for i, end := 0, time.Now().Add(20*time.Second); i < len(turns); time.Sleep(time.Millisecond) {
			if turns[i].Load() > before[i] {
				i++
			} else if time.Now().After(end) {
				t.Fatalf("round %d: caller %d has had no turn for 20 s", round, i)
			}
		}
	}
}
