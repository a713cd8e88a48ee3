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

// TestReadersEndOnTheirOwn: readers whose lease is over do not pile up, and the lock is free when the
// last one's is.
func TestReadersEndOnTheirOwn(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		for i := range 10 {
			h.read(fmt.Sprintf("a:r%d", i), time.Second)
			time.Sleep(500 * time.Millisecond)
		}
		if n, _ := redis.Int(h.conn.Do("ZCARD", "redlock_read:{k}")); n > 3 {
			t.Errorf("%d readers are kept, want those of the last second", n)
		}
		time.Sleep(time.Second)
		h.wantLock("after all", "", 0)
		h.wantAnswer("a writer", h.writes("w:r1", 10), Done, "")
	})
}

// TestReadersKeepWritersOut: no step of a writer takes a lock that is shared, or extends it.
func TestReadersKeepWritersOut(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.read("a:r1", lease)
		w := NewOwner("k", id("w:r1"))
		got := h.run(w.Acquire(lease, 6))
		if want := (Answer{Outcome: Refused, Holder: SharedHolder, Left: lease}); !reflect.DeepEqual(got, want) {
			t.Errorf("try: got %+v, want %+v", got, want)
		}
		h.wantAnswer("ask", h.writes("w:r1", 10), Refused, SharedHolder)
		h.wantQueue("then", id("w:r1 1"))
		h.wantAnswer("register", h.run(w.Register(QueueEntry{Round: 2, Since: 10, Lease: short, Proposal: 5})), Refused, SharedHolder)
		h.wantAnswer("enter", h.run(w.Enter(time.Hour, 2)), Refused, SharedHolder)
		h.wantAnswer("raise", h.run(w.Raise(lease, 100)), Refused, "")
		if got := h.renews(w, time.Hour); got != Foreign {
			t.Errorf("renewal: got %v, want Foreign: it would stand beside a reader", got)
		}
		h.wantReaders("after all", "a:r1 30s")
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

// TestFirstComeFirstServed: a reader that comes after a waiting writer waits behind it; all readers at
// the head are let in by one release, and told; those behind the next writer are not.
func TestFirstComeFirstServed(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		post := h.subscribeClient("a")
		h.read("x:r0", lease)
		h.writes("a:r1", 10)
		for i, owner := range []string{"a:r2", "a:r3"} {
			got := h.waits(owner, int64(20+i))
			if want := (Answer{Outcome: Refused, Left: lease, Rank: i + 1}); !reflect.DeepEqual(got, want) {
				t.Errorf("ask of %s: got %+v, want %+v: it goes on asking, and so it is told of no holder", owner, got, want)
			}
		}
		h.wantAnswer("a try behind a waiting writer", h.read("y:r1", lease), Refused, SharedHolder)
		h.writes("a:r4", 30)
		h.waits("a:r5", 40)
		h.wantReaders("while the writer waits", "x:r0 30s")

		h.run(reader("x:r0").Release(5, 0))
		h.wantLock("after the reader", id("a:r1"), short)
		post.want(t, "to the writer", id("a:r1 1 6 k"))
		h.run(NewOwner("k", id("a:r1")).Release(6, 10))
		h.wantReaders("after the writer", "a:r2 400ms", "a:r3 400ms")
		post.want(t, "to the readers", id("a:r2 1 6:shared k"), id("a:r3 1 6:shared k"))
		h.wantQueue("then", id("a:r4 1"), id("a:r5 1"))
		h.run(reader("a:r2").Release(6, 20))
		post.want(t, "while one reads")
		h.run(reader("a:r3").Release(6, 21))
		h.wantLock("after the readers", id("a:r4"), short)
		post.want(t, "to the second writer", id("a:r4 1 7 k"))
	})
}

