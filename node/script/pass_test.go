package script

import (
	"fmt"
	"testing"
	"time"
)

// release is what the holder does.
func (h *hall) release(owner string, token int64) Answer {
	return h.run(NewOwner("k", owner).Release(token, 0))
}

func TestReleasePasses(t *testing.T) {
	inHall(t, func(h *hall) {
		post, shut := h.listen("a"), h.subscribe(shut)
		h.held()
		h.m.Set("redlock_fence:{k}", "41")
		h.m.Expire("redlock_fence:{k}", time.Minute)
		h.ask(id("a:r1"), 7, 10)
		h.ask(id("b:r1"), 1, 20)
		h.wantAnswer("release", h.release(id("x:r0"), 41), Done, "")
		h.wantLock("then", id("a:r1"), short)
		if count := h.m.HGet("k", id("a:r1")); count != "1" {
			t.Errorf("hold count: got %q, want 1", count)
		}
		h.wantQueue("then", id("b:r1 1"))
		post.want(t, "to the first", id("a:r1 7 42 k"))
		shut.want(t, "to Redisson")
		if ttl := h.m.TTL("redlock_fence:{k}"); ttl != short+time.Hour {
			t.Errorf("fencing counter expires in %v, want %v", ttl, short+time.Hour)
		}
	})
}

// A pass has a token above those of all passes and grants here, and above that of the
// hold that ends, which other masters may have granted; and it is the one that was asked for
// if that is so.
func TestPassRaisesTheToken(t *testing.T) {
	for _, tt := range []struct {
		counter               string
		token, proposal, want int64
	}{
		{"", 41, 1, 42},
		{"5", 41, 1, 42},
		{"40", 41, 1, 42},
		{"41", 41, 1, 42},
		{"42", 41, 1, 43},
		{"500", 41, 1, 501},
		{"", 41, 42, 42},
		{"", 41, 60, 60},
		{"59", 41, 60, 60},
		{"60", 41, 60, 61},
		{"", big - 2, 1, big - 1},
		{"", 1, big, big},
		{decimal(big - 1), 1, 1, big},
	} {
		t.Run(fmt.Sprintf("counter %s token %d proposal %d", tt.counter, tt.token, tt.proposal), func(t *testing.T) {
			inHall(t, func(h *hall) {
				post := h.listen("a")
				h.held()
				if tt.counter != "" {
					h.m.Set("redlock_fence:{k}", tt.counter)
					h.m.Expire("redlock_fence:{k}", time.Minute)
				}
				h.run(NewOwner("k", id("a:r1")).AcquireOrRegister(lease, QueueEntry{Round: 1, Since: 10, Lease: short, Proposal: tt.proposal}))
				h.release(id("x:r0"), tt.token)
				post.want(t, "token", fmt.Sprintf(id("a:r1 1 %d k"), tt.want))
				if got := h.m.Get("redlock_fence:{k}"); got != decimal(tt.want) {
					t.Errorf("fencing counter: got %s, want %d", got, tt.want)
				}
				if h.m.TTL("redlock_fence:{k}") == 0 {
					t.Error("the fencing counter does not expire")
				}
			})
		})
	}
}

// Whoever can not be told, or would not count a pass that names its last ask, is skipped.
func TestPassSkips(t *testing.T) {
	for _, tt := range []struct {
		name string
		head func(h *hall)
	}{
		{"a client without a subscription", func(h *hall) { h.ask(id("gone:r1"), 1, 1) }},
		{"a frozen client", func(h *hall) {
			h.listen("frozen")
			h.ask(id("frozen:r1"), 1, 1)
			time.Sleep(short)
		}},
		{"what is no ask", func(h *hall) { h.do("ZADD", "redlock_wait:{k}", 1, "what?") }},
		{"an owner without a client", func(h *hall) { h.do("ZADD", "redlock_wait:{k}", 1, "me 1 400 1 99999999999999") }},
		{"several", func(h *hall) {
			h.ask(id("gone:r1"), 1, 1)
			h.ask(id("gone:r2"), 1, 2)
			h.do("ZADD", "redlock_wait:{k}", 3, "")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inHall(t, func(h *hall) {
				post := h.listen("a")
				h.held()
				tt.head(h)
				h.ask(id("a:r1"), 1, 10)
				h.release(id("x:r0"), 1)
				h.wantLock("then", id("a:r1"), short)
				h.wantQueue("then")
				if got := len(post.take()); got != 1 {
					t.Errorf("%d messages, want 1", got)
				}
			})
		})
	}
}

