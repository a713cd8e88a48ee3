package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktest"
)

// TestList: List has the locks, readers and permits that are held, also Redisson's, and nothing else.
func TestList(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		api, _ := member(t, fleet, "api", 0, 1, 2)
		lock(t, t.Context(), api, "orders:1")
		again := lock(t, redlock.WithOwner(t.Context()), api, "orders:{2}")
		lock(t, again.Context(), api, "orders:{2}")
		for range 2 {
			lock(t, t.Context(), api, "orders:3", redlock.Shared())
			acquire(t, api, "orders:1", 3)
			acquire(t, api, "orders:{s}", 2)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go c.Lock(ctx, "orders:1")
		go c.Lock(ctx, "orders:{s}", redlock.Permits(2)) // waits for both
		unlock(t, lock(t, t.Context(), api, "orders:free"))
		lock(t, t.Context(), api, "invoices:1")
		each(fleet, 0, 3, func(m *redlocktest.Master) {
			m.HSet("orders:java", someone, "1")
			m.HSet("orders:user", "name", "bob")
			m.HSet("orders:user2", "name", "bob")
			m.HSet("orders:user2", "age", "3")
			m.Set("orders:text", "x")
		})
		each(fleet, 0, 1, func(m *redlocktest.Master) { m.HSet("orders:minority", someone, "1") })
		time.Sleep(5 * time.Second)
		list, err := listed(c, t.Context(), "orders:*", 100)
		if err != nil || list.more {
			t.Fatalf("List = %+v, %v; want all", list, err)
		}
		var got []string
		for _, l := range list.locks {
			holder := l.Holder
			if l.Client != nil {
				holder = l.Client.Name
			}
			got = append(got, fmt.Sprintf("%s %v %v %s %d %v %d %d %d %d", l.Name, l.Semaphore, l.Held, holder, l.Count,
				l.HeldFor.Round(time.Second), l.Readers, l.Slots, l.Waiting, l.Masters))
		}
		want := []string{ // name, semaphore, held, holder, count, for, readers, slots, waiting, masters
			"orders:1 false true api 1 5s 0 0 1 3",
			"orders:1 true true  0 0s 0 2 0 3",
			"orders:3 false true shared 0 0s 2 0 0 3",
			"orders:java false true " + someone + " 1 0s 0 0 0 3",
			"orders:minority false false  1 0s 0 0 0 1",
			"orders:{2} false true api 2 5s 0 0 0 3",
			"orders:{s} true true  0 0s 0 2 1 3",
		}
		expectLines(t, "List", got, want)
		for _, limit := range []int{math.MaxInt, math.MaxInt / 8} {
			all, err := listed(c, t.Context(), "orders:*", limit)
			check.That(t, err == nil && len(all.locks) == len(want) && !all.more, "List of up to %d has %d, more %v, %v; want all", limit, len(all.locks), all.more, err)
		}
		first := list.locks[0]
		check.That(t, first.Token != 0 && first.Remaining > 20*time.Second && first.Remaining <= lease, "List has %+v, want a token, and what is left of a lease", first)
	})(t)
}

// TestListBesideADeadMaster: another program's key on one master does not end the list while another master is dead.
func TestListBesideADeadMaster(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		lock(t, t.Context(), c, "orders:1")
		fleet.Master(0).HSet("session", "name", "bob")
		fleet.Master(0).HSet("either", "name", "bob")
		fleet.Master(1).HSet("either", someone, "1")
		fleet.Master(2).Kill()
		list, err := listed(c, t.Context(), "*", 100)
		var got []string
		for _, l := range list.locks {
			got = append(got, fmt.Sprintf("%s %v %d", l.Name, l.Held, l.Masters))
		}
		want := []string{"either false 1", "orders:1 true 2"}
		check.That(t, err == nil && slices.Equal(got, want), "List = %q, %v; want %q", got, err, want)
	})(t)
}

// TestListBesideForgedKeys: what a majority has of one name, and none of ours writes, does not end the list.
func TestListBesideForgedKeys(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		lock(t, t.Context(), c, "orders:1")
		each(fleet, 0, 2, func(m *redlocktest.Master) {
			m.HSet("count", someone, "-1")
			m.HSet("counter", someone, "1")
			m.Set("redlock_fence:{counter}", "x")
			m.HSet("owner", someone+strings.Repeat("0", 1<<20), "1")
		})
		list, err := listed(c, t.Context(), "*", 100)
		var got []string
		for _, l := range list.locks {
			got = append(got, fmt.Sprintf("%s %v", l.Name, l.Held))
		}
		want := []string{"count true", "orders:1 true"}
		check.That(t, err == nil && slices.Equal(got, want), "List = %q, %v; want %q", got, err, want)
	})(t)
}