// TestWriterThatGivesUp: the readers behind it are let in, also while others read.
func TestWriterThatGivesUp(t *testing.T) {
	for _, next := range []*Owner{nil, reader("a:r9"), NewOwner("k", id("a:r9"))} {
		withScripts(t, func(h *scriptFixture) {
			post := h.subscribeClient("a")
			h.read("x:r0", lease)
			h.writes("w:r1", 10)
			h.waits("a:r2", 20)
			cmd := NewOwner("k", id("w:r1")).Release(5, 10)
			if next != nil {
				cmd = NewOwner("k", id("w:r1")).ReleaseTo(5, 10, next, QueueEntry{Round: 1, Since: 30, Lease: short, Proposal: 7})
			}
			h.wantAnswer("giving up", h.run(cmd), Refused, "")
			want, told := []string{"a:r2 400ms"}, []string{id("a:r2 1 5:shared k")}
			if next != nil && next.Mode == Shared {
				want, told = append(want, "a:r9 400ms"), append(told, id("a:r9 1 5:shared k"))
			}
			h.wantReaders("then", append(want, "x:r0 30s")...)
			post.want(t, "to the readers", told...)
		})
	}
}

// TestStaleHeadBlocksNobody: a writer at the head that is dead keeps readers out for as long as it may
// be handed the lock, and no longer, although others go on reading.
func TestStaleHeadBlocksNobody(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.subscribeClient("a")
		h.read("x:r0", lease)
		h.writes("dead:r1", 10)
		h.waits("a:r2", 20)
		time.Sleep(short - time.Millisecond)
		h.wantAnswer("while it may live", h.asks(reader("a:r3"), 1, 30), Refused, "")
		time.Sleep(time.Millisecond)
		if got := h.asks(reader("a:r2"), 2, 20); got.Outcome != Done {
			t.Errorf("ask behind a stale writer: got %+v, want Done", got)
		}
		h.wantReaders("then", "a:r3 400ms", "x:r0 29.6s", "a:r2 30s")
	})
}

// TestTryBehindAStaleHead: a reader that does not wait is let in as well.
func TestTryBehindAStaleHead(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.read("x:r0", lease)
		h.writes("dead:r1", 10)
		time.Sleep(short)
		h.wantAnswer("try", h.read("a:r1", lease), Done, "")
		h.wantQueue("then")
	})
}

// TestManyReaders: one release lets in 32, and the next ask of one of the others the rest.
func TestManyReaders(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		post := h.subscribeClient("a")
		h.heldByX()
		for i := range 40 {
			h.waits(fmt.Sprintf("a:r%d", 10+i), int64(10+i))
		}
		h.release(id("x:r0"), 5)
		if got := len(post.take()); got != 32 {
			t.Errorf("%d readers were told, want 32", got)
		}
		h.wantAnswer("the next ask", h.asks(reader("a:r49"), 2, 49), Done, "")
		if got := len(post.take()); got != 7 {
			t.Errorf("%d more readers were told, want 7", got)
		}
		h.wantQueue("then")
	})
}

// TestExpiredWriterMakesWayForReaders: whoever asks first has all readers at the head let in, and a
// writer who asks waits behind them.
func TestExpiredWriterMakesWayForReaders(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.subscribeClient("a")
		h.heldByX()
		h.m.Expire("k", short/2)
		h.waits("a:r1", 10)
		h.waits("a:r2", 20)
		h.writes("a:r3", 30)
		time.Sleep(short / 2)
		got := h.asks(NewOwner("k", id("a:r3")), 2, 30)
		if want := (Answer{Outcome: Refused, Holder: SharedHolder, Left: short}); !reflect.DeepEqual(got, want) {
			t.Errorf("ask of a writer: got %+v, want %+v", got, want)
		}
		h.wantReaders("then", "a:r1 400ms", "a:r2 400ms")
	})
}

// TestRegisterOfAReader: it takes nothing, even if the lock is free or shared.
func TestRegisterOfAReader(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		register := func(owner string) Answer {
			return h.run(reader(owner).Register(QueueEntry{Round: 1, Since: 10, Lease: short, Proposal: 5}))
		}
		h.wantAnswer("free", register("a:r1"), Refused, "")
		h.wantReaders("then")
		h.read("b:r1", lease)
		h.m.FlushAll()
		h.read("b:r1", lease)
		h.wantAnswer("shared", register("a:r1"), Refused, "")
		h.wantQueue("then", id("a:r1 1"))
		h.wantReaders("then", "b:r1 30s")
		h.wantAnswer("of one that reads", register("b:r1"), Done, "")
	})
}

