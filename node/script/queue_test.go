package script

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

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

// TestATurnOfRedissonsClients: while it lasts, a lock that is free is handed to nobody. One that would last longer is not
// ours, and counts for nothing.
func TestATurnOfRedissonsClients(t *testing.T) {
	for lasts, holder := range map[int]string{turnLasts: "", 2 * turnLasts: id("a:r1")} {
		withScripts(t, func(h *scriptFixture) {
			h.subscribeClient("a")
			h.heldByX()
			h.run(NewOwner("k", id("a:r1")).AcquireOrRegister(lease, asked(10)))
			h.m.Del("k") // its lease has ended
			h.do("SET", "redlock_turn:{k}", 1, "PX", lasts)
			h.run(NewOwner("k", id("x:r0")).Release(5, 0))
			check.Equal(t, h.m.Holder("k"), holder, "after a release, with a turn of %d ms, the holder", lasts)
		})
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
			got, ok := Prefix("").DecodeHandOff(wish)
			check.That(t, ok && got == want, "%q is read as %+v (%v), want %+v", wish, got, ok, want)
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

// counting returns a script with an account of what it does: how many commands of Redis it carries out, and
// how many words it sends and receives.
func counting(s *script) string {
	return `
local real, commands, words = redis, 0, 0
local function size(v)
  if type(v) ~= 'table' then
    return 1
  end
  local n = 1
  for _, part in pairs(v) do
    n = n + size(part)
  end
  return n
end
local function counted(run)
  return function(...)
    local reply = run(...)
    commands, words = commands + 1, words + select('#', ...) + size(reply)
    return reply
  end
end
local redis = {
  call = counted(real.call), pcall = counted(real.pcall), sha1hex = real.sha1hex, error_reply = real.error_reply,
}
local function main()
` + s.source.(string) + `
end
local reply = main()
return {reply == nil and 'nil' or reply, commands, words}`
}

// costs has h carry out cmd, and returns how many commands of Redis that took, and how many words.
func (h *scriptFixture) costs(cmd *Command) (a Answer, commands, words int) {
	h.t.Helper()
	args := cmd.Words(nil, false)[1:]
	args[0] = counting(cmd.script())
	r, err := redis.Values(h.conn.Do("EVAL", args...))
	if err != nil {
		h.t.Fatal(err)
	}
	return cmd.Decode(r[0]), int(r[1].(int64)), int(r[2].(int64))
}

// crowd puts n waiters that ask no more before all others into a queue.
func (h *scriptFixture) crowd(queue string, n int) {
	for i := range n {
		h.do("ZADD", queue, i-n, fmt.Sprintf("%s:r%d", strings.TrimSuffix(id("z:r0"), ":r0"), i))
	}
}

// However many of those who wait have died, a step looks at a few of them only. Those who live come to the
// lock in the end, and nobody overtakes them.
func TestStepLooksAtFewOfTheDead(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		post := h.subscribeClient("a")
		h.heldByX()
		h.run(NewOwner("k", id("a:r1")).AcquireOrRegister(lease, asked(10)))
		h.crowd("redlock_wait:{k}", 1000)
		left := 1001
		step := func(what string, cmd *Command, outcome Outcome) {
			t.Helper()
			a, commands, words := h.costs(cmd)
			check.That(t, a.Outcome == outcome && commands <= 140 && words <= 600, "%s: %+v after %d commands with %d words, want %v, and 140 commands at most", what, a, commands, words, outcome)
			now := len(h.m.ZSet("redlock_wait:{k}"))
			check.AtMost(t, left-now, 64, "%s: who left the queue", what)
			left = now
		}
		step("release", NewOwner("k", id("x:r0")).Release(1, 0), Done)
		check.Equal(t, h.m.Holder("k"), "", "who has the lock after it")
		step("try", NewOwner("k", id("y:r1")).Acquire(lease, 1), Refused)
		step("reader", NewReader("k", id("y:r2")).Acquire(lease, 1), Refused)
		for asks := 0; left > 1; asks++ {
			if asks == 20 {
				t.Fatalf("%d are left after %d asks", left, asks)
			}
			step("a later waiter", NewOwner("k", id("c:r1")).AcquireOrRegister(lease, asked(20)), Refused)
		}
		check.Equal(t, strings.Join(post.take(), ", "), id("a:r1 1 50 k"), "published: the first has it")
	})
}

