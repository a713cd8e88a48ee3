package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// overlapAfter is how long it takes, at most, until an overlap is noticed by both sides: see
// docs/algorithm.md, "Client records".
const overlapAfter = 84 * time.Second

const (
	overlapFound = "another set of masters is in use that overlaps"
	overlapOver  = "the other set of masters is no longer in use"
)

// member is a client that is called name, of the masters at places in fleet, and its log.
func member(t *testing.T, fleet *redlocktest.Fleet, name string, places ...int) (*redlock.Client, *lines) {
	t.Helper()
	var pools []*redis.Pool
	all := fleet.Pools()
	for _, i := range places {
		pools = append(pools, all[i])
	}
	log := new(lines)
	return open(t, fleet, redlock.Config{Name: name, Pools: pools, Logger: logger(log)}), log
}

// ready is Ready without waiting.
func ready(c *redlock.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), 0)
	defer cancel()
	return c.Ready(ctx)
}

// TestOverlapIsFound: two sets of masters of which majorities need not meet are found by the clients of
// both, named once in the log and by Ready, and it is told when it is over. Locks go on.
func TestOverlapIsFound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		one, two []int
		hidden   bool // the clients keep no records
	}{
		{name: "{1,2,3} and {3,4,5}", one: []int{0, 1, 2}, two: []int{2, 3, 4}},
		{name: "{1,2,3} and {2,3,4}", one: []int{0, 1, 2}, two: []int{1, 2, 3}},
		{name: "{1,2,3} and {1}", one: []int{0, 1, 2}, two: []int{0}},
		{name: "without records", one: []int{0, 1, 2}, two: []int{2, 3, 4}, hidden: true},
	} {
		for seed := range portion(5) { // the beats of clients are drawn
			t.Run(fmt.Sprint(tt.name, "/", seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					fleet := redlocktest.Start(t, 5)
					makes := func(name string, places []int) (*redlock.Client, *lines) {
						if !tt.hidden {
							return member(t, fleet, name, places...)
						}
						log := new(lines)
						var pools []*redis.Pool
						for _, i := range places {
							pools = append(pools, fleet.Pools()[i])
						}
						return open(t, fleet, redlock.Config{NoRecord: true, Pools: pools, Logger: logger(log)}), log
					}
					a, logA := makes("orders-api", tt.one)
					time.Sleep(time.Hour + time.Duration(seed)*3*time.Second)
					b, logB := makes("billing", tt.two)
					expect(t, "Ready of the one, before", ready(a))
					time.Sleep(overlapAfter)
					for _, side := range []struct {
						c     *redlock.Client
						log   *lines
						other string
					}{{a, logA, "billing"}, {b, logB, "orders-api"}} {
						if tt.hidden {
							side.other = "a client without a record"
						}
						if n := side.log.count(overlapFound); n != 1 {
							t.Errorf("the log of the side beside %s has it %d times, want once", side.other, n)
						}
						err := ready(side.c)
						expect(t, "Ready", err, redlock.ErrOverlap)
						if o, ok := errors.AsType[*redlock.OverlapError](err); !ok || !strings.Contains(err.Error(), side.other) ||
							tt.hidden != (o.Client == nil) {
							t.Errorf("Ready = %v, want an *OverlapError that names %s", err, side.other)
						}
						unlock(t, lock(t, t.Context(), side.c, "goes on"))
					}
					b.Close()
					time.Sleep(80 * time.Second) // a minute, and a beat
					if n := logA.count(overlapOver); n != 1 {
						t.Errorf("the log has %d times that it is over, want once", n)
					}
					if n := logA.count(overlapFound); n != 1 {
						t.Errorf("the log has the overlap %d times, want once", n)
					}
					expect(t, "Ready, afterwards", ready(a))
				})
			})
		}
	}
}

