package script

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// permits is a fixture for the semaphore "k".
type permits struct{ *scriptFixture }

func withPermits(t *testing.T, f func(p permits)) {
	t.Helper()
	withScripts(t, func(h *scriptFixture) { f(permits{h}) })
}

// take has owner try once for one of so many permits, for lease.
func (p permits) take(owner string, of, start int) Answer {
	return p.run(NewPermit("k", id(owner), of, start).Acquire(lease, 50))
}

// ask is the first round of an owner who has waited since then.
func (p permits) ask(owner string, of, start int, since int64) Answer {
	return p.run(NewPermit("k", id(owner), of, start).AcquireOrRegister(lease, asked(since)))
}

func asked(since int64) QueueEntry {
	return QueueEntry{Round: 1, Since: since, Lease: short, Proposal: 50}
}

func (p permits) release(owner string, slot int) Answer {
	return p.run(NewPermit("k", id(owner), 1, 0).InSlot(slot).Release(50, 0))
}

// want checks who has which slot for how long, as "0 a:r1 30s", and who waits.
func (p permits) want(when string, slots, waiters []string) {
	p.t.Helper()
	var there, queue []string
	found := p.run(InspectPermits("k")).Permits
	for _, s := range found.Slots {
		there = append(there, fmt.Sprintf("%d %s %v", s.Slot, s.Owner, s.Left))
	}
	for _, w := range found.Waiters {
		queue = append(queue, w.Owner)
	}
	for i, text := range slots {
		slot, rest, _ := strings.Cut(text, " ")
		owner, left, _ := strings.Cut(rest, " ")
		slots[i] = slot + " " + id(owner) + " " + left
	}
	for i, owner := range waiters {
		waiters[i] = id(owner)
	}
	if !slices.Equal(there, slots) || !slices.Equal(queue, waiters) {
		p.t.Errorf("%s: slots are %q and the queue %q, want %q and %q", when, there, queue, slots, waiters)
	}
}

func (p permits) counter(slot int) string {
	return p.m.HGet("redlock_slotfence:{k}", fmt.Sprint(slot))
}

func wantSlot(t *testing.T, when string, got Answer, slot int, token int64) {
	t.Helper()
	if want := (Answer{Outcome: Done, Slot: slot, Token: token}); !reflect.DeepEqual(got, want) {
		t.Errorf("%s: answered %+v, want %+v", when, got, want)
	}
}

// holders stands for owners, as permit.lua has it.
func holders(owners ...string) string {
	for i := range owners {
		owners[i] = id(owners[i])
	}
	return sumOf(owners)
}

// sumOf is the sum of what stands for each owner.
func sumOf(owners []string) string {
	sum := int64(0)
	for _, owner := range owners {
		text := sha1.Sum([]byte(owner))
		part, _ := strconv.ParseInt(hex.EncodeToString(text[:5]), 16, 64)
		sum += part + 1
	}
	return fmt.Sprint(-sum)
}

// TestPermitsCount: each slot has its own fencing counter, which outlives it.
func TestPermitsCount(t *testing.T) {
	withPermits(t, func(p permits) {
		o := NewPermit("k", id("a:r1"), 2, 0)
		wantSlot(t, "slot 0", p.run(o.Acquire(lease, 100)), 0, 100)
		wantSlot(t, "slot 1", p.run(NewPermit("k", id("a:r2"), 2, 0).Acquire(lease, 50)), 1, 50)
		if got, want := p.run(o.Raise(lease, 100)), (Answer{Outcome: Refused, Token: 100, Err: errCounter}); !reflect.DeepEqual(got, want) {
			t.Errorf("raise to what it is: answered %+v, want %+v", got, want)
		}
		p.wantAnswer("raise", p.run(o.Raise(lease, 101)), Done, "")
		p.wantAnswer("raise of a slot that another has", p.run(o.InSlot(1).Raise(lease, 101)), Refused, "")
		if a, b := p.counter(0), p.counter(1); a != "101" || b != "50" {
			t.Errorf("counters: %s and %s, want 101 and 50", a, b)
		}
		if got := p.run(InspectPermits("k")).Token; got != 101 {
			t.Errorf("largest counter: %d, want 101", got)
		}
		p.release("a:r1", 0)
		wantSlot(t, "slot 0 again", p.take("a:r3", 2, 0), 0, 102)
		p.m.Del("redlock_slotfence:{k}")
		wantSlot(t, "slot 0, the counter is lost", p.take("a:r3", 2, 0), 0, 50)
		wantSlot(t, "large", p.run(NewPermit("k", id("b:r1"), 3, 2).Acquire(lease, big)), 2, big)
	})
}

// TestPermitsBesideALock: a lock and a semaphore of the same name are two things.
func TestPermitsBesideALock(t *testing.T) {
	withPermits(t, func(p permits) {
		p.heldByX()
		wantSlot(t, "a permit", p.take("a:r1", 1, 0), 0, 50)
		p.run(ForcePermits("k", 1))
		p.wantLock("after a force of the permits", id("x:r0"), lease)
		p.take("a:r2", 1, 0)
		p.run(Force("k", 1))
		p.want("after a force of the lock", []string{"0 a:r2 30s"}, nil)
	})
}

// TestNoPermits: a key that holds something else is left alone.
func TestNoPermits(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil []any
		fails string
	}{
		{"a string", []any{"SET", "redlock_slots:{k}", "x"}, "another type"},
		{"a hash", []any{"HSET", "redlock_slots:{k}", "0", "bob"}, "another type"},
		{"another sorted set", []any{"ZADD", "redlock_slots:{k}", "0", "bob", "3", "age"}, "a sorted set"},
		{"a counter that is no number", []any{"HSET", "redlock_slotfence:{k}", "0", "x"}, "no number"},
		{"counters that are none", []any{"SET", "redlock_slotfence:{k}", "x"}, "another type"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			withPermits(t, func(p permits) {
				p.do(tt.spoil[0].(string), tt.spoil[1:]...)
				key := tt.spoil[1].(string)
				text, hash, set := p.m.Get(key), p.m.Hash(key), p.m.ZSet(key)
				o := NewPermit("k", id("a:r1"), 2, 0)
				for what, cmd := range map[string]*Command{
					"acquire": o.Acquire(lease, 50), "ask": o.AcquireOrRegister(lease, asked(10)),
				} {
					if got := p.run(cmd); got.Outcome != Failed || !strings.Contains(got.Err.Error(), tt.fails) {
						t.Errorf("%s: answered %+v, want an error with %q", what, got, tt.fails)
					}
				}
				if keys := p.m.Keys(); !slices.Equal(keys, []string{key}) {
					t.Errorf("keys: %q, want %q only", keys, key)
				}
				if p.m.Get(key) != text || !reflect.DeepEqual(p.m.Hash(key), hash) || !reflect.DeepEqual(p.m.ZSet(key), set) {
					t.Errorf("%s is %q %q, want %q %q as before", key, p.m.Get(key), p.m.Hash(key), text, hash)
				}
			})
		})
	}
}

func TestSlotsLastAsLongAsTheLongestLease(t *testing.T) {
	withPermits(t, func(p permits) {
		p.take("a", 2, 0)
		p.run(NewPermit("k", id("b"), 2, 0).Acquire(short, 50))
		time.Sleep(4 * short)
		p.want("after the shorter lease", []string{"0 a " + (lease - 4*short).String()}, nil)
	})
}
