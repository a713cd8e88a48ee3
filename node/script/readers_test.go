package script

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// reader returns the owner of a reader of "k".
func reader(owner string) *Owner { return NewReader("k", id(owner)) }

// read is a try of a reader.
func (h *scriptFixture) read(owner string, lease time.Duration) Answer {
	return h.run(reader(owner).Acquire(lease, 5))
}

// asks is the given round of an owner that has waited since then.
func (h *scriptFixture) asks(o *Owner, round uint64, since int64) Answer {
	return h.run(o.AcquireOrRegister(lease, QueueEntry{Round: round, Since: since, Lease: short, Proposal: 5}))
}

// writes is the first round of a writer.
func (h *scriptFixture) writes(owner string, since int64) Answer {
	return h.asks(NewOwner("k", id(owner)), 1, since)
}

// waits is the first round of a reader.
func (h *scriptFixture) waits(owner string, since int64) Answer {
	return h.asks(reader(owner), 1, since)
}

// renews renews the hold of an owner whose token is 5, and returns what became of it.
func (h *scriptFixture) renews(o *Owner, lease time.Duration) Renewed {
	return h.run(Renew(lease, []Renewal{{Owner: o, Count: 1, Token: 5}})).Renewed[0]
}

// wantReaders checks who reads, each as "owner left", whoever ends first first, and that the lock
// expires with the last of them.
func (h *scriptFixture) wantReaders(when string, want ...string) {
	h.t.Helper()
	all, err := redis.Strings(h.conn.Do("ZRANGE", "redlock_read:{k}", 0, -1, "WITHSCORES"))
	if err != nil {
		h.t.Fatal(err)
	}
	var got []string
	var last time.Duration
	for i := 0; i < len(all); i += 2 {
		var ends int64
		fmt.Sscan(all[i+1], &ends)
		last = time.Duration(ends-time.Now().UnixMilli()) * time.Millisecond
		if last > 0 {
			got = append(got, fmt.Sprint(all[i], " ", last))
		}
	}
	for i := range want {
		want[i] = id(want[i])
	}
	if !slices.Equal(got, want) {
		h.t.Errorf("%s: the readers are %q, want %q", when, got, want)
	}
	hash := map[string]string{"mode": "shared"}
	if len(want) == 0 {
		hash = nil
	}
	if got := h.m.Hash("k"); len(want) > 0 && (!reflect.DeepEqual(got, hash) || h.m.TTL("k") != last) {
		h.t.Errorf("%s: the key is %v for %v, want %v for %v", when, got, h.m.TTL("k"), hash, last)
	} else if len(want) == 0 && got["mode"] != "" {
		h.t.Errorf("%s: the key is %v, want no readers", when, got)
	}
}

// TestReaders: they have the lock together, each for its own lease; a dead one costs its own and no
// more.
func TestReaders(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		freed := h.subscribe(freedChannel)
		h.wantAnswer("the first", h.read("a:r1", lease), Done, "")
		h.wantReaders("then", "a:r1 30s")
		h.wantAnswer("the second", h.read("b:r1", time.Minute), Done, "")
		h.wantAnswer("the third", h.read("c:r1", time.Second), Done, "")
		h.wantReaders("then", "c:r1 1s", "a:r1 30s", "b:r1 1m0s")
		h.wantAnswer("a repeat", h.read("b:r1", time.Second), Done, "")
		h.wantReaders("a repeat shortens nothing", "c:r1 1s", "a:r1 30s", "b:r1 1m0s")

		h.wantAnswer("release", h.run(reader("b:r1").Release(5, 0)), Done, "")
		h.wantReaders("the lock ends with the last who is left", "c:r1 1s", "a:r1 30s")
		h.wantAnswer("release again", h.run(reader("b:r1").Release(5, 0)), Refused, "")
		time.Sleep(time.Second)
		h.wantReaders("c is dead", "a:r1 29s")
		h.wantAnswer("release of the dead", h.run(reader("c:r1").Release(5, 0)), Refused, "")
		freed.want(t, "while one reads")
		h.wantAnswer("the last one", h.run(reader("a:r1").Release(5, 0)), Done, "")
		h.wantReaders("then")
		freed.want(t, "to Redisson", "0")
		if left := h.m.Keys(); len(left) != 1 { // the fencing counter
			t.Errorf("keys: %q are left", left)
		}
	})
}