// TestTokensOfReaders: readers leave the counter as it is, and their token is at least that of every
// writer before. What they raise it to, the next writer is above.
func TestTokensOfReaders(t *testing.T) {
	token := func(h *scriptFixture) string { return h.m.Get("redlock_fence:{k}") }
	withScripts(t, func(h *scriptFixture) {
		if got := h.read("a:r1", lease); got.Token != 5 {
			t.Errorf("first of all: token %d, want 5, the proposal", got.Token)
		}
		if got := h.run(reader("a:r2").Acquire(lease, 50)); got.Token != 5 {
			t.Errorf("second reader: token %d, want 5, the counter", got.Token)
		}
		for _, raise := range []int64{9, 9, 7} {
			if got := h.run(reader("a:r1").Raise(lease, raise)); got.Outcome != Done || got.Token != raise {
				t.Errorf("raise to %d: %+v, want Done: the counter is not below it then", raise, got)
			}
			if token(h) != "9" {
				t.Errorf("after a raise to %d the counter is %s, want 9", raise, token(h))
			}
		}
		h.wantAnswer("raise by one who does not read", h.run(reader("a:r3").Raise(lease, 20)), Refused, "")
		h.run(reader("a:r1").Release(9, 0))
		h.run(reader("a:r2").Release(9, 0))
		if got := h.run(NewOwner("k", id("w:r1")).Acquire(lease, 6)); got.Token != 10 {
			t.Errorf("writer: token %d, want 10", got.Token)
		}
	})
	withScripts(t, func(h *scriptFixture) {
		post := h.subscribeClient("a")
		h.heldByX()
		h.waits("a:r1", 10)
		h.release(id("x:r0"), 41)
		post.want(t, "token of the writer before", id("a:r1 1 41:shared k"))
		h.writes("a:r2", 20)
		h.run(reader("a:r1").Release(60, 10)) // it had read 60 elsewhere
		post.want(t, "above that of the reader", id("a:r2 1 61 k"))
	})
}

// TestGuardedMasterAndReaders: it grants them nothing, heals nothing and hands nothing off, also where
// others read.
func TestGuardedMasterAndReaders(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.subscribeClient("a")
		for _, cmd := range []*Command{reader("a:r1").Acquire(lease, 5), reader("a:r1").AcquireOrRegister(lease, QueueEntry{Round: 1, Lease: short})} {
			if !cmd.Grants() {
				t.Errorf("%q grants nothing, so a guarded master would get it", cmd.steps)
			}
		}
		if reader("a:r1").Register(QueueEntry{Round: 1}).Grants() {
			t.Error("a register grants")
		}
		renewal := func(owner string) Renewed {
			return h.run(guarded(Renew(lease, []Renewal{{Owner: reader(owner), Token: 5}}))).Renewed[0]
		}
		if got := renewal("a:r1"); got != Absent {
			t.Errorf("renewal where nobody has it: %v, want Absent", got)
		}
		h.read("x:r0", lease)
		h.read("y:r0", lease)
		if got := renewal("a:r1"); got != Absent {
			t.Errorf("renewal beside readers: %v, want Absent", got)
		}
		if got := renewal("x:r0"); got != Extended {
			t.Errorf("renewal of one that reads: %v, want Extended", got)
		}
		h.writes("w:r1", 10)
		h.waits("a:r2", 20)
		h.run(guarded(NewOwner("k", id("w:r1")).Release(5, 10)))
		h.wantReaders("after a writer gave up", "x:r0 30s", "y:r0 30s")
		h.run(guarded(reader("x:r0").Release(5, 0)))
		h.run(guarded(reader("y:r0").Release(5, 0)))
		h.wantReaders("after all")
		h.wantQueue("after all", id("a:r2 1"))

		h.heldByX()
		h.waits("a:r3", 30)
		if got := h.run(guarded(Renew(lease, []Renewal{{Owner: reader("x:r0"), Token: 5}}))).Renewed[0]; got != Extended {
			t.Errorf("downgrade: %v, want Extended", got)
		}
		h.wantReaders("after a downgrade", "x:r0 30s")
	})
}

