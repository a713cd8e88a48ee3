package script

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

func TestBusyLockIsWaitedFor(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.heldByX()
		got := h.register(id("a:r1"), 1, 500)
		h.wantAnswer("acquire or register", got, Refused, id("x:r0"))
		if got.Left != lease {
			t.Errorf("left: got %v, want %v", got.Left, lease)
		}
		h.wantQueue("after an entry", id("a:r1 1"))
		h.wantLock("after an entry", id("x:r0"), lease)
		if ttl := h.m.TTL("redlock_wait:{k}"); ttl != 10*time.Second {
			t.Errorf("queue expires in %v, want 10s", ttl)
		}
	})
}

// A place depends on when the waiting began, not on when the master was asked.
func TestQueueIsInTheOrderOfWaiting(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.heldByX()
		h.register(id("b:r1"), 1, 20)
		h.register(id("c:r1"), 1, 30)
		h.register(id("a:r1"), 1, 10)
		h.wantQueue("after three entries", id("a:r1 1"), id("b:r1 1"), id("c:r1 1"))
	})
}

// A later entry keeps the place, and is the one that a hand-off names.
func TestLaterEntryReplacesTheFirst(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.heldByX()
		h.register(id("a:r1"), 1, 10)
		h.register(id("b:r1"), 1, 20)
		time.Sleep(6 * time.Second)
		h.register(id("a:r1"), 2, 10)
		h.wantQueue("after a second entry", id("a:r1 2"), id("b:r1"))
		if ttl := h.m.TTL("redlock_wait:{k}"); ttl != 10*time.Second {
			t.Errorf("queue expires in %v, want 10s from the last entry on", ttl)
		}
	})
}

// A waiter is as fresh as its last entry.
func TestLaterEntryIsHandedTo(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		post := h.subscribeClient("a")
		h.heldByX()
		h.register(id("a:r1"), 1, 10)
		time.Sleep(short / 2)
		h.register(id("a:r1"), 2, 10)
		time.Sleep(short - time.Millisecond)
		h.release(id("x:r0"), 1)
		h.wantLock("then", id("a:r1"), short)
		post.want(t, "to the first", id("a:r1 2 2 k"))
	})
}

// Two callers that began to wait in the same microsecond are two.
func TestEqualStampsAreTwoPlaces(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.heldByX()
		h.register(id("a:r1"), 1, 10)
		h.register(id("a:r11"), 1, 10)
		h.register(id("a:r1"), 2, 10)
		h.wantQueue("after entries with one stamp", id("a:r1 2"), id("a:r11 1"))
	})
}

func TestTryIsNotWaitedFor(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.heldByX()
		h.wantAnswer("try", h.run(NewOwner("k", id("a:r1")).Acquire(lease, 1)), Refused, id("x:r0"))
		h.wantQueue("after a try")
	})
}

// Expiry sends no message. Whoever asks next, the lock goes to the first in the queue.
func TestExpiredLockGoesToTheFirst(t *testing.T) {
	for _, tt := range []struct {
		name string
		next func(h *scriptFixture) Answer
		left []string
	}{
		{"a try", func(h *scriptFixture) Answer { return h.run(NewOwner("k", id("c:r1")).Acquire(lease, 1)) }, []string{id("b:r1 1")}},
		{"a later waiter", func(h *scriptFixture) Answer { return h.register(id("b:r1"), 2, 20) }, []string{id("b:r1 2")}},
		{"a new waiter", func(h *scriptFixture) Answer { return h.register(id("c:r1"), 1, 30) }, []string{id("b:r1 1"), id("c:r1 1")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			withScripts(t, func(h *scriptFixture) {
				post := h.subscribeClient("a")
				h.heldByX()
				h.register(id("a:r1"), 3, 10)
				h.register(id("b:r1"), 1, 20)
				h.m.Del("k")
				got := tt.next(h)
				h.wantAnswer("answer", got, Refused, id("a:r1"))
				if got.Left != short {
					t.Errorf("left: got %v, want %v", got.Left, short)
				}
				h.wantLock("then", id("a:r1"), short)
				h.wantQueue("then", tt.left...)
				post.want(t, "to the first", id("a:r1 3 1 k"))
			})
		})
	}
}