// TestWritersKeepReadersOut: no step of a reader takes a lock that a writer has, ours or Redisson's.
func TestWritersKeepReadersOut(t *testing.T) {
	for _, writer := range []string{id("w:r1"), id("theirs:17")} {
		withScripts(t, func(h *scriptFixture) {
			h.heldBy(writer)
			h.wantAnswer("try", h.read("a:r1", lease), Refused, writer)
			got := h.waits("a:r1", 10)
			if want := (Answer{Outcome: Refused, Holder: writer, Left: lease}); !reflect.DeepEqual(got, want) {
				t.Errorf("ask: got %+v, want %+v", got, want)
			}
			h.wantQueue("then", id("a:r1 1"))
			h.wantAnswer("enter", h.run(reader("a:r1").Enter(lease, 2)), Refused, writer)
			h.wantAnswer("raise", h.run(reader("a:r1").Raise(lease, 100)), Refused, "")
			if got := h.renews(reader("a:r1"), lease); got != Foreign {
				t.Errorf("renewal: got %v, want Foreign: it would stand beside a writer", got)
			}
			h.wantAnswer("release", h.run(reader("a:r1").Release(5, 0)), Refused, "")
			h.wantLock("after all", writer, lease)
			h.wantReaders("after all")
		})
	}
}

// TestSharedIsOneField: a hash that says "shared" beside something else, or something else as its mode,
// belongs to another program, such as Redisson's RReadWriteLock.
func TestSharedIsOneField(t *testing.T) {
	for _, fields := range [][]any{{"mode", "read"}, {"mode", "shared", "name", "bob"}, {"mode", "read", id("theirs:1"), "1"}} {
		withScripts(t, func(h *scriptFixture) {
			h.do("HSET", append([]any{"k"}, fields...)...)
			before := h.m.Hash("k")
			for _, cmd := range []*Command{
				reader("a:r1").Acquire(lease, 5), reader("a:r1").Release(5, 0), reader("a:r1").Enter(lease, 2), reader("a:r1").Raise(lease, 5),
				NewOwner("k", id("a:r1")).Acquire(lease, 5), Inspect("k"), Force("k", 5),
			} {
				if got := h.run(cmd); got.Outcome != Failed || got.Err == nil || !strings.Contains(got.Err.Error(), "no lock") {
					t.Errorf("%v, verb %d: got %+v, want a failure: no lock", fields, cmd.verb, got)
				}
			}
			if got := h.renews(reader("a:r1"), lease); got != NotLock {
				t.Errorf("%v, renewal: got %v, want NotLock", fields, got)
			}
			if got := h.m.Hash("k"); !reflect.DeepEqual(got, before) {
				t.Errorf("%v became %v", fields, got)
			}
		})
	}
}

// TestInspectOfReaders: it tells who reads and who waits for what, without those who are gone.
func TestInspectOfReaders(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.read("c:r1", time.Second)
		h.read("b:r1", time.Minute)
		h.read("a:r1", lease)
		h.writes("dead:r1", 5)
		time.Sleep(time.Second)
		h.writes("w:r1", 10)
		h.waits("d:r1", 20)
		got := h.run(Inspect("k"))
		want := Answer{Outcome: Done, Token: 5, Holder: SharedHolder, Left: 59 * time.Second, Crowd: &Crowd{
			Readers: []Reader{{id("a:r1"), 29 * time.Second}, {id("b:r1"), 59 * time.Second}},
			Waiters: []Waiter{{Owner: id("w:r1")}, {Owner: id("d:r1"), Mode: Shared}},
		}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("inspect: got %+v of %+v, want %+v of %+v", got, got.Crowd, want, want.Crowd)
		}
	})
	withScripts(t, func(h *scriptFixture) {
		h.heldByX()
		for i := range 40 {
			h.writes(fmt.Sprintf("w:r%d", i), int64(i))
		}
		if got := h.run(Inspect("k")); len(got.Crowd.Waiters) != 32 || got.Crowd.Waiters[0].Owner != id("w:r0") {
			t.Errorf("inspect of 40 who wait: %+v, want the first 32", got.Crowd)
		}
	})
}

// TestRedissonAndReaders: one of Redisson's clients finds a lock that readers have taken, waits for as
// long as the last of them may read, and is told when it has gone.
func TestRedissonAndReaders(t *testing.T) {
	// As RedissonLock.tryLockInnerAsync has it: nil is a yes, else it is how long the lock is taken.
	const tryLock = `if (redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1) then ` +
		`redis.call('hincrby', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end; ` +
		`return redis.call('pttl', KEYS[1]);`
	withScripts(t, func(h *scriptFixture) {
		theirs := func() any {
			got, err := h.conn.Do("EVAL", tryLock, 1, "k", 30_000, id("theirs:17"))
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		freed := h.subscribe(freedChannel)
		h.read("a:r1", lease)
		h.read("b:r1", time.Minute)
		if got := theirs(); got != int64(60_000) {
			t.Errorf("tryLock beside readers: %v, want 60000 ms", got)
		}
		h.run(reader("b:r1").Release(5, 0))
		if got := theirs(); got != int64(30_000) {
			t.Errorf("tryLock beside one reader: %v, want 30000 ms", got)
		}
		h.run(reader("a:r1").Release(5, 0))
		freed.want(t, "when the last has gone", "0")
		if got := theirs(); got != nil {
			t.Errorf("tryLock when they have gone: %v, want nil, a yes", got)
		}
		h.wantAnswer("a reader then", h.waits("a:r2", 10), Refused, id("theirs:17"))
		h.wantLock("then", id("theirs:17"), lease)
	})
}
