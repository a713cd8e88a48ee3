package script

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// counting returns a script with an account of what it does: how many commands of Redis it carries out, and
// how many words it sends and receives.
func counting(s *Script) string {
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
	args := cmd.Words(nil, true, false)[1:]
	args[0] = counting(cmd.Script())
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
			if a.Outcome != outcome || commands > 140 || words > 600 {
				t.Errorf("%s: %+v after %d commands with %d words, want %v, and 140 commands at most", what, a, commands, words, outcome)
			}
			now := len(h.m.ZSet("redlock_wait:{k}"))
			if left-now > 64 {
				t.Errorf("%s: %d of %d left the queue, want 64 at most", what, left-now, left)
			}
			left = now
		}
		step("release", NewOwner("k", id("x:r0")).Release(1, 0), Done)
		if holder := h.m.Holder("k"); holder != "" {
			t.Errorf("after it %q has the lock, want nobody", holder)
		}
		step("try", NewOwner("k", id("y:r1")).Acquire(lease, 1), Refused)
		step("reader", NewReader("k", id("y:r2")).Acquire(lease, 1), Refused)
		for asks := 0; left > 1; asks++ {
			if asks == 20 {
				t.Fatalf("%d are left after %d asks", left, asks)
			}
			step("a later waiter", NewOwner("k", id("c:r1")).AcquireOrRegister(lease, asked(20)), Refused)
		}
		if got, want := post.take(), id("a:r1 1 50 k"); len(got) != 1 || got[0] != want {
			t.Errorf("published %q, want %q: the first has it", got, want)
		}
	})
}

// A step of a semaphore does so much and no more, however many permits there are, however many wait, and
// whether they can be told or not.
func TestStepOfAPermitIsBounded(t *testing.T) {
	for _, of := range []int{10, MaxPermits} {
		for _, waiters := range []int{0, 1, 100, -100} { // below 0: they are gone
			t.Run(fmt.Sprintf("K=%d/waiters=%d", of, waiters), func(t *testing.T) {
				withScripts(t, func(h *scriptFixture) {
					if waiters > 0 {
						h.subscribeClient("b")
					}
					permit := func(owner string, slot int) *Owner { return NewPermit("k", id(owner), of, slot) }
					for slot := range of {
						h.run(permit(fmt.Sprint("a:r", slot), slot).Acquire(lease, 50))
					}
					for i := range max(waiters, -waiters) {
						h.run(permit(fmt.Sprint("b:r", i), i%of).Register(asked(int64(i) + 1)))
					}
					ask := asked(5000)
					next := permit("b:r9999", 1)
					for _, tt := range []struct {
						what     string
						cmd      *Command
						commands int
					}{
						{"a try, all are taken", permit("c:r1", 0).Acquire(lease, 50), 12},
						{"an ask", next.AcquireOrRegister(lease, ask), 18},
						{"another", next.Register(ask), 18},
						{"a renewal", Renew(lease, []Renewal{{Owner: permit("a:r1", 1), Token: 60}}), 10},
						{"a raise", permit("a:r1", 1).Raise(lease, 70), 10},
						{"a release", permit("a:r1", 1).Release(70, 0), 170},
						{"one to the next", permit("a:r2", 2).ReleaseTo(70, 0, next, ask), 170},
						{"one that gives way", permit("a:r3", 3).ReleaseTo(70, ask.Since, next, ask), 170},
						{"to nobody", permit("a:r4", 4).Yield(0), 20},
						{"an ask that may hand off", permit("b:r9998", 1).AcquireOrRegister(lease, ask), 170},
						{"a renewal that gives up another slot", Renew(lease, []Renewal{{Owner: permit("a:r5", 6), Token: 60}}), 170},
						{"a force of one", ForceSlot("k", 7, 60), 170},
					} {
						a, commands, words := h.costs(tt.cmd)
						if a.Outcome == Failed || commands > tt.commands || words > 8*tt.commands {
							t.Errorf("%s: %v after %d commands with %d words, want %d commands at most, with 8 words each",
								tt.what, a.Outcome, commands, words, tt.commands)
						}
					}
				})
			})
		}
	}
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
		if got := len(post.take()); got != 32 {
			t.Errorf("%d readers were told, want 32", got)
		}
		if got := h.run(reader("a:r49").AcquireOrRegister(lease, asked(49))); got.Outcome != Done {
			t.Errorf("the next ask: answered %+v, want Done", got)
		}
		if got := len(post.take()); got != 7 {
			t.Errorf("%d more readers were told, want 7", got)
		}
	})
}

// TestManyAreTold: an Inspect tells of the first who wait, or of the readers with the longest leases, and of no more.
func TestManyAreTold(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.heldByX()
		h.run(NewPermit("k", id("x:r0"), 1, 0).Acquire(lease, 50))
		for i := range int64(101) {
			owner := id(fmt.Sprint("b:r", i))
			h.run(NewOwner("k", owner).AcquireOrRegister(lease, asked(i+1)))
			h.run(NewPermit("k", owner, 1, 0).AcquireOrRegister(lease, asked(i+1)))
			h.run(NewReader("read", owner).Acquire(lease+time.Duration(i)*time.Second, 5))
		}
		if told := h.run(Inspect("k")).Crowd.Waiters; len(told) != 32 || told[31].Owner != id("b:r31") {
			t.Errorf("%v are told of a lock, want the first 32", told)
		}
		if told := h.run(Inspect("read")).Crowd.Readers; len(told) != 32 || told[31].Owner != id("b:r100") {
			t.Errorf("%v read, want the last 32", told)
		}
		if told := h.run(InspectPermits("k")).Permits.Waiters; len(told) != 100 || told[99].Owner != id("b:r99") {
			t.Errorf("%v are told of a semaphore, want the first hundred", told)
		}
	})
}

// TestPermitsLookNoFurther: a step looks at so much of the queue as does not hold up the master, and the
// next one goes on from there.
func TestPermitsLookNoFurther(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		for i := range int64(40) {
			h.run(NewPermit("k", id(fmt.Sprintf("c:r%d", i)), 1, 0).Register(asked(i + 1)))
		}
		o := NewPermit("k", id("b:r1"), 1, 0)
		for ask := range 5 {
			got := h.run(o.AcquireOrRegister(lease, asked(100)))
			if want := (Answer{Outcome: Refused, Rank: 32 - 8*ask}); !reflect.DeepEqual(got, want) {
				t.Errorf("ask %d, behind 40 that are gone: answered %+v, want %+v", ask, got, want)
			}
		}
		if got := h.run(o.AcquireOrRegister(lease, asked(100))); got.Outcome != Done {
			t.Errorf("the next: answered %+v, want Done", got)
		}
	})
}
