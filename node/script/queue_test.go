package script

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestWhatIsNoEntry: what stands in a queue and is no entry of a client's does not make a release fail, also where
// Redisson's turn begins with it.
func TestWhatIsNoEntry(t *testing.T) {
	for _, tt := range []struct{ member, ask string }{{"what?", ""}, {"", ""}, {"me", "1 400 1"}} {
		for token, holder := range map[int64]string{5: id("a:r1"), 7: ""} {
			withScripts(t, func(h *scriptFixture) {
				h.subscribeClient("a")
				h.subscribe("redisson_lock__channel:{k}")
				h.heldByX()
				h.do("ZADD", "redlock_wait:{k}", 1, tt.member)
				if tt.ask != "" {
					h.do("SET", "redlock_wait:{k}"+tt.member, tt.ask)
				}
				h.run(NewOwner("k", id("a:r1")).AcquireOrRegister(lease, asked(10)))
				if got := h.run(NewOwner("k", id("x:r0")).Release(token, 0)); got.Outcome != Done || h.m.Holder("k") != holder {
					t.Errorf("release with token %d before %q: answered %+v, and %q has the lock, want %q", token, tt.member, got, h.m.Holder("k"), holder)
				}
			})
		}
	}
}

// TestCountersOutliveLeases: whatever sets a fencing counter, it is kept for an hour longer than the lease.
func TestCountersOutliveLeases(t *testing.T) {
	const lease = 30 * time.Hour
	ask := QueueEntry{Round: 1, Since: 10, Lease: lease, Proposal: 50}
	w, r, p := NewOwner("k", id("x:r0")), NewReader("k", id("x:r0")), NewPermit("k", id("x:r0"), 2, 0)
	waiter := NewOwner("k", id("a:r1"))
	renew := func(o *Owner) *Command { return Renew(lease, []Renewal{{Owner: o, Count: 1, Token: 5}}) }
	for name, cmds := range map[string][]*Command{
		"acquire":                            {w.Acquire(lease, 5)},
		"acquire above a counter":            {w.Acquire(time.Minute, 5), w.Release(5, 0), w.Acquire(lease, 3)},
		"acquire again, the counter is lost": {w.Acquire(lease, 5), nil, w.Acquire(lease, 5)},
		"heal":                               {renew(w)},
		"renew":                              {w.Acquire(time.Minute, 5), renew(w)},
		"raise":                              {w.Acquire(time.Minute, 5), w.Raise(lease, 9)},
		"hand off":                           {w.Acquire(time.Minute, 5), waiter.AcquireOrRegister(lease, ask), w.Release(5, 0)},
		"read":                               {r.Acquire(lease, 5)},
		"read beside another":                {NewReader("k", id("x:r9")).Acquire(time.Minute, 5), r.Acquire(lease, 5)},
		"heal a reader":                      {renew(r)},
		"renew a reader":                     {r.Acquire(time.Minute, 5), renew(r)},
		"permit":                             {p.Acquire(lease, 5)},
		"permit again, the counter is lost":  {p.Acquire(lease, 5), nil, p.Acquire(lease, 5)},
		"heal a permit":                      {renew(p)},
		"renew a permit":                     {p.Acquire(time.Minute, 5), renew(p)},
		"raise of a permit":                  {p.Acquire(time.Minute, 5), p.Raise(lease, 9)},
		"hand off of a permit": {
			p.Acquire(time.Minute, 5), NewPermit("k", id("x:r9"), 2, 0).Acquire(time.Minute, 5),
			NewPermit("k", id("a:r1"), 2, 0).AcquireOrRegister(lease, ask), p.Release(5, 0),
		},
	} {
		t.Run(name, func(t *testing.T) {
			withScripts(t, func(h *scriptFixture) {
				h.subscribeClient("a")
				for _, cmd := range cmds {
					if cmd == nil {
						h.m.Del("redlock_fence:{k}")
						h.m.Del("redlock_slotfence:{k}")
					} else {
						h.run(cmd)
					}
				}
				if left := max(h.m.TTL("redlock_fence:{k}"), h.m.TTL("redlock_slotfence:{k}")); left < lease+time.Hour || left > lease+2*time.Hour {
					t.Errorf("the counter is kept for %v, want an hour more than %v", left, lease)
				}
			})
		})
	}
}