// An ask counts for as long as its pass would: one moment less, and it is not too old.
func TestPassToALateAsk(t *testing.T) {
	inHall(t, func(h *hall) {
		h.listen("a")
		h.held()
		h.ask(id("a:r1"), 1, 10)
		time.Sleep(short - time.Millisecond)
		h.release(id("x:r0"), 1)
		h.wantLock("then", id("a:r1"), short)
	})
}

// Where nobody is left the lock is free, and Redisson's clients are told.
func TestReleaseWithoutWaiters(t *testing.T) {
	for _, tt := range []struct {
		name string
		wait func(h *hall)
	}{
		{"nobody waits", func(*hall) {}},
		{"the only one is gone", func(h *hall) { h.ask(id("gone:r1"), 1, 10) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inHall(t, func(h *hall) {
				shut := h.subscribe(shut)
				h.held()
				tt.wait(h)
				h.wantAnswer("release", h.release(id("x:r0"), 1), Done, "")
				h.wantLock("then", "", 0)
				h.wantQueue("then")
				shut.want(t, "to Redisson", "0")
			})
		})
	}
}

// A guarded master may have forgotten who has the lock elsewhere: it only frees what it has.
func TestGuardedMasterDoesNotPass(t *testing.T) {
	inHall(t, func(h *hall) {
		post, shut := h.listen("a"), h.subscribe(shut)
		h.held()
		h.ask(id("a:r1"), 1, 10)
		h.wantAnswer("release", h.run(guarded(NewOwner("k", id("x:r0")).Release(1, 0))), Done, "")
		h.wantLock("then", "", 0)
		h.wantQueue("then", id("a:r1 1"))
		post.want(t, "to the first")
		shut.want(t, "to Redisson", "0")
	})
}

// Giving up is a release without a hold: it leaves the queue and frees nothing.
func TestGivingUp(t *testing.T) {
	inHall(t, func(h *hall) {
		h.held()
		h.ask(id("a:r1"), 4, 10)
		h.ask(id("b:r1"), 1, 20)
		h.wantAnswer("give up", h.run(NewOwner("k", id("a:r1")).Release(1, 10)), Refused, "")
		h.wantQueue("then", id("b:r1 1"))
		h.wantLock("then", id("x:r0"), lease)
	})
}

// Whoever has the lock may be in its queue as well, where a renewal healed it: a release does not
// pass the lock to the owner that is leaving.
func TestReleaseLeavesTheQueue(t *testing.T) {
	inHall(t, func(h *hall) {
		h.listen("a")
		h.held()
		h.ask(id("a:r1"), 2, 10)
		h.m.Del("k")
		h.m.HSet("k", id("a:r1"), "1")
		h.wantAnswer("release", h.run(NewOwner("k", id("a:r1")).Release(1, 10)), Done, "")
		h.wantQueue("then")
		if holder := h.m.Holder("k"); holder != "" {
			t.Errorf("the lock was passed to %s, want it free", holder)
		}
	})
}

// Whoever gives up a lock that has expired meanwhile does not leave it to chance.
func TestGivingUpPassesAFreeLock(t *testing.T) {
	inHall(t, func(h *hall) {
		h.listen("b")
		h.held()
		h.ask(id("a:r1"), 1, 10)
		h.ask(id("b:r1"), 1, 20)
		h.m.Del("k")
		h.run(NewOwner("k", id("a:r1")).Release(1, 10))
		h.wantLock("then", id("b:r1"), short)
	})
}