// TestNoFalseOverlap: what happens to masters, and changes of the set that are safe, are no overlap.
func TestNoFalseOverlap(t *testing.T) {
	t.Parallel()
	five := []int{0, 1, 2, 3, 4}
	for _, tt := range []struct {
		name     string
		one, two []int
		do       func(fleet *redlocktest.Fleet)
	}{
		{"the same set in another order", []int{0, 1, 2}, []int{2, 1, 0}, func(*redlocktest.Fleet) {}},
		{"N and N-1", []int{0, 1, 2}, []int{0, 1}, func(*redlocktest.Fleet) {}},
		{"5 and 4", five, five[1:], func(*redlocktest.Fleet) {}},
		{"N-1 and another N", []int{0, 1}, []int{0, 1, 3}, func(*redlocktest.Fleet) {}},
		{"a master restarts empty", five[:3], five[:3], func(fleet *redlocktest.Fleet) { fleet.Master(1).Restart() }},
		{"a majority restarts at once", five[:3], five[:3], func(fleet *redlocktest.Fleet) {
			each(fleet, 1, 3, (*redlocktest.Master).Restart)
		}},
		{"all restart, one after the other", five, five, func(fleet *redlocktest.Fleet) {
			for _, m := range fleet.Masters() {
				m.Restart()
				time.Sleep(44 * time.Second)
			}
		}},
		{"all restart, one soon after the other", five, five, func(fleet *redlocktest.Fleet) {
			for range 3 {
				for _, m := range fleet.Masters() {
					m.Restart()
					time.Sleep(7 * time.Second)
				}
			}
		}},
		{"a master dies, and another one comes back", five[:3], five[:3], func(fleet *redlocktest.Fleet) {
			fleet.Master(0).Kill()
			time.Sleep(5 * time.Minute)
			fleet.Master(0).Restart()
			fleet.Master(1).Restart()
		}},
		{"a master is cut off, and restarts meanwhile", five[:3], five[:3], func(fleet *redlocktest.Fleet) {
			fleet.Master(0).Cut()
			time.Sleep(time.Minute)
			fleet.Master(0).Restart()
			fleet.Master(0).Mend()
		}},
		{"clocks jump", five[:3], five[:3], func(fleet *redlocktest.Fleet) {
			fleet.Master(0).Restart()
			fleet.Master(1).Skew(5 * time.Minute)
			time.Sleep(time.Minute)
			fleet.Master(1).Skew(-5 * time.Minute)
			fleet.Master(2).Restart()
		}},
	} {
		for seed := range portion(3) {
			t.Run(fmt.Sprint(tt.name, "/", seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					fleet := redlocktest.Start(t, 5)
					a, logA := member(t, fleet, "a", tt.one...)
					time.Sleep(time.Duration(seed) * 5 * time.Second)
					b, logB := member(t, fleet, "b", tt.two...)
					time.Sleep(5 * time.Minute)
					tt.do(fleet)
					for range 60 { // for as long as what it left could be mistaken
						time.Sleep(5 * time.Second)
						expectNot(t, "Ready of a", ready(a), redlock.ErrOverlap)
						expectNot(t, "Ready of b", ready(b), redlock.ErrOverlap)
					}
					if n := logA.count(overlapFound) + logB.count(overlapFound); n != 0 {
						t.Errorf("the logs have an overlap %d times, want none", n)
					}
				})
			})
		}
	}
}

// TestCutOffFromOne: a client that cannot reach one of its masters may use any there, as far as the
// others know.
func TestCutOffFromOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 3)
		_, logA := member(t, fleet, "a", 0, 1, 2)
		var cut atomic.Bool
		pools := fleet.Pools()
		dial := pools[2].DialContext
		pools[2].DialContext = func(ctx context.Context) (redis.Conn, error) {
			if cut.Load() {
				return nil, &net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH}
			}
			return dial(ctx)
		}
		logB := new(lines)
		open(t, fleet, redlock.Config{Name: "b", Pools: pools, Logger: logger(logB)})
		time.Sleep(5 * time.Minute)
		cut.Store(true)
		fleet.Master(2).Cut() // until the connections are given up
		time.Sleep(30 * time.Second)
		fleet.Master(2).Mend()
		time.Sleep(5 * time.Minute)
		fleet.Master(1).Restart()
		time.Sleep(5 * time.Minute)
		if n := logA.count(overlapFound) + logB.count(overlapFound); n != 0 {
			t.Errorf("the logs have an overlap %d times, want none", n)
		}
		if n := logB.count("EHOSTUNREACH") + logB.count("no route to host"); n == 0 {
			t.Error("b could reach the master that it was cut off from")
		}
	})
}

// TestSetsOverlapOnPurpose: sets that names are spread over may share masters, and whoever has one of
// them under the same ID must mean the same masters.
func TestSetsOverlapOnPurpose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 7)
		spread := func(process string, ids string, places ...[]int) (*redlock.Sets, []*lines) {
			var sets []redlock.Set
			var logs []*lines
			for i, id := range strings.Fields(ids) {
				c, log := member(t, fleet, process+id, places[i]...)
				sets, logs = append(sets, redlock.Set{ID: id, Client: c}), append(logs, log)
			}
			s, err := redlock.NewSets(sets...)
			if err != nil {
				t.Fatal(err)
			}
			return s, logs
		}
		found := func(logs []*lines) (n int) {
			for _, log := range logs {
				n += log.count(overlapFound)
			}
			return n
		}
		_, one := spread("p", "east west", []int{0, 1, 2}, []int{2, 3, 4})
		s, two := spread("q", "east west", []int{0, 1, 2}, []int{2, 3, 4})
		time.Sleep(5 * time.Minute)
		c, log := member(t, fleet, "qsouth", 4, 5, 6)
		east, _ := member(t, fleet, "qeast", 0, 1, 2)
		if err := s.Change(t.Context(), redlock.Set{ID: "east2", Client: east}, redlock.Set{ID: "south", Client: c}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		if n := found(one) + found(two) + found([]*lines{log}); n != 0 {
			t.Errorf("sets of one Sets that share masters are told %d times, want never", n)
		}
		_, wrong := spread("r", "west", []int{2, 5, 6})
		time.Sleep(overlapAfter)
		if found(one[1:]) != 1 || found(wrong) != 1 {
			t.Errorf("the set west with other masters is told %d and %d times, want once by each side", found(one[1:]), found(wrong))
		}
	})
}
