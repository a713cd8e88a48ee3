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