// A roll-back that comes twice, or late, frees nobody else's hold.
func TestReleaseAgain(t *testing.T) {
	inHall(t, func(h *hall) {
		h.listen("a")
		h.held()
		h.ask(id("a:r1"), 1, 10)
		h.ask(id("a:r2"), 1, 20)
		h.release(id("x:r0"), 1)
		h.wantAnswer("second release", h.release(id("x:r0"), 1), Refused, "")
		h.wantLock("then", id("a:r1"), short)
		h.wantQueue("then", id("a:r2 1"))
	})
}

// A lock that was passed to an owner that has gone goes on to the next.
func TestPassedLockIsPassedOn(t *testing.T) {
	inHall(t, func(h *hall) {
		h.listen("a")
		post := h.listen("b")
		h.held()
		h.ask(id("a:r1"), 1, 10)
		h.ask(id("b:r1"), 5, 20)
		h.release(id("x:r0"), 1)
		h.wantLock("first", id("a:r1"), short)
		h.wantAnswer("release", h.run(NewOwner("k", id("a:r1")).Release(1, 10)), Done, "")
		h.wantLock("second", id("b:r1"), short)
		post.want(t, "to the second", id("b:r1 5 3 k"))
	})
}

// A passed hold is one like any other: it is renewed to the full lease.
func TestPassedLockIsRenewed(t *testing.T) {
	inHall(t, func(h *hall) {
		h.listen("a")
		h.held()
		h.ask(id("a:r1"), 1, 10)
		h.release(id("x:r0"), 41)
		time.Sleep(20 * time.Millisecond)
		got := h.run(Renew(lease, []Renewal{{Owner: NewOwner("k", id("a:r1")), Count: 1, Token: 50}}))
		if got.Outcome != Done || got.Renewed[0] != Extended {
			t.Errorf("renew: got %+v, want Extended", got)
		}
		h.wantLock("renewed", id("a:r1"), lease)
		if got := h.m.Get("redlock_fence:{k}"); got != "50" {
			t.Errorf("fencing counter: got %s, want the larger of the other masters, 50", got)
		}
	})
}

func TestForcePasses(t *testing.T) {
	inHall(t, func(h *hall) {
		h.listen("a")
		h.held()
		h.ask(id("a:r1"), 1, 10)
		h.wantAnswer("force", h.run(Force("k", 1)), Done, "")
		h.wantLock("then", id("a:r1"), short)
		h.wantAnswer("force", h.run(Force("k", 1)), Done, "")
		h.wantAnswer("force of a free lock", h.run(Force("k", 1)), Refused, "")
	})
}

// The next caller of the same client stands in the queue before the lock is passed on, at
// the place that is its own.
func TestReleaseTo(t *testing.T) {
	for _, tt := range []struct {
		name   string
		wait   func(h *hall)
		holder string
		queue  []string
	}{
		{"nobody else", func(*hall) {}, id("x:r9"), nil},
		{"somebody before", func(h *hall) { h.ask(id("a:r1"), 1, 10) }, id("a:r1"), []string{id("x:r9 1")}},
		{"somebody behind", func(h *hall) { h.ask(id("a:r1"), 1, 30) }, id("x:r9"), []string{id("a:r1 1")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inHall(t, func(h *hall) {
				h.listen("a")
				h.listen("x")
				h.held()
				tt.wait(h)
				got := h.run(NewOwner("k", id("x:r0")).ReleaseTo(1, 0, NewOwner("k", id("x:r9")), QueueEntry{Round: 1, Since: 20, Lease: short, Proposal: 1}))
				h.wantAnswer("release", got, Done, "")
				h.wantLock("then", tt.holder, short)
				h.wantQueue("then", tt.queue...)
			})
		})
	}
}