// TestListPages: pages that begin behind one another have each name once and in order, however many other programs' hashes
// there are. A name's lock and its permits are on one page.
func TestListPages(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		const many = 3_000
		each(fleet, 0, 3, func(m *redlocktest.Master) {
			for i := range many {
				m.HSet(fmt.Sprintf("k%05d", i), someone, "1")
			}
			for i := range 500 {
				m.HSet(fmt.Sprintf("k00002 %d", i), "another", "program's")
			}
		})
		acquire(t, c, "k00001", 3)
		time.Sleep(time.Second)
		for _, tt := range []struct {
			after             string
			limit, want, last int
			more              bool
		}{
			{"", 1, 1, 0, true},
			{"", 2, 3, 1, true}, // and permits
			{"k00000", 1, 2, 1, true},
			{"k00001", 2, 2, 3, true},
			{"k01499", 2, 2, 1501, true},
			{"k02989", 10, 10, many - 1, false},
			{"k02989", 9, 9, many - 2, true},
		} {
			list, err := listedAfter(c, t.Context(), "k*", tt.after, tt.limit)
			if err != nil || len(list.locks) != tt.want || list.locks[tt.want-1].Name != fmt.Sprintf("k%05d", tt.last) || list.more != tt.more {
				t.Errorf("%d behind %q: %+v, %v; want %d up to %d, and more: %t", tt.limit, tt.after, list, err, tt.want, tt.last, tt.more)
			}
		}
		_, err := listed(c, t.Context(), "*", 0)
		check.Says(t, err, "below 1", "List of none")
		each(fleet, 0, 2, (*redlocktest.Master).Kill)
		expect(t, "List of a minority", second(listed(c, t.Context(), "*", 10)), redlock.ErrNoQuorum)
	})(t)
}

// TestListTakesNoLongerThanTenLong: if the masters are slow, List returns what it found in ten seconds.
func TestListTakesNoLongerThanTenLong(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		each(fleet, 0, 3, func(m *redlocktest.Master) {
			for i := range 4_000 {
				m.HSet(fmt.Sprintf("k%05d", i), "no", "lock")
			}
		})
		lock(t, t.Context(), c, "k")
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(200 * time.Millisecond) })
		start := time.Now()
		list, err := listed(c, t.Context(), "k*", 10_000)
		check.Between(t, time.Since(start), 10*time.Second, 12*time.Second, "ten seconds and some round trips: List took")
		check.That(t, err == nil && list.more, "List = %+v, %v; want some, and more", list, err)
		ctx := within(t, t.Context(), time.Second)
		expect(t, "List that is cut short", second(listed(c, ctx, "k*", 10)), context.DeadlineExceeded)
	})(t)
}

// List and Clients have those of all sets, in order.
func TestListOfSeveralSets(t *testing.T) {
	inSets("a b", func(t *testing.T, f fleets) {
		s, other := f.open(t, redlock.Config{Name: "one"}, "a b", ""), f.open(t, redlock.Config{Name: "other"}, "a b", "")
		names := []string{nameIn(t, s, "a"), nameIn(t, s, "b"), "x", "y", "z"}
		for _, name := range names {
			lock(t, t.Context(), s, name)
		}
		unlock(t, lock(t, t.Context(), other, "w"))
		time.Sleep(time.Minute)
		all := must(listed(s, t.Context(), "*", 100))(t, "List")
		check.That(t, len(all.locks) == len(names) && !all.more, "List = %+v, want %q", all, names)
		check.That(t, slices.IsSortedFunc(all.locks, func(a, b redlockadmin.Listed) int { return strings.Compare(a.Name, b.Name) }), "List = %+v, want it in order", all.locks)
		some := must(listed(s, t.Context(), "*", 3))(t, "List")
		check.That(t, len(some.locks) == 3 && some.locks[2].Name == all.locks[2].Name && some.more, "List of 3 = %+v, want the first of %+v, and more", some, all)
		clients := must(redlockadmin.Of(s).Clients(t.Context()))(t, "Clients")
		check.That(t, len(clients) == 4 && clients[0].Name == "one" && clients[3].Name == "other", "Clients = %+v, want one of each process in each set", clients)
		ids := redlockadmin.Of(s).IDs()
		check.That(t, len(ids) == 2 && ids[0] != ids[1], "IDs = %q, want one of each set", ids)
	})(t)
}

// TestListOfANameThatMoves: all that is held of one name, in both of its sets, is on one page: the next begins behind it.
func TestListOfANameThatMoves(t *testing.T) {
	inSets("a b", func(t *testing.T, f fleets) {
		s := f.open(t, redlock.Config{}, "a", "b")
		lock(t, t.Context(), s, "n")
		acquire(t, s, "n", 1)
		for limit := range 4 {
			all := must(listed(s, t.Context(), "*", limit+1))(t, "List")
			check.That(t, len(all.locks) == 4 && !all.more, "List of %d = %+v, want the lock and the semaphore in both sets, and no more", limit+1, all)
		}
		each(f["a"], 0, 3, (*redlocktest.Master).Kill)
		each(f["b"], 0, 3, (*redlocktest.Master).Kill)
		_, err := redlockadmin.Of(s).Inspect(t.Context(), "n")
		expect(t, "Inspect without masters", err, redlock.ErrNoQuorum)
		if text := err.Error(); strings.Count(text, "redlock: ") != 1 || strings.Contains(text, "\n") || !strings.Contains(text, `; set "b": `) {
			t.Errorf("Inspect without masters = %q, want one line that names both sets", text)
		}
	})(t)
}

// listing is what List returned.
type listing struct {
	locks []redlockadmin.Listed
	more  bool
}

// listed returns what List returns, and its error but for ErrMore.
func listed(c *redlock.Client, ctx context.Context, pattern string, limit int) (listing, error) {
	return listedAfter(c, ctx, pattern, "", limit)
}

func listedAfter(c *redlock.Client, ctx context.Context, pattern, after string, limit int) (l listing, err error) {
	for one, err := range redlockadmin.Of(c).List(ctx, pattern, after, limit) {
		switch {
		case errors.Is(err, redlockadmin.ErrMore):
			l.more = true
		case err != nil:
			return l, err
		default:
			l.locks = append(l.locks, one)
		}
	}
	return l, nil
}
