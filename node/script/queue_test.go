package script

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/redlock/internal/check"
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
	w, r := NewOwner("k", id("x:r0")), NewReader("k", id("x:r0"))
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
	} {
		t.Run(name, func(t *testing.T) {
			withScripts(t, func(h *scriptFixture) {
				h.subscribeClient("a")
				for _, cmd := range cmds {
					if cmd == nil {
						h.m.Del("redlock_fence:{k}")
					} else {
						h.run(cmd)
					}
				}
				check.Between(t, h.m.TTL("redlock_fence:{k}"), lease+time.Hour, lease+2*time.Hour, "the counter is kept for")
			})
		})
	}
}

// Who gives up leaves the queue of a master without memory, too, and whoever comes next for its client takes
// its place there.
func TestGivingUpAtAFullMaster(t *testing.T) {
	writer := func(owner string) *Owner { return NewOwner("k", id(owner)) }
	for name, waits := range map[string]func(owner string) *Owner{"writer": writer, "reader": reader} {
		o, next, entry := waits("a:r1"), waits("a:r2"), asked(10)
		for way, cmd := range map[string]*Command{
			"release":    o.Release(50, 10),
			"yield":      o.Yield(10),
			"release to": o.Release(50, 10).Entering(next, entry),
			"yield to":   o.Yield(10).Entering(next, entry),
		} {
			t.Run(name+", "+way, func(t *testing.T) {
				withScripts(t, func(h *scriptFixture) {
					h.run(writer("x:r0").Acquire(lease, 5))
					h.run(o.AcquireOrRegister(lease, entry))
					h.m.Fill(true)
					check.Equal(t, h.run(cmd).Outcome, Refused, "answered")
					h.m.Fill(false)
					var want []string
					if cmd.next != "" {
						want = []string{cmd.next}
					}
					got := slices.Collect(maps.Keys(h.m.ZSet("redlock_wait:{k}")))
					check.That(t, slices.Equal(got, want), "%q wait, want %q", got, want)
				})
			})
		}
	}
}

// TestStrayHandOff: what a message says is enough to give back what was handed off.
func TestStrayHandOff(t *testing.T) {
	slot := SlotKey("k", 1)
	for want, waits := range map[HandOff]*Owner{
		{Owner: id("a:r1"), Round: 1, Token: 51, Key: "k"}:  NewOwner("k", id("a:r1")),
		{Owner: id("a:r1"), Round: 1, Token: 50, Key: "k"}:  NewReader("k", id("a:r1")),
		{Owner: id("a:r1"), Round: 1, Token: 51, Key: slot}: NewOwner(slot, id("a:r1")),
	} {
		withScripts(t, func(h *scriptFixture) {
			post := h.subscribeClient("a")
			holder := NewOwner(want.Key, id("x:r0"))
			h.run(holder.Acquire(lease, 50))
			h.run(waits.AcquireOrRegister(lease, asked(10)))
			h.run(holder.Release(50, 0))
			message := strings.Join(post.take(), ", ")
			got, ok := Prefix("").DecodeHandOff(message)
			check.That(t, ok && got == want, "DecodeHandOff(%q) = %+v, %v, want %+v", message, got, ok, want)
			check.Equal(t, h.run(ReleaseOfAny(got.Key, got.Owner)).Outcome, Done, "release of %+v", got)
		})
	}
}

// TestSlotFreed: where nobody waits for a slot that is given back, those who wait for another hear which it is.
// It is left to none of Redisson's clients, whatever the token.
func TestSlotFreed(t *testing.T) {
	slot := SlotKey("a{b}", 7)
	holder := func(n int) *Owner { return NewOwner(slot, id(fmt.Sprintf("x:r%d", n))) }
	for name, tt := range map[string]struct {
		free  func(h *scriptFixture)
		hints []string
	}{
		"release":         {func(h *scriptFixture) { h.run(holder(0).Release(49, 0)) }, []string{"7"}},
		"of who was last": {func(h *scriptFixture) { h.run(holder(0).Release(49, 10)) }, []string{"7"}},
		"force":           {func(h *scriptFixture) { h.run(Force(slot, 49)) }, []string{"7"}},
		"to a waiter": {func(h *scriptFixture) {
			h.run(holder(1).AcquireOrRegister(lease, asked(10)))
			h.run(holder(0).Release(49, 0))
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			withScripts(t, func(h *scriptFixture) {
				h.subscribeClient("x")
				post := h.subscribe(FreedChannel(Slots("a{b}")))
				h.run(holder(0).Acquire(lease, 49))
				tt.free(h)
				check.Equal(t, strings.Join(post.take(), " "), strings.Join(tt.hints, " "), "published")
				check.Equal(t, h.m.Holder(slot) != "", tt.hints == nil, "the slot is held")
			})
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
			want := HandOff{Owner: mine.ID, Wanted: true, Key: name}
			if got, ok := Prefix("").DecodeHandOff(wish); !ok || got != want {
				t.Errorf("%q is read as %+v (%v), want %+v", wish, got, ok, want)
			}
			h.run(mine.Release(50, 0))
			h.run(other.Acquire(lease, 50))
			h.run(mine.AcquireOrRegister(lease, asked(10)))
			h.run(other.Release(50, 0))
			message := strings.Join(post.take(), ", ")
			want = HandOff{Owner: mine.ID, Round: 1, Token: 52, Key: name}
			if got, ok := Prefix("").DecodeHandOff(message); !ok || got != want {
				t.Errorf("%q is read as %+v (%v), want %+v", message, got, ok, want)
			}
		})
	}
}

// FuzzHandOff: no message breaks the decoder, and what it lets pass is what queue.lua writes.
func FuzzHandOff(f *testing.F) {
	for _, message := range []string{"a:r1 1 2 k", "a:r1 1 2 k with spaces", "a:r1 0 0 k", "", " 1 2 k", "a:r1 1 2 ", "a:r1 01 2 k", "a:r1 +1 2 k", "a:r1 18446744073709551616 2 k", "a:r1 1 2:shared k", "a:r1 1 2:3 k", id("a:k1 wanted k")} {
		f.Add(message)
	}
	f.Fuzz(func(t *testing.T, message string) {
		p, ok := Prefix("").DecodeHandOff(message)
		if !ok {
			return
		}
		check.That(t, p.Owner != "" && !strings.Contains(p.Owner, " ") && p.Key != "" && p.Token >= 0, "DecodeHandOff(%q) = %+v", message, p)
		forms := []string{fmt.Sprintf("%s %d %d %s", p.Owner, p.Round, p.Token, p.Key), fmt.Sprintf("%s %d %d:shared %s", p.Owner, p.Round, p.Token, p.Key)}
		if p.Wanted {
			forms = []string{p.Owner + " wanted " + p.Key}
		}
		for _, form := range forms {
			again, ok := Prefix("").DecodeHandOff(form)
			check.That(t, ok && again == p, "DecodeHandOff of what %q says = %+v, %v, want %+v", message, again, ok, p)
		}
	})
}