// TestSlotsLastAsLongAsTheLongestLease: who takes another slot for less time takes nothing from those who have one.
func TestSlotsLastAsLongAsTheLongestLease(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.run(NewPermit("k", id("a:r1"), 2, 0).Acquire(lease, 50))
		h.run(NewPermit("k", id("b:r1"), 2, 0).Acquire(short, 50))
		time.Sleep(4 * short)
		if got := h.run(InspectPermits("k")).Permits.Slots; len(got) != 1 || got[0].Left != lease-4*short {
			t.Errorf("after the shorter lease the slots are %+v, want one for %v", got, lease-4*short)
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
					if got := h.run(cmd); got.Outcome != Refused {
						t.Errorf("answered %+v, want Refused", got)
					}
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

// TestStrayHandOff: what a message says is enough to give back what was handed off.
func TestStrayHandOff(t *testing.T) {
	permit := func(owner string) *Owner { return NewPermit("k", id(owner), 2, 1) }
	writer := func(owner string) *Owner { return NewOwner("k", id(owner)) }
	for want, tt := range map[HandOff]struct {
		holds, waits func(owner string) *Owner
		key          string
	}{
		{Owner: id("a:r1"), Round: 1, Token: 51, Key: "k"}:                        {writer, writer, "k"},
		{Owner: id("a:r1"), Round: 1, Token: 50, Key: "k", Mode: Shared}:          {writer, reader, "k"},
		{Owner: id("a:r1"), Round: 1, Token: 51, Key: "k", Mode: Permit, Slot: 1}: {permit, permit, "redlock_slots:{k}"},
	} {
		withScripts(t, func(h *scriptFixture) {
			post := h.subscribeClient("a")
			h.run(tt.holds("x:r0").Acquire(lease, 50))
			if want.Mode == Permit {
				h.run(permit("x:r1").Acquire(lease, 50))
			}
			h.run(tt.waits("a:r1").AcquireOrRegister(lease, asked(10)))
			h.run(tt.holds("x:r0").Release(50, 0))
			message := strings.Join(post.take(), ", ")
			got, ok := DecodeHandOff(message)
			if !ok || got != want {
				t.Errorf("DecodeHandOff(%q) = %+v, %v, want %+v", message, got, ok, want)
			}
			if a := h.run(got.Release()); a.Outcome != Done {
				t.Errorf("release of %+v: answered %+v, want Done", got, a)
			}
		})
	}
}

// TestWantedOrHandedOff: what a client that keeps locks is sent is a wish or a hand-off, and never taken for the other,
// whatever the name is.
func TestWantedOrHandedOff(t *testing.T) {
	for _, name := range []string{"k", "help wanted here", " wanted ", "wanted", "1 2 k"} {
		withScripts(t, func(h *scriptFixture) {
			post := h.subscribeClient("a")
			mine, other := NewOwner(name, id("a:k1")), NewOwner(name, id("x:r1"))
			h.run(mine.Acquire(lease, 50))
			h.run(other.Acquire(lease, 50))
			wish := strings.Join(post.take(), ", ")
			owner, key, ok := DecodeWanted(wish)
			if _, handedOff := DecodeHandOff(wish); !ok || handedOff || owner != mine.ID || key != name {
				t.Errorf("%q is read as a wish: %v, for %q of %q; as a hand-off: %v", wish, ok, key, owner, handedOff)
			}
			h.run(mine.Release(50, 0))
			h.run(other.Acquire(lease, 50))
			h.run(mine.AcquireOrRegister(lease, asked(10)))
			h.run(other.Release(50, 0))
			message := strings.Join(post.take(), ", ")
			got, ok := DecodeHandOff(message)
			if _, _, wanted := DecodeWanted(message); !ok || wanted || got.Owner != mine.ID || got.Key != name {
				t.Errorf("%q is read as a hand-off: %v, %+v; as a wish: %v", message, ok, got, wanted)
			}
		})
	}
}

// FuzzHandOff: no message breaks the decoder, and what it lets pass is what queue.lua writes, and no wish.
func FuzzHandOff(f *testing.F) {
	for _, message := range []string{"a:r1 1 2 k", "a:r1 1 2 k with spaces", "a:r1 0 0 k", "", " 1 2 k", "a:r1 1 2 ", "a:r1 01 2 k", "a:r1 +1 2 k", "a:r1 18446744073709551616 2 k", "a:r1 1 2:shared k", "a:r1 1 2:3 k"} {
		f.Add(message)
	}
	f.Fuzz(func(t *testing.T, message string) {
		p, ok := DecodeHandOff(message)
		if !ok {
			return
		}
		if _, _, wanted := DecodeWanted(message); wanted {
			t.Errorf("%q is a hand-off and a wish", message)
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