// If the first in the queue asks, it needs no message: it reads the answer.
func TestExpiredLockIsGrantedToTheFirst(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		post := h.subscribeClient("a")
		h.heldByX()
		h.register(id("a:r1"), 1, 10)
		h.register(id("b:r1"), 1, 20)
		h.m.Del("k")
		got := h.register(id("a:r1"), 2, 10)
		h.wantAnswer("entry of the first", got, Done, "")
		if got.Token != 1 {
			t.Errorf("token: got %d, want the one proposed, 1", got.Token)
		}
		h.wantLock("then", id("a:r1"), lease)
		h.wantQueue("then", id("b:r1 1"))
		post.want(t, "to the first")
	})
}

// Nobody is kept from a free lock by those who would not have it.
func TestExpiredLockIsNotKeptForTheDead(t *testing.T) {
	for _, tt := range []struct {
		name string
		head func(h *scriptFixture)
	}{
		{"a client without a subscription", func(h *scriptFixture) { h.register(id("gone:r1"), 1, 10) }},
		{"a frozen client", func(h *scriptFixture) {
			h.subscribeClient("frozen")
			h.register(id("frozen:r1"), 1, 10)
			time.Sleep(short)
		}},
	} {
		for _, next := range []struct {
			name string
			take func(h *scriptFixture) Answer
		}{
			{"a try", func(h *scriptFixture) Answer { return h.run(NewOwner("k", id("c:r1")).Acquire(lease, 1)) }},
			{"a waiter", func(h *scriptFixture) Answer { return h.register(id("c:r1"), 1, 30) }},
		} {
			t.Run(tt.name+", "+next.name, func(t *testing.T) {
				withScripts(t, func(h *scriptFixture) {
					h.heldByX()
					tt.head(h)
					h.m.Del("k")
					h.wantAnswer("answer", next.take(h), Done, "")
					h.wantLock("then", id("c:r1"), lease)
					h.wantQueue("then")
				})
			})
		}
	}
}

// A waiter that finds the lock free has it, and is no waiter.
func TestFreeLockIsNotWaitedFor(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.wantAnswer("acquire or register", h.register(id("a:r1"), 1, 10), Done, "")
		h.wantLock("then", id("a:r1"), lease)
		h.wantQueue("then")
	})
}

// Who enters a hold again that has ended takes nothing, and moves nobody.
func TestReentryOfAnExpiredLock(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		post := h.subscribeClient("a")
		h.heldByX()
		h.register(id("a:r1"), 1, 10)
		h.m.Del("k")
		h.wantAnswer("enter", h.run(NewOwner("k", id("x:r0")).Enter(lease, 2)), Refused, "")
		h.wantLock("then", "", 0)
		h.wantQueue("then", id("a:r1 1"))
		post.want(t, "to the first")
	})
}

// Someone who began to wait earlier, and was not known here, comes first.
func TestEarlierWaiterOvertakes(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.subscribeClient("b")
		h.heldByX()
		h.register(id("b:r1"), 1, 20)
		h.m.Del("k")
		h.wantAnswer("acquire or register", h.register(id("a:r1"), 1, 10), Done, "")
		h.wantLock("then", id("a:r1"), lease)
		h.wantQueue("then", id("b:r1 1"))
	})
}

func TestReentryLeavesTheQueueAlone(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.heldByX()
		h.register(id("a:r1"), 1, 10)
		h.wantAnswer("enter", h.run(NewOwner("k", id("x:r0")).Enter(lease, 2)), Done, "")
		if count := h.m.HGet("k", id("x:r0")); count != "2" {
			t.Errorf("hold count: got %q, want 2", count)
		}
		h.wantAnswer("leave", h.run(NewOwner("k", id("x:r0")).Leave(1)), Done, "")
		h.wantLock("then", id("x:r0"), lease)
		h.wantQueue("then", id("a:r1 1"))
	})
}

// A round that was under way while the lock was handed to its owner confirms it, for the
// full lease, and makes no second place.
func TestEntryOfTheHolder(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.subscribeClient("a")
		h.heldByX()
		h.register(id("a:r1"), 1, 10)
		h.run(NewOwner("k", id("x:r0")).Release(1, 0))
		h.wantLock("passed", id("a:r1"), short)
		h.wantAnswer("acquire or register", h.register(id("a:r1"), 2, 10), Done, "")
		h.wantLock("confirmed", id("a:r1"), lease)
		h.wantQueue("confirmed")
	})
}

