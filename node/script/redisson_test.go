package script

import (
	"testing"
	"time"
)

// Redisson's clients cannot enter the queue. One in seven holds leaves the key to them, if any wait,
// and has the first in the queue look again.
func TestRedissonsTurn(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		post, theirs := h.subscribeClient("a"), h.subscribe(freedChannel)
		h.heldByX()
		h.register(id("a:r1"), 1, 10)
		h.wantAnswer("release", h.release(id("x:r0"), 14), Done, "")
		h.wantLock("then", "", 0)
		h.wantQueue("then", id("a:r1 1"))
		theirs.want(t, "to Redisson", "0")
		post.want(t, "to the first", id("a:r1 0 0 k"))
		if ttl := h.m.TTL("redlock_turn:{k}"); ttl != 20*time.Millisecond {
			t.Errorf("their turn lasts %v, want 20ms", ttl)
		}

		got := h.register(id("a:r1"), 2, 10)
		h.wantAnswer("entry in their turn", got, Refused, "redisson")
		if got.Left != 20*time.Millisecond {
			t.Errorf("left: got %v, want 20ms", got.Left)
		}
		h.wantAnswer("try in their turn", h.run(NewOwner("k", id("b:r1")).Acquire(lease, 1)), Refused, "redisson")
		h.wantQueue("in their turn", id("a:r1 2"))

		time.Sleep(20 * time.Millisecond)
		h.wantAnswer("entry after their turn", h.register(id("a:r1"), 3, 10), Done, "")
		h.wantLock("after their turn", id("a:r1"), lease)
	})
}

// Six of seven hand off.
func TestRedissonsTurnIsOneInSeven(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.subscribeClient("a")
		h.subscribe(freedChannel)
		for token := int64(8); token < 14; token++ {
			h.m.FlushAll()
			h.heldByX()
			h.register(id("a:r1"), 1, 10)
			h.release(id("x:r0"), token)
			h.wantLock("then", id("a:r1"), short)
		}
	})
}

// Where none of them waits, or none of ours, there is no turn.
func TestNoTurn(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.subscribeClient("a")
		h.heldByX()
		h.register(id("a:r1"), 1, 10)
		h.release(id("x:r0"), 14)
		h.wantLock("none of theirs", id("a:r1"), short)
	})
	withScripts(t, func(h *scriptFixture) {
		theirs := h.subscribe(freedChannel)
		h.heldByX()
		h.release(id("x:r0"), 14)
		theirs.want(t, "to Redisson", "0")
		if h.m.TTL("redlock_turn:{k}") != 0 {
			t.Error("a turn, though none of ours waits")
		}
	})
}

// Whoever gives up in Redisson's turn does not end it.
func TestGivingUpInRedissonsTurn(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.subscribeClient("a")
		h.subscribe(freedChannel)
		h.heldByX()
		h.register(id("a:r1"), 1, 10)
		h.register(id("b:r1"), 1, 20)
		h.release(id("x:r0"), 14)
		h.run(NewOwner("k", id("b:r1")).Release(1, 20))
		h.wantLock("in their turn", "", 0)
	})
}

// What is no entry does not make a release fail, even first in the queue.
func TestTurnWithWhatIsNoEntry(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.subscribeClient("a")
		h.subscribe(freedChannel)
		h.heldByX()
		h.do("ZADD", "redlock_wait:{k}", 1, "")
		h.register(id("a:r1"), 1, 10)
		h.wantAnswer("release", h.release(id("x:r0"), 14), Done, "")
	})
}
