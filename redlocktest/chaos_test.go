package redlocktest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
)

// TestChaos: under all faults that keep data, a connection's commands are carried out in order, each
// once, without a gap, and at least as far as they were answered.
//
// Replay one seed: go test ./redlocktest -run 'TestChaos/seed=7$' -v
func TestChaos(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { chaos(t, seed) })
		})
	}
}

func chaos(t *testing.T, seed uint64) {
	m := Start(t, 1).Master(0)
	random := rand.New(rand.NewPCG(seed, 0))
	answered := make(chan map[string]int)
	const clients = 4
	for i := range clients {
		r := rand.New(rand.NewPCG(seed, uint64(i)+1))
		go func() { answered <- chaosClient(t, m, fmt.Sprintf("client%d", i), r) }()
	}
	faults := []func(){
		m.Kill, m.RestartWithData, m.Freeze, m.Thaw, m.Cut, m.Mend,
		func() { m.Delay(time.Duration(random.Int64N(int64(5 * time.Millisecond)))) },
		func() { m.Delay(0) },
	}
	for range 200 {
		time.Sleep(time.Duration(random.Int64N(int64(20 * time.Millisecond))))
		faults[random.IntN(len(faults))]()
	}
	m.Mend()
	m.Thaw()
	all := map[string]int{}
	for range clients {
		maps.Copy(all, <-answered)
	}
	synctest.Wait()
	m.RestartWithData()

	c := dial(t, m)
	ran, total := 0, 0
	for name, n := range all {
		list, err := redis.Ints(c.Do("LRANGE", name, 0, -1))
		if err != nil || len(list) < n {
			t.Errorf("%s: %d were answered, %d carried out (%v)", name, n, len(list), err)
		}
		for i, got := range list {
			if got != i {
				t.Fatalf("%s: number %d is %d", name, i, got)
			}
		}
		ran, total = ran+len(list), total+n
	}
	if total == 0 {
		t.Error("nothing was answered")
	}
	t.Logf("%d connections, %d commands carried out, %d answered", len(all), ran, total)
}

// chaosClient appends 0, 1, … to one list per connection, pipelined, and returns how many appends to
// each list were answered.
func chaosClient(t *testing.T, m *Master, name string, r *rand.Rand) map[string]int {
	answered := map[string]int{}
	for i := range 60 {
		list := fmt.Sprintf("%s:%d", name, i)
		time.Sleep(time.Duration(r.Int64N(int64(10 * time.Millisecond))))
		nc, err := m.Dial(t.Context())
		if err != nil {
			continue
		}
		c := redis.NewConn(nc, 0, 0)
		sent := 1 + r.IntN(20)
		for j := range sent {
			c.Send("RPUSH", list, j)
			if r.IntN(3) == 0 {
				c.Flush()
			}
		}
		c.Flush()
		answered[list] = 0
		for range sent {
			if _, err := redis.ReceiveWithTimeout(c, time.Duration(r.Int64N(int64(15*time.Millisecond)))+1); err != nil {
				break
			}
			answered[list]++
		}
		c.Close()
	}
	return answered
}