// A queue that nobody enters any more expires.
func TestQueueExpires(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.heldByX()
		h.register(id("a:r1"), 1, 10)
		time.Sleep(10 * time.Second)
		h.wantQueue("10 s after the last entry")
	})
}

// Names do not pile up: all that a master keeps of a lock has an end, at every step.
func TestAllKeysExpire(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.subscribeClient("a")
		h.subscribeClient("b")
		h.subscribe(freedChannel)
		for _, step := range []struct {
			name string
			do   func()
			keys int
		}{
			{"an acquire", func() { h.run(NewOwner("k", id("x:r0")).Acquire(lease, 15)) }, 2},
			{"an entry", func() { h.register(id("a:r1"), 1, 10) }, 4},
			{"another", func() { h.register(id("b:r1"), 1, 20) }, 5},
			{"a pass", func() { h.release(id("x:r0"), 15) }, 4},
			{"Redisson's turn", func() { h.release(id("a:r1"), 14) }, 4},
			{"an entry after it", func() { time.Sleep(20 * time.Millisecond); h.register(id("b:r1"), 2, 20) }, 2},
			{"a last release", func() { h.release(id("b:r1"), 17) }, 1},
		} {
			step.do()
			if got := h.m.Keys(); len(got) != step.keys {
				t.Errorf("after %s: keys are %q, want %d", step.name, got, step.keys)
			}
			for _, key := range h.m.Keys() {
				if h.m.TTL(key) == 0 {
					t.Errorf("after %s: %s does not expire", step.name, key)
				}
			}
		}
	})
}

// Whoever registers enters the queue, and leaves a free lock alone.
func TestRegister(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		post := h.subscribeClient("a")
		register := func(owner string, number uint64, since int64) Answer {
			return h.run(NewOwner("k", owner).Register(QueueEntry{Round: number, Since: since, Lease: short, Proposal: 1}))
		}
		for i := range uint64(2) {
			h.wantAnswer("free", register(id("a:r1"), i+1, 10), Refused, "")
			h.wantQueue("then", fmt.Sprint(id("a:r1 "), i+1))
			h.wantLock("then", "", 0)
		}
		post.want(t, "nobody passes it")
		h.heldByX()
		h.wantAnswer("held", register(id("a:r2"), 1, 20), Refused, id("x:r0"))
		h.wantQueue("then", id("a:r1 2"), id("a:r2 1"))
		h.run(NewOwner("k", id("x:r0")).Release(1, 0))
		h.wantLock("released", id("a:r1"), short)
		h.wantAnswer("passed", register(id("a:r1"), 3, 10), Done, "")
		h.wantQueue("then", id("a:r2 1"))
		h.wantLock("then", id("a:r1"), short)
	})
}

// Whoever enters the queue is told how many stand before it.
func TestRank(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.subscribeClient("b")
		h.heldByX()
		for _, step := range []struct {
			owner string
			since int64
			want  int
		}{
			{"b:r1", 20, 0},
			{"c:r1", 30, 1},
			{"a:r1", 10, 0},
			{"c:r1", 30, 2},
		} {
			if got := h.register(id(step.owner), 2, step.since); got.Rank != step.want {
				t.Errorf("%s, since %d: rank is %d, want %d", step.owner, step.since, got.Rank, step.want)
			}
		}
		e := QueueEntry{Round: 3, Since: 30, Lease: short, Proposal: 1}
		if got := h.run(NewOwner("k", id("c:r1")).Register(e)); got.Rank != 2 {
			t.Errorf("Register: rank is %d, want 2", got.Rank)
		}
		h.m.Del("k")
		// a:r1 does not hear of it, so the lock goes to b:r1, and c:r1 is the first of those left.
		got := h.run(NewOwner("k", id("c:r1")).AcquireOrRegister(lease, e))
		h.wantAnswer("of a lock handed to another", got, Refused, id("b:r1"))
		if got.Rank != 0 {
			t.Errorf("after a hand-off: rank is %d, want 0", got.Rank)
		}
	})
}