// TestDowngrade: a lock that one has alone becomes a shared one without a gap, for the longer of both
// leases, and the readers who wait are let in, up to the first writer.
func TestDowngrade(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		post := h.subscribeClient("a")
		h.heldByX()
		h.waits("a:r1", 10)
		h.writes("a:r2", 20)
		h.waits("a:r3", 30)
		if got := h.renews(reader("x:r0"), time.Second); got != Extended {
			t.Errorf("downgrade: %v, want Extended", got)
		}
		h.wantReaders("then", "a:r1 400ms", "x:r0 30s")
		post.want(t, "to the reader behind", id("a:r1 1 5:shared k"))
		h.wantQueue("then", id("a:r2 1"), id("a:r3 1"))
		if got := h.renews(NewOwner("k", id("x:r0")), lease); got != Foreign {
			t.Errorf("a late renewal as a writer: %v, want Foreign", got)
		}
		h.wantReaders("after that", "a:r1 400ms", "x:r0 30s")
	})
	withScripts(t, func(h *scriptFixture) {
		post := h.subscribeClient("a")
		h.heldByX()
		h.writes("a:r2", 20)
		h.waits("a:r3", 30)
		h.renews(reader("x:r0"), lease)
		h.wantReaders("a writer is first", "x:r0 30s")
		post.want(t, "a writer is first")
	})
}

// TestReleaseBeforeTheDowngrade: a master that has not heard of the downgrade frees the lock as well.
func TestReleaseBeforeTheDowngrade(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.heldByX()
		h.wantAnswer("release", h.run(reader("x:r0").Release(5, 0)), Done, "")
		h.wantLock("then", "", 0)
		h.heldByX()
		h.wantAnswer("enter", h.run(reader("x:r0").Enter(time.Minute, 2)), Done, "")
		h.wantReaders("then", "x:r0 1m0s")
	})
}

// TestReadersHeal: a renewal sets a reader again where nobody has the lock, and beside readers.
func TestReadersHeal(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		for _, owner := range []string{"a:r1", "b:r1"} {
			if got := h.renews(reader(owner), lease); got != Healed {
				t.Errorf("renewal of %s: %v, want Healed", owner, got)
			}
		}
		h.wantReaders("then", "a:r1 30s", "b:r1 30s")
		if got := h.m.Get("redlock_fence:{k}"); got != "5" {
			t.Errorf("counter: %s, want 5, the token of the holds", got)
		}
		if got := h.renews(reader("a:r1"), time.Second); got != Extended {
			t.Errorf("renewal again: %v, want Extended", got)
		}
		h.wantReaders("a renewal shortens nothing", "a:r1 30s", "b:r1 30s")
	})
}

// TestEnterOfReaders: the hold count is kept nowhere; a second entry never shortens the lease, and
// does not heal.
func TestEnterOfReaders(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.wantAnswer("nobody", h.run(reader("a:r1").Enter(lease, 2)), Refused, "")
		h.read("b:r1", lease)
		h.wantAnswer("others", h.run(reader("a:r1").Enter(lease, 2)), Refused, SharedHolder)
		h.wantAnswer("in", h.run(reader("b:r1").Enter(time.Minute, 2)), Done, "")
		h.wantReaders("then", "b:r1 1m0s")
		h.wantAnswer("a shorter lease", h.run(reader("b:r1").Enter(time.Second, 3)), Done, "")
		h.wantAnswer("leave", h.run(reader("b:r1").Leave(1)), Done, "")
		h.wantReaders("then", "b:r1 1m0s")
	})
}