// TestAReaderBeforeTheDead: a reader that is let in is told so, also where more of the dead stand behind it than a step looks at.
func TestAReaderBeforeTheDead(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.crowd("redlock_wait:{k}", 100)
		check.Equal(t, h.run(reader("a:r1").AcquireOrRegister(lease, asked(-1000))).Outcome, Done, "its ask")
	})
}

// TestLookIsBounded: a look takes two commands for each slot, and tells of those that somebody has or waits for.
func TestLookIsBounded(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.run(NewOwner(SlotKey("k", 3), id("a:r1")).Acquire(lease, 50))
		h.run(NewOwner(SlotKey("k", 999), id("a:r2")).Register(asked(1)))
		h.run(NewOwner(SlotKey("{k}", 5), id("a:r3")).Acquire(lease, 50)) // another semaphore's
		h.run(NewOwner("k", id("a:r4")).Acquire(lease, 50))
		want := []Slot{{Slot: 3, Held: true, Left: lease}, {Slot: 999, Queue: 1}}
		for n, want := range map[int][]Slot{3: {}, 4: want[:1], MaxPermits: want} {
			got, commands, _ := h.costs(Look("k", n))
			if got.Outcome != Done || !slices.Equal(got.Slots, want) || commands > 2*n+1 {
				t.Errorf("a look at %d slots: %+v after %d commands, want %+v after %d at most", n, got, commands, want, 2*n+1)
			}
		}
	})
}

// TestManyReaders: one release lets in 32, and the next ask of one of the others the rest.
func TestManyReaders(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		post := h.subscribeClient("a")
		h.heldByX()
		for i := range int64(40) {
			h.run(reader(fmt.Sprint("a:r", 10+i)).AcquireOrRegister(lease, asked(10+i)))
		}
		h.run(NewOwner("k", id("x:r0")).Release(5, 0))
		check.Equal(t, len(post.take()), 32, "readers that were told")
		check.Equal(t, h.run(reader("a:r49").AcquireOrRegister(lease, asked(49))).Outcome, Done, "the next ask")
		check.Equal(t, len(post.take()), 7, "more of them")
	})
}

// TestManyAreTold: an Inspect tells of the first who wait, or of the readers with the longest leases, and of no more.
func TestManyAreTold(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.heldByX()
		for i := range int64(101) {
			owner := id(fmt.Sprint("b:r", i))
			h.run(NewOwner("k", owner).AcquireOrRegister(lease, asked(i+1)))
			h.run(NewReader("read", owner).Acquire(lease+time.Duration(i)*time.Second, 5))
		}
		told := h.run(Inspect("k")).Crowd.Waiters
		check.That(t, len(told) == 32 && told[31].Owner == id("b:r31"), "%v are told of a lock, want the first 32", told)
		if told := h.run(Inspect("read")).Crowd.Readers; len(told) != 32 || told[31].Owner != id("b:r100") {
			t.Errorf("%v read, want the last 32", told)
		}
	})
}

// TestJoinIsBounded: a reader that joins takes out some of those whose leases are over, and those that follow the rest:
// the master does nothing else meanwhile.
func TestJoinIsBounded(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.run(reader("last:r1").Acquire(10*lease, 5))
		for i := range 200 {
			h.run(reader(fmt.Sprintf("dead:r%d", i)).Acquire(lease, 5))
		}
		time.Sleep(lease + time.Second)
		for i, want := range []int{138, 75, 12, 5} {
			got := h.run(reader(fmt.Sprintf("new:r%d", i)).Acquire(lease, 5))
			check.Equal(t, got.Outcome, Done, "the outcome of a join")
			check.Equal(t, len(h.m.ZSet("redlock_read:{k}")), want, "readers after %d joined", i+1)
		}
	})
}
