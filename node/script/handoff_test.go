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
