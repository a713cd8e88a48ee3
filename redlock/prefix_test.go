package redlock_test

import (
	"errors"
	"fmt"
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

// expectHidden checks that each key of the masters has the prefix, and nothing that the client told.
func expectHidden(t *testing.T, fleet *redlocktest.Fleet, prefix string, told ...any) {
	t.Helper()
	for _, m := range fleet.Masters() {
		for _, key := range keys(m) {
			check.That(t, strings.Contains(key, prefix), "%s has the key %s", m.Name(), key)
		}
	}
	for _, what := range told {
		text := fmt.Sprintf("%+v", what)
		check.That(t, !strings.Contains(text, prefix) && !strings.Contains(text, strings.ReplaceAll(prefix, `\`, `\\`)), "the client tells %s", text)
	}
}

// TestPrefix: all cases hold with a prefix. Each key at the masters has it; the log and the trace, which has all errors, do
// not. The other client has no prefix, and uses the whole name.
func TestPrefix(t *testing.T) {
	const prefix = "orders:"
	for kind := range kinds {
		for name, test := range cases {
			t.Run("a "+kind+" "+name, masters(3, func(t *testing.T, fleet *redlocktest.Fleet) {
				var log lines
				var events recorder
				cfg := longLeases
				cfg.Prefix, cfg.Logger, cfg.Trace = prefix, logger(&log), events.trace()
				one, other := open(t, fleet, cfg), open(t, fleet, longLeases)
				test(t, &setting{[]*redlocktest.Fleet{fleet}, face{one, kind, "a"}, face{other, kind, prefix + "a"}})
				expectHidden(t, fleet, prefix, append(events.take(), log.sorted())...)
			}))
		}
	}
}

// TestPrefixIsHidden: operators read and give names without the prefix, also one with characters that mean something to
// SCAN or in a key. The channel on which Redisson's clients publish a release has it.
func TestPrefixIsHidden(t *testing.T) {
	masters(3, func(t *testing.T, fleet *redlocktest.Fleet) {
		const prefix = `p*[q]\?{:`
		c, other := open(t, fleet, redlock.Config{Prefix: prefix}), open(t, fleet, redlock.Config{})
		admin, ctx := redlockadmin.Of(c), t.Context()
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.HSet(prefix+"java", someone, "1") })
		next := locking(t, c, "java")
		rest(10 * time.Millisecond)
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Del(prefix + "java") })
		for _, pool := range fleet.Pools() {
			conn := pool.Get()
			_, err := conn.Do("PUBLISH", script.FreedChannel(prefix+"java"), "0")
			expect(t, "PUBLISH", errors.Join(err, conn.Close()))
		}
		rest(10 * time.Millisecond)
		expectHolds(t, "after the release of Redisson's", []*waiting{next}, 0)

		lockAll(t, ctx, c, "y", "x{1}")
		permits := []*redlock.Hold{acquire(t, c, "gpu", 2), acquire(t, other, prefix+"gpu", 2)}
		locking(t, other, prefix+"java")
		each(fleet, 0, 3, func(m *redlocktest.Master) { // what the client could not have locked
			m.HSet(fmt.Sprintf("%sredlock_slot:{gpu}:%d", prefix, permits[1].Slot()), another, "1")
			m.HSet(prefix, another, "1")
			m.Set(prefix+"text", "x")
		})
		rest(time.Second)
		lock := inspect(t, c, "java")
		check.That(t, lock.Held && len(lock.Masters[0].Queue) == 1, "Inspect = %+v, want that it is held, and that one waits", lock)
		semaphore := must(admin.InspectSemaphore(ctx, "gpu"))(t, "InspectSemaphore")
		check.That(t, len(semaphore.Slots) == 2, "InspectSemaphore = %+v, want two slots", semaphore)
		told := []any{lock, semaphore, second(c.Lock(ctx, "text"))}
		for pattern, want := range map[string][]string{"*": {"gpu", "java", "x{1}", "y"}, "?": {"y"}, "none": nil} {
			list, err := listed(c, ctx, pattern, 100)
			var names []string
			for _, one := range list.locks {
				names, told = append(names, one.Name), append(told, one)
			}
			expect(t, "List", err)
			check.That(t, slices.Equal(names, want), "List(%s) has %q, want %q", pattern, names, want)
		}
		check.Equal(t, must(admin.ForceUnlock(ctx, "y"))(t, "ForceUnlock"), true, "ForceUnlock")
		check.Equal(t, must(admin.ForceRelease(ctx, "gpu"))(t, "ForceRelease"), true, "ForceRelease")
		expectHidden(t, fleet, prefix, told...)
	})(t)
}

// TestPrefixOfSets: clients with and without the prefix look for a name in the same sets.
func TestPrefixOfSets(t *testing.T) {
	inSets("a b c", func(t *testing.T, f fleets) {
		within, whole := f.open(t, redlock.Config{Prefix: "orders:"}, "a b", "b c"), f.open(t, redlock.Config{}, "a b", "b c")
		for i := range 16 {
			name := fmt.Sprint(i)
			hold := lock(t, t.Context(), within, name)
			at := redlockadmin.Of(whole).SetsOf("orders:" + name)
			got := redlockadmin.Of(within).SetsOf(name)
			check.That(t, slices.Equal(got, at), "SetsOf(%s) = %v with the prefix, and %v without", name, got, at)
			f.expectAt(t, "orders:"+name, at...)
			expect(t, "TryLock without the prefix", second(whole.TryLock(t.Context(), "orders:"+name)), redlock.ErrTaken)
			check.Equal(t, hold.Name(), name, "Name")
			unlock(t, hold)
		}
		_, err := redlock.NewSets(redlock.SetsConfig{Sets: map[string]redlock.Config{
			"a": {Pools: f["a"].Pools(), Prefix: "orders:"}, "b": {Pools: f["b"].Pools()},
		}})
		check.Says(t, err, `redlock: Config.Prefix is "orders:" in set "a", and "" in set "b"`, "NewSets")
	})(t)
}
