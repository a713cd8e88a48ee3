package script

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
)

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
		if told := h.run(Inspect("k")).Crowd.Waiters; len(told) != 32 || told[31].Owner != id("b:r31") {
			t.Errorf("%v are told of a lock, want the first 32", told)
		}
		if told := h.run(Inspect("read")).Crowd.Readers; len(told) != 32 || told[31].Owner != id("b:r100") {
			t.Errorf("%v read, want the last 32", told)
		}
	})
}
