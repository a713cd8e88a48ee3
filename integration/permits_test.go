package integration

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlock"
)

// TestPermitsUnderFaults: four processes take 10,000 permits of each semaphore (with -short, 300 of each of
// three), on masters that are killed, so that they forget everything, and frozen. No more than K have a permit at a
// time, each has a slot below K alone, and each has a larger token than the one before it in its slot.
func TestPermitsUnderFaults(t *testing.T) {
	holds, harms, together := 10_000, 4, 5
	if testing.Short() {
		holds, harms, together = 300, 2, 2
	}
	program := buildWorker(t.Context(), t)
	for _, masters := range []int{3, 5} {
		for _, permits := range []int{1, 2, 5} {
			if testing.Short() && (permits == 2) != (masters == 3) {
				continue
			}
			t.Run(fmt.Sprintf("masters=%d/permits=%d", masters, permits), func(t *testing.T) {
				ctx := begin(t, 8*time.Minute)
				random := randomness(t)
				f := startFleet(ctx, t, fleetConfig{Masters: masters})
				j := newJournal(t)
				const lease = time.Second
				cfg := redlock.Config{Lease: lease, MaxLease: lease, RestartGuard: lease}
				workers := f.startWorkers(t, program, 4, cfg, "permits", strconv.Itoa(permits), j.name)
				start, done := time.Now(), 0
				for ; done < harms || j.holds(t) < holds; done++ {
					m := f.masters[random.IntN(masters)]
					m.harm(ctx, t, done, random, 2*lease)
					well := time.Now()
					eventually(ctx, t, 20*time.Second, m.name+" grants permits again", func() error {
						return m.countsSlots("orders:42", well)
					})
				}
				f.log.event("%d permits in %v, %d harms", j.holds(t), time.Since(start), done)
				f.end(t, workers)
				found := j.check(t, f.log, permits)
				if least := min(permits, together); found.most < least {
					t.Errorf("at most %d were in at a time, want %d, or nothing is shown about more", found.most, least)
				}
				for _, w := range workers {
					if found.turns[w.who] == 0 {
						t.Errorf("%s had no permit", w.who)
					}
				}
				f.wantFree(ctx, t, f.masters, "redlock_slots:{orders:42}")
			})
		}
	}
}

// countsSlots returns nil if the master has raised a fencing counter of the semaphore since then: it
// grants permits, or has them handed off.
func (m *master) countsSlots(name string, since time.Time) error {
	counters, err := redis.Int64Map(m.try("HGETALL", "redlock_slotfence:{"+name+"}"))
	if err != nil {
		return err
	}
	for _, token := range counters {
		if token > since.UnixMicro() {
			return nil
		}
	}
	return errors.New("it has counted nothing")
}