// It enters also where somebody else has the lock.
func TestReleaseToOfALockThatIsLost(t *testing.T) {
	inHall(t, func(h *hall) {
		h.holder(id("y:r0"))
		got := h.run(NewOwner("k", id("x:r0")).ReleaseTo(1, 0, NewOwner("k", id("x:r9")), QueueEntry{Round: 1, Since: 20, Lease: short, Proposal: 1}))
		h.wantAnswer("release", got, Refused, "")
		h.wantLock("then", id("y:r0"), lease)
		h.wantQueue("then", id("x:r9 1"))
	})
}

// Names are anything.
func TestPassOfAnyName(t *testing.T) {
	for _, name := range []string{"a b", "{tag}:7", "}{", "\x00\xff\r\n", "%s %d"} {
		t.Run(name, func(t *testing.T) {
			inHall(t, func(h *hall) {
				post := h.listen("a")
				h.run(NewOwner(name, id("x:r0")).Acquire(lease, 7))
				h.run(NewOwner(name, id("a:r1")).AcquireOrRegister(lease, QueueEntry{Round: 2, Since: 10, Lease: short, Proposal: 1}))
				h.run(NewOwner(name, id("x:r0")).Release(7, 0))
				mail := post.take()
				if len(mail) != 1 {
					t.Fatalf("%d messages, want 1", len(mail))
				}
				p, ok := DecodeHandOff(mail[0])
				if want := (HandOff{Owner: id("a:r1"), Round: 2, Token: 8, Key: name}); p != want || !ok {
					t.Errorf("DecodeHandOff(%q) = %+v, %v, want %+v", mail[0], p, ok, want)
				}
			})
		})
	}
}

// A release that is owed does not enter the next caller again who has the lock by then: his own
// release would pass it to himself.
func TestReleaseToAgainSparesTheHolder(t *testing.T) {
	inHall(t, func(h *hall) {
		h.listen("x")
		h.held()
		cmd := NewOwner("k", id("x:r0")).ReleaseTo(1, 0, NewOwner("k", id("x:r9")), QueueEntry{Round: 1, Since: 20, Lease: short, Proposal: 1})
		h.run(cmd)
		h.wantLock("then", id("x:r9"), short)
		time.Sleep(time.Millisecond)
		h.run(cmd)
		h.wantQueue("after a repeat")
		h.release(id("x:r9"), 3)
		h.wantLock("released", "", 0)
	})
}

// Nor does it enter him twice.
func TestReleaseToAgainEntersOnce(t *testing.T) {
	inHall(t, func(h *hall) {
		h.listen("a")
		h.held()
		h.ask(id("a:r1"), 1, 10)
		cmd := NewOwner("k", id("x:r0")).ReleaseTo(1, 0, NewOwner("k", id("x:r9")), QueueEntry{Round: 1, Since: 20, Lease: short, Proposal: 1})
		h.run(cmd)
		time.Sleep(time.Millisecond)
		h.run(cmd)
		h.wantQueue("after a repeat", id("x:r9 1"))
	})
}

// A lock of Redisson's may have no counter, or none any more: a forced pass has a token above
// the one given all the same.
func TestForceWithoutACounter(t *testing.T) {
	inHall(t, func(h *hall) {
		h.listen("a")
		h.holder(id("redisson:17"))
		h.ask(id("a:r1"), 1, 10)
		h.run(Force("k", 500))
		h.wantLock("then", id("a:r1"), short)
		if h.m.Get("redlock_fence:{k}") != "501" {
			t.Errorf("fencing counter: got %s, want 501", h.m.Get("redlock_fence:{k}"))
		}
		if h.m.TTL("redlock_fence:{k}") == 0 {
			t.Errorf("fencing counter %s does not expire", h.m.Get("redlock_fence:{k}"))
		}
	})
}
