package script

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// FuzzHandOff: no message breaks the decoder, and what it lets pass is what queue.lua writes.
func FuzzHandOff(f *testing.F) {
	for _, message := range []string{"a:r1 1 2 k", "a:r1 1 2 k with spaces", "a:r1 0 0 k", "", " 1 2 k", "a:r1 1 2 ", "a:r1 01 2 k", "a:r1 +1 2 k", "a:r1 18446744073709551616 2 k", "a:r1 1 2:shared k", "a:r1 1 2:3 k"} {
		f.Add(message)
	}
	f.Fuzz(func(t *testing.T, message string) {
		p, ok := DecodeHandOff(message)
		if !ok {
			return
		}
		if p.Owner == "" || strings.Contains(p.Owner, " ") || p.Key == "" || p.Token < 0 {
			t.Errorf("DecodeHandOff(%q) = %+v", message, p)
		}
		token := fmt.Sprint(p.Token)
		switch p.Mode {
		case Shared:
			token += ":shared"
		case Permit:
			token += fmt.Sprintf(":%d", p.Slot)
		}
		again, ok := DecodeHandOff(fmt.Sprintf("%s %d %s %s", p.Owner, p.Round, token, p.Key))
		if !ok || again != p {
			t.Errorf("DecodeHandOff of what %q says = %+v, %v, want %+v", message, again, ok, p)
		}
	})
}

// release is what the holder does.
func (h *scriptFixture) release(owner string, token int64) Answer {
	return h.run(NewOwner("k", owner).Release(token, 0))
}

