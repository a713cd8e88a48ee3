package script

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestCounterThatIsNoToken: a counter beyond the last token is an error of its master, whoever meets it. What is
// proposed takes its place, so that the next step goes well.
func TestCounterThatIsNoToken(t *testing.T) {
	me, reader, permit := NewOwner("k", id("me:r1")), NewReader("k", id("me:r1")), NewPermit("k", id("me:r1"), 2, 0)
	entry := QueueEntry{Round: 2, Since: 10, Lease: short, Proposal: 50}
	for _, tt := range []struct {
		name   string
		before []*Command
		cmd    *Command
		last   bool // the last token is one too many already, since the next is granted
	}{
		{"acquire", nil, me.Acquire(lease, 50), true},
		{"acquire of the owner", []*Command{me.Acquire(lease, 9)}, me.Acquire(lease, 50), false},
		{"register of the owner", []*Command{me.Acquire(lease, 9)}, me.Register(entry), false},
		{"raise", []*Command{me.Acquire(lease, 9)}, me.Raise(lease, 50), false},
		{"reader", nil, reader.Acquire(lease, 50), false},
		{"reader beside another", []*Command{NewReader("k", id("x:r1")).Acquire(lease, 9)}, reader.AcquireOrRegister(lease, entry), false},
		{"raise of a reader", []*Command{reader.Acquire(lease, 9)}, reader.Raise(lease, 50), false},
		{"permit", nil, permit.Acquire(lease, 50), true},
		{"permit beside another", []*Command{NewPermit("k", id("x:r1"), 2, 1).Acquire(lease, 9)}, permit.Acquire(lease, 50), true},
		{"permit of the owner", []*Command{permit.Acquire(lease, 9)}, permit.AcquireOrRegister(lease, entry), false},
		{"raise of a permit", []*Command{permit.Acquire(lease, 9)}, permit.Raise(lease, 50), false},
	} {
		for _, counter := range []int64{MaxToken, MaxToken + 1, MaxToken + 2, math.MaxInt64} {
			if counter == MaxToken && !tt.last {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", tt.name, counter), func(t *testing.T) {
				withScripts(t, func(h *scriptFixture) {
					for _, cmd := range tt.before {
						h.run(cmd)
					}
					runAway(h, counter)
					if got := h.run(tt.cmd); got.Outcome != Failed || !strings.Contains(got.Err.Error(), "beyond 2^53") {
						t.Errorf("answered %+v, want an error", got)
					}
					if a, b, _ := counters(h); a != "50" && b != "50" {
						t.Errorf("the counter is %s, want 50", a+b)
					}
					if got := h.run(tt.cmd); got.Outcome == Failed {
						t.Errorf("then answered %+v, want no error", got)
					}
				})
			})
		}
	}
}

// TestHandOffOverACounterThatIsNoToken: it is as if there were none. So it is to a renewal.
func TestHandOffOverACounterThatIsNoToken(t *testing.T) {
	for _, counter := range []int64{MaxToken, MaxToken + 1, math.MaxInt64} {
		t.Run(fmt.Sprint(counter), func(t *testing.T) {
			withScripts(t, func(h *scriptFixture) {
				post := h.subscribeClient("a")
				entry := QueueEntry{Round: 1, Since: 10, Lease: short, Proposal: 50}
				x, p := NewOwner("k", id("x:r1")), NewPermit("k", id("x:r2"), 1, 0)
				h.run(x.Acquire(lease, 9))
				h.run(p.Acquire(lease, 9))
				h.run(NewOwner("k", id("a:r1")).AcquireOrRegister(lease, entry))
				h.run(NewPermit("k", id("a:r2"), 1, 0).AcquireOrRegister(lease, entry))
				runAway(h, counter)
				h.run(x.Release(9, 0))
				h.run(p.Release(9, 0))
				post.want(t, "tokens", id("a:r1 1 50 k"), id("a:r2 1 50:0 k"))
				if lock, slot, lasts := counters(h); lock != "50" || slot != "50" || !lasts {
					t.Errorf("the counters are %s and %s, want 50", lock, slot)
				}
				if counter == MaxToken {
					return // a renewal has no next token
				}
				runAway(h, counter)
				for _, o := range []*Owner{NewOwner("k", id("a:r1")), NewPermit("k", id("a:r2"), 1, 0)} {
					h.run(Renew(lease, []Renewal{{Owner: o, Count: 1, Token: 50}}))
				}
				if lock, slot, lasts := counters(h); lock != "50" || slot != "50" || !lasts {
					t.Errorf("after a renewal the counters are %s and %s, want 50", lock, slot)
				}
			})
		})
	}
}

// runAway sets the counters of the lock and of the first slot.
func runAway(h *scriptFixture, counter int64) {
	h.do("SET", "redlock_fence:{k}", counter)
	h.do("HSET", "redlock_slotfence:{k}", 0, counter)
}

// counters returns the counters of the lock and of the first slot, and whether the former ends some time.
func counters(h *scriptFixture) (lock, slot string, lasts bool) {
	return h.m.Get("redlock_fence:{k}"), h.m.HGet("redlock_slotfence:{k}", "0"), h.m.TTL("redlock_fence:{k}") > 0
}

// TestNoDecoderTakesWhatIsNoToken: whatever a master says.
func TestNoDecoderTakesWhatIsNoToken(t *testing.T) {
	me, permit := NewOwner("k", id("me:r1")), NewPermit("k", id("me:r1"), 2, 0)
	for _, token := range []int64{MaxToken, MaxToken + 1, math.MaxInt64} {
		text := []byte(decimal(token))
		for name, tt := range map[string]struct {
			cmd   *Command
			reply any
		}{
			"acquire":         {me.Acquire(lease, 5), token},
			"proposal":        {me.Acquire(lease, token), int64(0)},
			"reader":          {NewReader("k", id("me:r1")).Acquire(lease, 5), token},
			"raise":           {me.Raise(lease, 5), token},
			"inspect":         {Inspect("k"), []any{int64(-2), text, []byte{}, []byte("0"), []any{}, []any{}}},
			"permit":          {permit.Acquire(lease, 5), []any{int64(0), token}},
			"inspect permits": {InspectPermits("k"), []any{text, []any{}, []any{}}},
		} {
			got := tt.cmd.Decode(tt.reply)
			if failed := got.Outcome == Failed; failed != (token > MaxToken) || !failed && got.Token != token {
				t.Errorf("%s: %d is decoded as %+v", name, token, got)
			}
		}
		if _, ok := DecodeHandOff(fmt.Sprintf(id("me:r1 1 %d k"), token)); ok != (token <= MaxToken) {
			t.Errorf("a hand-off with %d is taken: %v", token, ok)
		}
	}
}
