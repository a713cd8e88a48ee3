package integration

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	containers "example.com/redlock/integration/fleet"
	"example.com/redlock/redlock"
)

// TestStorm: clients that start all at once all get their locks over the connections that they began with: two
// to each master, since they wait. They keep both when all masters hang for a second.
func TestStorm(t *testing.T) {
	t.Parallel()
	ctx := begin(t, 2*time.Minute)
	f := startFleet(ctx, t, containers.Config{Masters: 3})
	const n, slack = 200, 1.2
	holds := make([]*redlock.Hold, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			cfg := f.config(redlock.Config{})
			cfg.Logger = nil
			client, err := redlock.New(cfg)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { client.Close() })
			hold, err := client.Lock(ctx, "one")
			if err == nil {
				err = hold.Unlock(ctx)
			}
			if err == nil {
				holds[i], err = client.Lock(ctx, fmt.Sprint("own:", i))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	before := f.accepted(t)
	for i, m := range f.masters {
		if most := int(slack * 2 * n); before[i] > most {
			t.Errorf("%s was connected to %d times by %d clients, want at most %d", m.Name(), before[i], n, most)
		}
	}

	f.each(t, (*containers.Master).Pause)
	time.Sleep(time.Second)
	f.each(t, (*containers.Master).Unpause)
	for _, hold := range holds {
		eventually(ctx, t, 10*time.Second, "a hold is extended", func() error { return hold.Extend(ctx, 30*time.Second) })
	}
	for i, m := range f.masters {
		if again := f.accepted(t)[i] - before[i]; again > int((slack-1)*n) {
			t.Errorf("%d of %d clients connected to %s again, which had hung for a second", again, n, m.Name())
		}
	}
}

// each does something to all masters at once.
func (f *fleet) each(t *testing.T, do func(*containers.Master) error) {
	t.Helper()
	var all sync.WaitGroup
	for _, m := range f.masters {
		all.Go(func() {
			if err := do(m.Master); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// accepted returns how many connections each master has accepted.
func (f *fleet) accepted(t *testing.T) (counts []int) {
	t.Helper()
	for _, m := range f.masters {
		_, rest, _ := strings.Cut(fmt.Sprintf("%s", m.do(t, "INFO", "stats")), "total_connections_received:")
		number, _, _ := strings.Cut(rest, "\r\n")
		count, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		counts = append(counts, count)
	}
	return counts
}
