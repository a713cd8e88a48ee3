package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktest"
)

const recordPrefix = "redlock_client:{"

// expectRecords checks how many masters have the record of c.
func expectRecords(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client, want int) {
	t.Helper()
	n := 0
	for _, m := range fleet.Masters() {
		if m.Get(recordPrefix+redlockadmin.Of(c).IDs()[0]+"}") != "" {
			n++
		}
	}
	check.Equal(t, n, want, "masters that have the record")
}

// TestClientRecord: a client is known, with all that it says of itself, from its first lock until it is closed.
func TestClientRecord(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		orders, _ := member(t, fleet, "orders-api", 0, 1, 2)
		time.Sleep(time.Second)
		hold := lock(t, t.Context(), orders, "a")
		lock(t, t.Context(), orders, "b", redlock.Lease(lease))
		waiting, cancel := context.WithCancel(t.Context())
		defer cancel()
		go orders.Lock(waiting, "a")
		time.Sleep(20 * time.Second)
		check.Equal(t, strings.Split(hold.Owner(), ":")[0], redlockadmin.Of(orders).IDs()[0], "the first part of the owner")
		find := func() *redlock.ClientInfo {
			t.Helper()
			all, err := redlockadmin.Of(c).Clients(t.Context())
			if err != nil || len(all) != 1 || all[0].ID != redlockadmin.Of(orders).IDs()[0] {
				t.Fatalf("Clients = %v, %v; want %s, and not the client that only looks", all, err, redlockadmin.Of(orders).IDs()[0])
			}
			return &all[0]
		}
		i := find()
		host, _ := os.Hostname()
		since := time.Since(i.Since).Round(time.Second)
		if i.Name != "orders-api" || i.Host != host || i.PID != os.Getpid() || i.Program == "" || i.Version == "" || since != 21*time.Second {
			t.Errorf("record: %+v, %v old, want this process, 21 s old", i, since)
		}
		if i.Holds != 2 || i.Waits != 1 || len(i.Terms.Masters) != 3 || i.At != 3 || i.Seen < 0 || i.Seen > 19*time.Second {
			t.Errorf("record: %+v, want 2 holds, 1 waiting, 3 masters and 3 that know it, and seen within 19 s", i)
		}
		text := i.Terms.String()
		check.That(t, strings.Count(text, "run ") == 3 && i.Terms.Lease == 30*time.Second && i.Terms.Guard == 0, "record: terms %+v, want three masters, leases of 30 s and no guard", i.Terms)
		check.Equal(t, i.String(), fmt.Sprintf("orders-api on %s (pid %d)", host, os.Getpid()), "String")
		cancel()
		unlock(t, hold)
		for range 100 { // busy, idle, and busy again
			expectRecords(t, fleet, orders, 3)
			time.Sleep(3 * time.Second)
		}
		if i := find(); i.Holds != 0 || i.Waits != 0 || i.Seen > 19*time.Second {
			t.Errorf("record: %+v, want no hold, no waiter, and seen within 19 s", i)
		}
		fleet.Master(0).Restart()
		time.Sleep(2 * time.Second)
		expectRecords(t, fleet, orders, 3)
		orders.Close()
		expectRecords(t, fleet, orders, 0)
	})(t)
}

// TestRecordOfTheDead: the record of a client that died lasts a minute.
func TestRecordOfTheDead(t *testing.T) {
	bubble(1, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		use(t, c, "used")
		time.Sleep(time.Minute)
		fleet.Master(0).Cut()
		time.Sleep(40 * time.Second) // of at most 60
		expectRecords(t, fleet, c, 1)
		time.Sleep(21 * time.Second)
		expectRecords(t, fleet, c, 0)
	})(t)
}

// TestNoRecord: a client that keeps no record says nothing of itself but which masters it uses.
func TestNoRecord(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		hidden := open(t, fleet, redlock.Config{Name: "secret", NoRecord: true})
		lock(t, t.Context(), hidden, "a")
		time.Sleep(time.Minute)
		expectRecords(t, fleet, hidden, 0)
		_, err := c.TryLock(t.Context(), "a")
		why, ok := errors.AsType[*redlock.MajorityError](err)
		if !ok || why.Client != nil || !strings.HasPrefix(why.Holder, redlockadmin.Of(hidden).IDs()[0]) || strings.Contains(err.Error(), "secret") {
			t.Errorf("TryLock = %v, want the owner's uuid alone", err)
		}
	})(t)
}

// TestBriefHoldersAreNotLookedUp: a waiter does not look up a holder that has the lock for a moment only.
func TestBriefHoldersAreNotLookedUp(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		var waiters sync.WaitGroup
		for range 20 {
			other, _ := member(t, fleet, "other", 0, 1, 2)
			waiters.Go(func() {
				hold := lock(t, t.Context(), other, "a")
				time.Sleep(10 * time.Millisecond)
				unlock(t, hold)
			})
		}
		unlock(t, lock(t, t.Context(), c, "a"))
		waiters.Wait()
		check.Equal(t, fleet.Master(0).Calls("GETRANGE"), 0, "clients that were looked up")
	})(t)
}