// TestForceOfReaders: all of them are out, none heals, and whoever waits is next.
func TestForceOfReaders(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		freed := h.subscribe(freedChannel)
		h.read("a:r1", lease)
		h.read("b:r1", time.Minute)
		h.wantAnswer("force", h.run(Force("k", 8)), Done, "")
		freed.want(t, "to Redisson", "0")
		h.wantReaders("then")
		for owner, left := range map[string]time.Duration{"a:r1": lease, "b:r1": time.Minute} {
			if got := h.m.TTL("redlock_forced:{k}" + id(owner)); got != left {
				t.Errorf("mark of %s: for %v, want %v", owner, got, left)
			}
			if got := h.renews(reader(owner), lease); got != Absent {
				t.Errorf("renewal of %s: %v, want Absent", owner, got)
			}
		}
		h.wantAnswer("force of nobody", h.run(Force("k", 8)), Refused, "")
		h.read("c:r1", lease)
		if got := h.renews(reader("a:r1"), lease); got != Absent {
			t.Errorf("renewal beside a reader who came later: %v, want Absent", got)
		}
	})
}

// TestReadersOfAnEarlierTime: if the key was deleted, or another had the lock since, those who read
// before are out.
func TestReadersOfAnEarlierTime(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.read("a:r1", lease)
		h.do("DEL", "k")
		h.wantAnswer("release", h.run(reader("a:r1").Release(5, 0)), Refused, "")
		h.wantAnswer("a writer", h.run(NewOwner("k", id("w:r1")).Acquire(lease, 6)), Done, "")
		h.wantAnswer("raise of a reader", h.run(reader("a:r1").Raise(lease, 20)), Refused, "")
		h.run(Renew(lease, []Renewal{{Owner: reader("w:r1"), Token: 6}})) // a downgrade
		h.wantReaders("then", "w:r1 30s")
	})
	withScripts(t, func(h *scriptFixture) {
		h.read("a:r1", time.Minute)
		h.do("DEL", "k")
		h.read("b:r1", lease)
		h.wantReaders("then", "b:r1 30s")
	})
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
					t.Errorf("%v, step %s: got %+v, want a failure: no lock", fields, cmd.steps, got)
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

// TestStrayHandOffOfAReader: what a message says is enough to give back what was handed off.
func TestStrayHandOffOfAReader(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		post := h.subscribeClient("a")
		h.heldByX()
		h.waits("a:r1", 10)
		h.release(id("x:r0"), 5)
		message := post.take()
		if len(message) != 1 {
			t.Fatalf("published %q, want one message", message)
		}
		got, ok := DecodeHandOff(message[0])
		if want := (HandOff{Owner: id("a:r1"), Round: 1, Token: 5, Key: "k", Mode: Shared}); !ok || got != want {
			t.Errorf("DecodeHandOff(%q) = %+v, %v, want %+v", message[0], got, ok, want)
		}
		h.wantAnswer("release", h.run(got.Release()), Done, "")
		h.wantReaders("then")
	})
}

// TestRepeatsOfReaders: a release or Leave that is sent again is that of a reader.
func TestRepeatsOfReaders(t *testing.T) {
	o := reader("a:r1")
	entry := QueueEntry{Round: 1, Since: 20, Lease: short, Proposal: 5}
	for _, tt := range []struct{ cmd, want *Command }{
		{o.Release(5, 0), o.Release(5, 0)},
		{o.Yield(10), o.Yield(10)},
		{o.ReleaseTo(5, 10, reader("a:r2"), entry), o.Release(5, 10)},
		{o.Leave(2), o.Leave(2)},
	} {
		again := tt.cmd.Repeat().Command()
		if again.steps != tt.want.steps || !slices.Equal(again.args, tt.want.args) || !again.Repeats() {
			t.Errorf("%s %v again: %s %v, want %s %v", tt.cmd.steps, tt.cmd.args, again.steps, again.args, tt.want.steps, tt.want.args)
		}
	}
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