func TestReleaseHandsOff(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		post, shut := h.subscribeClient("a"), h.subscribe(freedChannel)
		h.heldByX()
		h.m.Set("redlock_fence:{k}", "41")
		h.m.Expire("redlock_fence:{k}", time.Minute)
		h.register(id("a:r1"), 7, 10)
		h.register(id("b:r1"), 1, 20)
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

// A hand-off has a token above those of all hand-offs and grants here, and above that of the hold
// that ends, which other masters may have granted; and it is the one that was proposed if that
// is so.
func TestHandOffRaisesTheToken(t *testing.T) {
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
			withScripts(t, func(h *scriptFixture) {
				post := h.subscribeClient("a")
				h.heldByX()
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

// Whoever cannot be notified, or would not count a hand-off that names its last round, is skipped.
func TestHandOffSkips(t *testing.T) {
	for _, tt := range []struct {
		name string
		head func(h *scriptFixture)
	}{
		{"a client without a subscription", func(h *scriptFixture) { h.register(id("gone:r1"), 1, 1) }},
		{"a frozen client", func(h *scriptFixture) {
			h.subscribeClient("frozen")
			h.register(id("frozen:r1"), 1, 1)
			time.Sleep(short)
		}},
		{"what is no entry", func(h *scriptFixture) { h.do("ZADD", "redlock_wait:{k}", 1, "what?") }},
		{"an owner without a client", func(h *scriptFixture) {
			h.do("ZADD", "redlock_wait:{k}", 1, "me")
			h.do("SET", "redlock_wait:{k}me", "1 400 1")
		}},
		{"several", func(h *scriptFixture) {
			h.register(id("gone:r1"), 1, 1)
			h.register(id("gone:r2"), 1, 2)
			h.do("ZADD", "redlock_wait:{k}", 3, "")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			withScripts(t, func(h *scriptFixture) {
				post := h.subscribeClient("a")
				h.heldByX()
				tt.head(h)
				h.register(id("a:r1"), 1, 10)
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

// An entry counts for as long as its hand-off would: up to the last moment.
func TestHandOffToALateEntry(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.subscribeClient("a")
		h.heldByX()
		h.register(id("a:r1"), 1, 10)
		time.Sleep(short - time.Millisecond)
		h.release(id("x:r0"), 1)
		h.wantLock("then", id("a:r1"), short)
	})
}

// If nobody is left the lock is free, and Redisson's clients are notified.
func TestReleaseWithoutWaiters(t *testing.T) {
	for _, tt := range []struct {
		name string
		wait func(h *scriptFixture)
	}{
		{"nobody waits", func(*scriptFixture) {}},
		{"the only one is gone", func(h *scriptFixture) { h.register(id("gone:r1"), 1, 10) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			withScripts(t, func(h *scriptFixture) {
				shut := h.subscribe(freedChannel)
				h.heldByX()
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
func TestGuardedMasterDoesNotHandOff(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		post, shut := h.subscribeClient("a"), h.subscribe(freedChannel)
		h.heldByX()
		h.register(id("a:r1"), 1, 10)
		h.wantAnswer("release", h.run(guarded(NewOwner("k", id("x:r0")).Release(1, 0))), Done, "")
		h.wantLock("then", "", 0)
		h.wantQueue("then", id("a:r1 1"))
		post.want(t, "to the first")
		shut.want(t, "to Redisson", "0")
	})
}

// Giving up is a release without a hold: it leaves the queue and frees nothing.
func TestGivingUp(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.heldByX()
		h.register(id("a:r1"), 4, 10)
		h.register(id("b:r1"), 1, 20)
		h.wantAnswer("give up", h.run(NewOwner("k", id("a:r1")).Release(1, 10)), Refused, "")
		h.wantQueue("then", id("b:r1 1"))
		h.wantLock("then", id("x:r0"), lease)
	})
}

// Whoever has the lock may be in its queue as well, if a renewal healed it: a release does not hand
// the lock to the owner that is leaving.
func TestReleaseLeavesTheQueue(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.subscribeClient("a")
		h.heldByX()
		h.register(id("a:r1"), 2, 10)
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
func TestGivingUpHandsAFreeLockOff(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.subscribeClient("b")
		h.heldByX()
		h.register(id("a:r1"), 1, 10)
		h.register(id("b:r1"), 1, 20)
		h.m.Del("k")
		h.run(NewOwner("k", id("a:r1")).Release(1, 10))
		h.wantLock("then", id("b:r1"), short)
	})
}

// A roll-back that comes twice, or late, frees nobody else's hold.
func TestReleaseAgain(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.subscribeClient("a")
		h.heldByX()
		h.register(id("a:r1"), 1, 10)
		h.register(id("a:r2"), 1, 20)
		h.release(id("x:r0"), 1)
		h.wantAnswer("second release", h.release(id("x:r0"), 1), Refused, "")
		h.wantLock("then", id("a:r1"), short)
		h.wantQueue("then", id("a:r2 1"))
	})
}

// A lock that was handed to an owner that has gone goes on to the next.
func TestHandedOffLockIsHandedOn(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.subscribeClient("a")
		post := h.subscribeClient("b")
		h.heldByX()
		h.register(id("a:r1"), 1, 10)
		h.register(id("b:r1"), 5, 20)
		h.release(id("x:r0"), 1)
		h.wantLock("first", id("a:r1"), short)
		h.wantAnswer("release", h.run(NewOwner("k", id("a:r1")).Release(1, 10)), Done, "")
		h.wantLock("second", id("b:r1"), short)
		post.want(t, "to the second", id("b:r1 5 3 k"))
	})
}

// A hold that was handed over is like any other: it is renewed to the full lease.
func TestHandedOffLockIsRenewed(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.subscribeClient("a")
		h.heldByX()
		h.register(id("a:r1"), 1, 10)
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

func TestForceHandsOff(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.subscribeClient("a")
		h.heldByX()
		h.register(id("a:r1"), 1, 10)
		h.wantAnswer("force", h.run(Force("k", 1)), Done, "")
		h.wantLock("then", id("a:r1"), short)
		h.wantAnswer("force", h.run(Force("k", 1)), Done, "")
		h.wantAnswer("force of a free lock", h.run(Force("k", 1)), Refused, "")
	})
}

// The next caller of the same client enters the queue before the lock is handed off, at its own
// place.
func TestReleaseTo(t *testing.T) {
	for _, tt := range []struct {
		name   string
		wait   func(h *scriptFixture)
		holder string
		queue  []string
	}{
		{"nobody else", func(*scriptFixture) {}, id("x:r9"), nil},
		{"somebody before", func(h *scriptFixture) { h.register(id("a:r1"), 1, 10) }, id("a:r1"), []string{id("x:r9 1")}},
		{"somebody behind", func(h *scriptFixture) { h.register(id("a:r1"), 1, 30) }, id("x:r9"), []string{id("a:r1 1")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			withScripts(t, func(h *scriptFixture) {
				h.subscribeClient("a")
				h.subscribeClient("x")
				h.heldByX()
				tt.wait(h)
				got := h.run(NewOwner("k", id("x:r0")).ReleaseTo(1, 0, NewOwner("k", id("x:r9")), QueueEntry{Round: 1, Since: 20, Lease: short, Proposal: 1}))
				h.wantAnswer("release", got, Done, "")
				h.wantLock("then", tt.holder, short)
				h.wantQueue("then", tt.queue...)
			})
		})
	}
}

// It enters the queue even if somebody else has the lock.
func TestReleaseToOfALockThatIsLost(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.heldBy(id("y:r0"))
		got := h.run(NewOwner("k", id("x:r0")).ReleaseTo(1, 0, NewOwner("k", id("x:r9")), QueueEntry{Round: 1, Since: 20, Lease: short, Proposal: 1}))
		h.wantAnswer("release", got, Refused, "")
		h.wantLock("then", id("y:r0"), lease)
		h.wantQueue("then", id("x:r9 1"))
	})
}

// Names are anything.
func TestHandOffOfAnyName(t *testing.T) {
	for _, name := range []string{"a b", "{tag}:7", "}{", "\x00\xff\r\n", "%s %d"} {
		t.Run(name, func(t *testing.T) {
			withScripts(t, func(h *scriptFixture) {
				post := h.subscribeClient("a")
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

// A release that is sent again does not enter the next caller if that has the lock by then: its own
// release would hand the lock to itself.
func TestReleaseToAgainSparesTheHolder(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.subscribeClient("x")
		h.heldByX()
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

// Nor does it enter it twice.
func TestReleaseToAgainEntersOnce(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.subscribeClient("a")
		h.heldByX()
		h.register(id("a:r1"), 1, 10)
		cmd := NewOwner("k", id("x:r0")).ReleaseTo(1, 0, NewOwner("k", id("x:r9")), QueueEntry{Round: 1, Since: 20, Lease: short, Proposal: 1})
		h.run(cmd)
		time.Sleep(time.Millisecond)
		h.run(cmd)
		h.wantQueue("after a repeat", id("x:r9 1"))
	})
}

// A lock of Redisson's may have no counter, or none any more: a hand-off by force still has a
// token above the one given.
func TestForceWithoutACounter(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.subscribeClient("a")
		h.heldBy(id("redisson:17"))
		h.register(id("a:r1"), 1, 10)
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

// TestHandOffToWhoPolls: nobody is told, and its next ask finds it; for as long as it wanted, and no longer.
func TestHandOffToWhoPolls(t *testing.T) {
	entry := QueueEntry{Round: 1, Since: 10, Lease: short, Proposal: 50, Polls: true}
	for name, tt := range map[string]struct{ holder, owner *Owner }{
		"lock":   {NewOwner("k", id("x:r0")), NewOwner("k", id("deaf:r1"))},
		"reader": {NewOwner("k", id("x:r0")), NewReader("k", id("deaf:r1"))},
		"permit": {NewPermit("k", id("x:r0"), 1, 0), NewPermit("k", id("deaf:r1"), 1, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			withScripts(t, func(h *scriptFixture) {
				want := func(what string, got Answer, want Outcome) {
					if got.Outcome != want {
						t.Errorf("%s: answered %+v, want %v", what, got, want)
					}
				}
				h.run(tt.holder.Acquire(lease, 1))
				want("ask", h.run(tt.owner.AcquireOrRegister(lease, entry)), Refused)
				h.run(tt.holder.Release(1, 0))
				other := NewOwner("k", id("y:r1"))
				if tt.owner.Mode == Permit {
					other = NewPermit("k", id("y:r1"), 1, 0)
				}
				want("another", h.run(other.Acquire(lease, 1)), Refused)
				time.Sleep(short - time.Millisecond)
				want("register", h.run(tt.owner.Register(QueueEntry{Round: 2, Since: 10, Lease: short, Proposal: 50, Polls: true})), Done)
				time.Sleep(time.Millisecond)
				want("another, after the short lease", h.run(other.Acquire(lease, 1)), Done)
			})
		})
	}
}