// TestNamesHoldNobodyUp: a try that failed waits 50 ms at most for the holder's name, and no longer than its context. If
// the masters are farther away, the next try knows the name.
func TestNamesHoldNobodyUp(t *testing.T) {
	const trip = 200 * time.Millisecond
	for name, tt := range map[string]struct {
		limit, took time.Duration // of the context, and of the try
		want        error
	}{
		"far masters":      {time.Minute, trip + 50*time.Millisecond, redlock.ErrTaken},
		"little time left": {trip + 10*time.Millisecond, trip + 10*time.Millisecond, redlock.ErrTaken},
		"no time left":     {trip / 2, trip / 2, context.DeadlineExceeded},
	} {
		t.Run(name, bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
			holder, _ := member(t, fleet, "orders-api", 0, 1, 2)
			lock(t, t.Context(), holder, "a")
			each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(trip / 2) })
			unlock(t, lock(t, t.Context(), c, "b")) // so that the client knows how far away they are
			ctx := within(t, t.Context(), tt.limit)
			start := time.Now()
			_, err := c.TryLock(ctx, "a")
			check.Between(t, time.Since(start), tt.took, tt.took+time.Millisecond, "it took")
			expect(t, "TryLock", err, tt.want)
			if tt.want == redlock.ErrTaken {
				expectNot(t, "TryLock", err, context.DeadlineExceeded)
				time.Sleep(time.Second)
				check.Says(t, second(c.TryLock(t.Context(), "a")), "held by orders-api on ", "the next TryLock")
			}
		}))
	}
}

// TestOperatorsWaitForNames: Inspect and List return the holder's client, even if only a master far away knows it.
func TestOperatorsWaitForNames(t *testing.T) {
	for name, client := range map[string]func(*testing.T, *redlock.Client) (*redlock.ClientInfo, error){
		"Inspect": func(t *testing.T, c *redlock.Client) (*redlock.ClientInfo, error) {
			in, err := redlockadmin.Of(c).Inspect(t.Context(), "a")
			return in.Client, err
		},
		"List": func(t *testing.T, c *redlock.Client) (*redlock.ClientInfo, error) {
			list, err := listed(c, t.Context(), "a", 1)
			return list.locks[0].Client, err
		},
	} {
		t.Run(name, bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
			holder, _ := member(t, fleet, "orders-api", 0, 1, 2)
			lock(t, t.Context(), holder, "a")
			synctest.Wait() // it returns with the majority
			each(fleet, 0, 2, func(m *redlocktest.Master) {
				m.Del(recordPrefix + redlockadmin.Of(holder).IDs()[0] + "}")
				m.Delay(time.Millisecond)
			})
			fleet.Master(2).Delay(100 * time.Millisecond)
			who, err := client(t, c)
			check.That(t, err == nil && who != nil && who.Name == "orders-api", "it is held by %v, %v; want orders-api", who, err)
		}))
	}
}

// TestNamesCostLittleLong: a client is looked up once, and one that is not found not again for a while.
func TestNamesCostLittleLong(t *testing.T) {
	for hidden, lookUps := range map[bool]int64{false: 1, true: 13} { // in a minute: every 5 s where nothing is found
		t.Run(fmt.Sprint("hidden ", hidden), bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
			holder := open(t, fleet, redlock.Config{NoRecord: hidden})
			time.Sleep(time.Second)
			lock(t, t.Context(), holder, "a")
			synctest.Wait() // it returns with the majority
			before := fleet.Master(0).Calls("GETRANGE")
			for range 600 {
				expect(t, "TryLock", second(c.TryLock(t.Context(), "a")), redlock.ErrTaken)
				time.Sleep(100 * time.Millisecond)
			}
			check.Between(t, fleet.Master(0).Calls("GETRANGE")-before, max(1, lookUps-1), lookUps, "look-ups of the holder by 600 tries in a minute")
		}))
	}
}

// TestClientsOfAMinority: Clients returns a client that only a minority knows. Its default name is that of its program. A
// minority that does not answer is no error.
func TestClientsOfAMinority(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		use(t, c, "used")
		time.Sleep(time.Minute)
		fleet.Master(0).Del(recordPrefix + redlockadmin.Of(c).IDs()[0] + "}")
		fleet.Master(1).Kill()
		all, err := redlockadmin.Of(c).Clients(t.Context())
		program := filepath.Base(os.Args[0])
		if err != nil || len(all) != 1 || all[0].At != 1 || all[0].Name != program || all[0].Program != program {
			t.Errorf("Clients = %+v, %v; want one that is called %s, at one master", all, err, program)
		}
		fleet.Master(2).Kill()
		expect(t, "Clients of a minority", second(redlockadmin.Of(c).Clients(t.Context())), redlock.ErrNoQuorum)
	})(t)
}
