package node

import (
	"testing"
	"time"
)

func TestBusyLockIsWaitedFor(t *testing.T) {
	inHall(t, func(h *hall) {
		h.held()
		got := h.ask("a:r1", 1, 500)
		h.wantAnswer("ask", got, Refused, "x:r0")
		if got.Left != lease {
			t.Errorf("left: got %v, want %v", got.Left, lease)
		}
		h.wantQueue("after an ask", "a:r1 1")
		h.wantLock("after an ask", "x:r0", lease)
		if ttl := h.m.TTL("redlock_wait:{k}"); ttl != 10*time.Second {
			t.Errorf("queue expires in %v, want 10s", ttl)
		}
	})
}

// A place depends on when the waiting began, not on when the master was asked.
func TestQueueIsInTheOrderOfWaiting(t *testing.T) {
	inHall(t, func(h *hall) {
		h.held()
		h.ask("b:r1", 1, 20)
		h.ask("c:r1", 1, 30)
		h.ask("a:r1", 1, 10)
		h.wantQueue("after three asks", "a:r1 1", "b:r1 1", "c:r1 1")
	})
}

// A later ask keeps the place, and is the one that a pass names.
func TestLaterAskReplacesTheFirst(t *testing.T) {
	inHall(t, func(h *hall) {
		h.held()
		h.ask("a:r1", 1, 10)
		h.ask("b:r1", 1, 20)
		time.Sleep(6 * time.Second)
		h.ask("a:r1", 2, 10)
		h.wantQueue("after a second ask", "a:r1 2", "b:r1 1")
		if ttl := h.m.TTL("redlock_wait:{k}"); ttl != 10*time.Second {
			t.Errorf("queue expires in %v, want 10s from the last ask on", ttl)
		}
	})
}

// Two callers that began to wait in the same microsecond are two.
func TestEqualStampsAreTwoPlaces(t *testing.T) {
	inHall(t, func(h *hall) {
		h.held()
		h.ask("a:r1", 1, 10)
		h.ask("a:r11", 1, 10)
		h.ask("a:r1", 2, 10)
		h.wantQueue("after asks with one stamp", "a:r1 2", "a:r11 1")
	})
}

func TestTryIsNotWaitedFor(t *testing.T) {
	inHall(t, func(h *hall) {
		h.held()
		h.wantAnswer("try", h.run(Acquire("k", "a:r1", lease, 1, 1)), Refused, "x:r0")
		h.wantQueue("after a try")
	})
}

// A lease that ran out is told by nobody. Whoever asks next, the first in the queue is it.
func TestExpiredLockGoesToTheFirst(t *testing.T) {
	for _, tt := range []struct {
		name string
		next func(h *hall) Answer
		left []string
	}{
		{"a try", func(h *hall) Answer { return h.run(Acquire("k", "c:r1", lease, 1, 1)) }, []string{"b:r1 1"}},
		{"a later waiter", func(h *hall) Answer { return h.ask("b:r1", 2, 20) }, []string{"b:r1 2"}},
		{"a new waiter", func(h *hall) Answer { return h.ask("c:r1", 1, 30) }, []string{"b:r1 1", "c:r1 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inHall(t, func(h *hall) {
				post := h.listen("a")
				h.held()
				h.ask("a:r1", 3, 10)
				h.ask("b:r1", 1, 20)
				h.m.Del("k")
				got := tt.next(h)
				h.wantAnswer("answer", got, Refused, "a:r1")
				if got.Left != short {
					t.Errorf("left: got %v, want %v", got.Left, short)
				}
				h.wantLock("then", "a:r1", short)
				h.wantQueue("then", tt.left...)
				post.want(t, "to the first", "a:r1 3 2 k")
			})
		})
	}
}

// The first in the queue that asks needs no message: it reads the answer.
func TestExpiredLockIsGrantedToTheFirst(t *testing.T) {
	inHall(t, func(h *hall) {
		post := h.listen("a")
		h.held()
		h.ask("a:r1", 1, 10)
		h.ask("b:r1", 1, 20)
		h.m.Del("k")
		got := h.ask("a:r1", 2, 10)
		h.wantAnswer("ask of the first", got, Done, "")
		if got.Token != 1 {
			t.Errorf("token: got %d, want the one proposed, 1", got.Token)
		}
		h.wantLock("then", "a:r1", lease)
		h.wantQueue("then", "b:r1 1")
		post.want(t, "to the first")
	})
}

// Someone who began to wait earlier, and was not known here, comes first.
func TestEarlierWaiterOvertakes(t *testing.T) {
	inHall(t, func(h *hall) {
		h.listen("b")
		h.held()
		h.ask("b:r1", 1, 20)
		h.m.Del("k")
		h.wantAnswer("ask", h.ask("a:r1", 1, 10), Done, "")
		h.wantLock("then", "a:r1", lease)
		h.wantQueue("then", "b:r1 1")
	})
}

func TestReentryLeavesTheQueueAlone(t *testing.T) {
	inHall(t, func(h *hall) {
		h.held()
		h.ask("a:r1", 1, 10)
		h.wantAnswer("enter", h.run(Acquire("k", "x:r0", lease, 2, 1)), Done, "")
		if count := h.m.HGet("k", "x:r0"); count != "2" {
			t.Errorf("hold count: got %q, want 2", count)
		}
		h.wantAnswer("leave", h.run(Release("k", "x:r0", 1, 1, 0)), Done, "")
		h.wantLock("then", "x:r0", lease)
		h.wantQueue("then", "a:r1 1")
	})
}

// An ask that was under way while the lock was passed to its owner confirms it, for the
// full lease, and makes no second place.
func TestAskOfTheHolder(t *testing.T) {
	inHall(t, func(h *hall) {
		h.listen("a")
		h.held()
		h.ask("a:r1", 1, 10)
		h.run(Release("k", "x:r0", 0, 1, 0))
		h.wantLock("passed", "a:r1", short)
		h.wantAnswer("ask", h.ask("a:r1", 2, 10), Done, "")
		h.wantLock("confirmed", "a:r1", lease)
		h.wantQueue("confirmed")
	})
}

// A queue that nobody asks for any more is gone by itself.
func TestQueueExpires(t *testing.T) {
	inHall(t, func(h *hall) {
		h.held()
		h.ask("a:r1", 1, 10)
		time.Sleep(10 * time.Second)
		h.wantQueue("10 s after the last ask")
	})
}
