package script

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

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
