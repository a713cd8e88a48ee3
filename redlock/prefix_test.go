package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktest"
)

// prefix is one whose characters mean something to SCAN, or in a key.
const prefix = `p*[q]\?{:`

// TestPrefix: at the masters each key has the prefix, whatever a client does, and nothing that the client tells has it:
// no name, error, line of the log, or event of its trace.
func TestPrefix(t *testing.T) {
	for _, prefix := range []string{"orders:", prefix} {
		t.Run(prefix, masters(3, func(t *testing.T, fleet *redlocktest.Fleet) {
			var log lines
			var events recorder
			var said []string
			tell := func(what any) { said = append(said, fmt.Sprintf("%+v", what)) }
			cfg := redlock.Config{Prefix: prefix, Logger: logger(&log), Trace: events.trace(), MaxHold: 10 * lease, Keep: time.Second}
			c, other := open(t, fleet, cfg), open(t, fleet, redlock.Config{Logger: slog.New(slog.DiscardHandler)})
			admin := redlockadmin.Of(c)
			ctx := t.Context()
			seen := func() {
				rest(10 * time.Millisecond)
				for _, m := range fleet.Masters() {
					for _, key := range keys(m) {
						if !strings.Contains(key, prefix) && !strings.HasPrefix(key, "redlock_sets:") {
							t.Errorf("%s has the key %s", m.Name(), key)
						}
					}
				}
			}

			// A writer, and those who wait behind it: the lock is handed off to them.
			hold := lock(t, ctx, c, "a")
			again := got(t, "Enter", hold.Enter, ctx)
			tell(c.Do(hold.Context(), "a", nil))
			tell(second(c.Lock(hold.Context(), "a")))
			tell(second(open(t, fleet, cfg).TryLock(ctx, "a")))
			outside := locking(t, other, prefix+"a")
			rest(time.Second)
			seen()
			inspection, err := admin.Inspect(ctx, "a")
			if expect(t, "Inspect", err); !inspection.Held || len(inspection.Masters[0].Queue) != 1 {
				t.Errorf("Inspect = %+v, want that it is held, and that one waits", inspection)
			}
			tell(inspection)
			unlock(t, again)
			unlock(t, hold)
			rest(10 * time.Millisecond)
			expectHolds(t, "after the release of the client with the prefix", []*waiting{outside}, 0)
			tell(second(c.TryLock(ctx, "a")))
			inside := locking(t, c, "a")
			rest(time.Second)
			unlock(t, outside.hold)
			rest(10 * time.Millisecond)
			expectHolds(t, "after the release of the client without", []*waiting{inside}, 0)
			tell(inside.hold.Name())
			rest(2 * lease)
			expectAlive(t, inside.hold)
			expect(t, "Downgrade", inside.hold.Downgrade(ctx))
			unlock(t, lock(t, ctx, c, "a", redlock.Shared()))
			seen()

			// What the client keeps, and others want; and what Redisson's clients free.
			unlock(t, lock(t, ctx, c, "kept"))
			outside = locking(t, other, prefix+"kept")
			rest(10 * time.Millisecond)
			expectHolds(t, "when another wants what is kept", []*waiting{outside}, 0)
			unlock(t, outside.hold)
			each(fleet, 0, 3, func(m *redlocktest.Master) { m.HSet(prefix+"java", someone, "1") })
			inside = locking(t, c, "java")
			rest(10 * time.Millisecond)
			each(fleet, 0, 3, func(m *redlocktest.Master) { m.Del(prefix + "java") })
			for _, pool := range fleet.Pools() {
				conn := pool.Get()
				_, err := conn.Do("PUBLISH", script.FreedChannel(prefix+"java"), "0")
				expect(t, "PUBLISH", errors.Join(err, conn.Close()))
			}
			rest(10 * time.Millisecond)
			expectHolds(t, "after the release of Redisson's", []*waiting{inside}, 0)
			unlock(t, inside.hold)

			// Permits, whose slots are keys of another kind.
			unlock(t, acquire(t, c, "gpu", 2))
			permits := []*redlock.Hold{acquire(t, c, "gpu", 2), acquire(t, other, prefix+"gpu", 2)}
			tell(second(c.TryLock(ctx, "gpu", redlock.Permits(2))))
			next := locking(t, c, "gpu", redlock.Permits(2))
			rest(time.Second)
			semaphore, err := admin.InspectSemaphore(ctx, "gpu")
			expect(t, "InspectSemaphore", err)
			check.Equal(t, len(semaphore.Slots), 2, "slots")
			tell(semaphore)
			unlock(t, permits[1])
			rest(10 * time.Millisecond)
			expectHolds(t, "after the release of a permit", []*waiting{next}, 0)
			tell(next.hold.Name())
			seen()

			// Several names, a leader, and what is listed.
			all := lockAll(t, ctx, c, "y", "x{1}")
			tell(all.Names())
			if all.Hold("y") == nil {
				t.Error("LockAll has no Hold of y")
			}
			lead, resign := context.WithCancel(ctx)
			led := make(chan error)
			go func() {
				led <- c.Lead(lead, "leader", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
			}()
			lock(t, ctx, other, "another's")
			each(fleet, 0, 3, func(m *redlocktest.Master) { // what the client could not have locked
				m.HSet(fmt.Sprintf("%sredlock_slot:{gpu}:%d", prefix, next.hold.Slot()), another, "1")
				m.HSet(prefix, another, "1")
			})
			rest(time.Second)
			for pattern, want := range map[string][]string{"*": {"a", "gpu", "leader", "x{1}", "y"}, "?": {"a", "y"}, "none": nil} {
				list, err := listed(c, ctx, pattern, 100)
				var names []string
				for _, one := range list.locks {
					names = append(names, one.Name)
					tell(one)
				}
				if expect(t, "List", err); !slices.Equal(names, want) {
					t.Errorf("List(%s) has %q, want %q", pattern, names, want)
				}
			}
			if clients, err := admin.Clients(ctx); err != nil || len(clients) != 3 {
				t.Errorf("Clients = %v, %v; want all three, whatever their prefixes", clients, err)
			}
			resign()
			tell(<-led)

			// What is lost, freed by force, or cannot be had.
			forced := lock(t, ctx, c, "forced")
			if freed, err := admin.ForceUnlock(ctx, "forced"); !freed || err != nil {
				t.Errorf("ForceUnlock = %v, %v; want true", freed, err)
			}
			if freed, err := admin.ForceRelease(ctx, "gpu"); !freed || err != nil {
				t.Errorf("ForceRelease = %v, %v; want true", freed, err)
			}
			rest(12 * lease)
			tell(forced.Unlock(ctx))
			tell(all.Unlock(ctx))
			each(fleet, 0, 3, func(m *redlocktest.Master) { m.Set(prefix+"text", "x") })
			tell(second(c.Lock(ctx, "text")))
			kept := lock(t, ctx, c, "kept")
			each(fleet, 0, 2, (*redlocktest.Master).Kill)
			rest(lease)
			tell(kept.Unlock(ctx))
			tell(second(c.TryLock(ctx, "a")))
			tell(second(admin.ForceUnlock(ctx, "a")))
			tell(second(admin.Inspect(ctx, "a")))
			tell(second(listed(c, ctx, "*", 1)))
			short := within(t, ctx, time.Minute)
			tell(second(c.Lock(short, "a")))
			tell(second(c.LockAll(short, []string{"a", "b"})))
			tell(c.Close())
			tell(second(c.Lock(ctx, "a")))
			for _, e := range events.take() {
				tell(e)
			}
			said = append(said, strings.Split(log.sorted(), "\n")...)
			for _, text := range said {
				if strings.Contains(text, prefix) || strings.Contains(text, strings.ReplaceAll(prefix, `\`, `\\`)) {
					t.Errorf("the client tells %s", text)
				}
			}
			if n := len(said); n < 300 {
				t.Errorf("the client told %d things, want hundreds", n)
			}
		}))
	}
}

// TestPrefixOfSets: clients with the prefix and without agree on where a name is.
func TestPrefixOfSets(t *testing.T) {
	inSets("a b c", func(t *testing.T, f fleets) {
		within, whole := f.open(t, redlock.Config{Prefix: "orders:"}, "a b", "b c"), f.open(t, redlock.Config{}, "a b", "b c")
		for i := range 16 {
			name := fmt.Sprint(i)
			hold := lock(t, t.Context(), within, name)
			at := redlockadmin.Of(whole).SetsOf("orders:" + name)
			if got := redlockadmin.Of(within).SetsOf(name); !slices.Equal(got, at) {
				t.Errorf("SetsOf(%s) = %v with the prefix, and %v without", name, got, at)
			}
			f.expectAt(t, "orders:"+name, at...)
			expect(t, "TryLock without the prefix", second(whole.TryLock(t.Context(), "orders:"+name)), redlock.ErrTaken)
			check.Equal(t, hold.Name(), name, "Name")
			unlock(t, hold)
		}
		_, err := redlock.NewSets(redlock.SetsConfig{Sets: map[string]redlock.Config{
			"a": {Pools: f["a"].Pools(), Prefix: "orders:"}, "b": {Pools: f["b"].Pools()},
		}})
		expectSays(t, "NewSets", err, `redlock: Config.Prefix is "orders:" in set "a", and "" in set "b"`)
	})(t)
}