// What is yielded is left free, and those who wait stay in the queue.
func TestYield(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		post := h.subscribeClient("a")
		h.heldByX()
		h.register(id("a:r1"), 1, 10)
		h.wantAnswer("yield", h.run(NewOwner("k", id("x:r0")).Yield(0)), Done, "")
		h.wantLock("then", "", 0)
		h.wantQueue("then", id("a:r1 1"))
		h.wantAnswer("yield of one that waits", h.run(NewOwner("k", id("a:r1")).Yield(10)), Refused, "")
		h.wantQueue("then")
		post.want(t, "nobody is told")
	})
}

// Who gives up leaves the queue of a master without memory, too, and whoever comes next for its client takes
// its place there.
func TestGivingUpAtAFullMaster(t *testing.T) {
	writer := func(owner string) *Owner { return NewOwner("k", id(owner)) }
	permit := func(owner string) *Owner { return NewPermit("k", id(owner), 1, 0) }
	for name, tt := range map[string]struct {
		holds, waits func(owner string) *Owner
		queue        string
	}{
		"writer": {writer, writer, "redlock_wait:{k}"},
		"reader": {writer, reader, "redlock_wait:{k}"},
		"permit": {permit, permit, "redlock_slotwait:{k}1"},
	} {
		o, next, entry := tt.waits("a:r1"), tt.waits("a:r2"), asked(10)
		for way, cmd := range map[string]*Command{
			"release":    o.Release(50, 10),
			"yield":      o.Yield(10),
			"release to": o.ReleaseTo(50, 10, next, entry),
			"yield to":   o.YieldTo(10, next, entry),
		} {
			t.Run(name+", "+way, func(t *testing.T) {
				withScripts(t, func(h *scriptFixture) {
					h.run(tt.holds("x:r0").Acquire(lease, 5))
					h.run(o.AcquireOrRegister(lease, entry))
					h.m.Fill(true)
					h.wantAnswer("it", h.run(cmd), Refused, "")
					h.m.Fill(false)
					var want []string
					if cmd.next != "" {
						want = []string{cmd.next}
					}
					if got := slices.Collect(maps.Keys(h.m.ZSet(tt.queue))); !slices.Equal(got, want) {
						t.Errorf("%q wait, want %q", got, want)
					}
				})
			})
		}
	}
}

// Who goes on waiting as a new owner has no gap in between, and the same place.
func TestYieldTo(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		post, freed := h.subscribeClient("a"), h.subscribe(freedChannel)
		h.register(id("x:r1"), 1, 10)
		h.register(id("a:r1"), 1, 20)
		next := QueueEntry{Round: 2, Since: 10, Lease: short, Proposal: 1}
		yield := NewOwner("k", id("x:r1")).YieldTo(10, NewOwner("k", id("x:r2")), next)
		h.wantAnswer("yield", h.run(yield), Done, "")
		h.wantLock("then", "", 0)
		h.wantQueue("then", id("x:r2 2"), id("a:r1 1"))
		freed.want(t, "to Redisson's clients", "0")
		h.wantAnswer("a repeat", h.run(yield), Refused, "")
		h.wantQueue("then", id("x:r2 2"), id("a:r1 1"))

		h.heldBy(id("x:r2"))
		h.run(NewOwner("k", id("x:r2")).Yield(10))
		h.heldBy(id("x:r2"))
		h.wantAnswer("a repeat", h.run(yield), Refused, "")
		h.wantQueue("does not enter who has the lock", id("a:r1 1"))
		post.want(t, "nobody is told")
	})
}

// A step that a full master refuses leaves the steps behind it in the same call as they are.
func TestStepBehindARefusedOne(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		post := h.subscribeClient("a")
		h.heldByX()
		h.waits("a:r1", 10)
		h.m.Fill(true)
		x := NewOwner("k", id("x:r0"))
		answers := runAll(t, h.conn, x.Raise(lease, 100), x.Release(6, 5))
		h.wantAnswer("the raise", answers[0], Failed, "")
		h.wantAnswer("the release", answers[1], Done, "")
		h.wantReaders("then", "a:r1 400ms")
		post.want(t, "to the reader", id("a:r1 1 6:shared k"))
	})
}
