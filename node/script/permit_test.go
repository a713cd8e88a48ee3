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

func (p permits) renew(owner string, slot int, token int64) *Command {
	return Renew(lease, []Renewal{{Owner: NewPermit("k", id(owner), 1, 0).InSlot(slot), Token: token}})
}

func (p permits) wantRenewed(when string, cmd *Command, want Renewed) {
	p.t.Helper()
	if got := p.run(cmd); got.Outcome != Done || !slices.Equal(got.Renewed, []Renewed{want}) {
		p.t.Errorf("%s: answered %+v, want %v", when, got, want)
	}
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

// TestPermitsOneAfterTheOther: each gets the first free slot from its start, one at a master, and none
// when those below its permits are taken, whatever is above.
func TestPermitsOneAfterTheOther(t *testing.T) {
	withPermits(t, func(p permits) {
		wantSlot(t, "the first", p.take("a:r1", 3, 1), 1, 50)
		wantSlot(t, "the second, from the same slot", p.take("b:r1", 3, 1), 2, 50)
		wantSlot(t, "the third, and round the end", p.take("c:r1", 3, 1), 0, 50)
		time.Sleep(time.Second)
		wantSlot(t, "a repeat, from another slot", p.take("b:r1", 3, 0), 2, 50)
		p.want("then", []string{"0 c:r1 29s", "1 a:r1 29s", "2 b:r1 30s"}, nil)
		full := p.take("d:r1", 3, 0)
		if want := (Answer{Outcome: Refused, Holder: holders("c:r1", "b:r1", "a:r1"), Left: 29 * time.Second}); !reflect.DeepEqual(full, want) {
			t.Errorf("full: answered %+v, want %+v", full, want)
		}
		if got := p.take("d:r1", 2, 0); !reflect.DeepEqual(got, full) {
			t.Errorf("full for one who knows of two permits: answered %+v, want %+v as well", got, full)
		}
		wantSlot(t, "one who knows of more permits", p.take("d:r1", 4, 0), 3, 50)
		p.wantAnswer("a release by one who has none", p.release("e:r1", 2), Refused, "")
		p.release("b:r1", 2)
		p.release("a:r1", 2) // which it does not have
		p.wantAnswer("one who knows of one permit", p.take("e:r1", 1, 0), Refused, holders("c:r1", "d:r1"))
		wantSlot(t, "one who knows of two", p.take("e:r1", 2, 0), 1, 51)
	})
}

// TestPermitsThatRanOut: a slot is free when its own lease is over, not before, and not later because
// others have theirs longer.
func TestPermitsThatRanOut(t *testing.T) {
	withPermits(t, func(p permits) {
		p.run(NewPermit("k", id("a:r1"), 2, 0).Acquire(short, 50))
		p.take("b:r1", 2, 0)
		time.Sleep(short - time.Millisecond)
		p.wantAnswer("a moment before", p.take("c:r1", 2, 0), Refused, holders("a:r1", "b:r1"))
		time.Sleep(time.Millisecond)
		p.wantAnswer("a release that comes too late", p.release("a:r1", 0), Refused, "")
		wantSlot(t, "then", p.take("c:r1", 2, 0), 0, 51)
		p.want("then", []string{"0 c:r1 30s", "1 b:r1 29.6s"}, nil)
		time.Sleep(lease + 2*time.Second)
		if keys := p.m.Keys(); !slices.Equal(keys, []string{"redlock_slotfence:{k}"}) {
			t.Errorf("keys when all have ended: %q, want the counters only", keys)
		}
		time.Sleep(2 * time.Hour)
		if keys := p.m.Keys(); len(keys) > 0 {
			t.Errorf("keys two hours later: %q, want none", keys)
		}
	})
}

// TestPermitsOfOneOwner: an owner that has a slot gets no other, though it stands in the queue.
func TestPermitsOfOneOwner(t *testing.T) {
	withPermits(t, func(p permits) {
		post := p.subscribeClient("b")
		p.take("a:r1", 2, 0)
		p.take("a:r2", 2, 0)
		p.ask("b:r1", 2, 0, 10)
		p.wantRenewed("a hold that waits no more", p.renew("b:r1", 1, 60), Foreign)
		p.m.FlushAll()
		p.register("b:r1", 1, 10)
		p.wantRenewed("at a master that forgot it", p.renew("b:r1", 1, 60), Healed)
		p.take("a:r1", 2, 0)
		p.release("a:r1", 0)
		post.want(t, "the release")
		p.want("then", []string{"1 b:r1 30s"}, nil)
		wantSlot(t, "its own ask", p.ask("b:r1", 2, 0, 10), 1, 60)
	})
}

// TestPermitsAreRenewed: a renewal confirms and heals the slot that was won and no other, and gives up
// any other.
func TestPermitsAreRenewed(t *testing.T) {
	withPermits(t, func(p permits) {
		post := p.subscribeClient("b")
		p.take("a:r1", 2, 0)
		time.Sleep(time.Second)
		p.wantRenewed("what it has", p.renew("a:r1", 0, 60), Extended)
		short := Renew(short, []Renewal{{Owner: NewPermit("k", id("a:r1"), 1, 0), Token: 60}})
		p.wantRenewed("what it has, for a shorter time", short, Extended)
		p.want("then", []string{"0 a:r1 30s"}, nil)
		if got := p.counter(0); got != "60" {
			t.Errorf("counter of slot 0: %s, want its token 60", got)
		}
		p.wantRenewed("what it has, with an older token", p.renew("a:r1", 0, 55), Extended)
		if got := p.counter(0); got != "60" {
			t.Errorf("counter of slot 0: %s, want 60 as before", got)
		}
		p.take("c:r1", 2, 0)
		p.ask("b:r1", 2, 0, 10)
		p.wantRenewed("a slot that another has", p.renew("c:r1", 0, 60), Foreign)
		post.want(t, "of the slot that it gave up", id("b:r1 1 51:1 k"))
		p.want("then", []string{"0 a:r1 30s", "1 b:r1 400ms"}, nil)
	})
}

// TestPermitsMove: an owner with a vote for another slot than it won gets the right one by a renewal, and
// the other one goes to who waits.
func TestPermitsMove(t *testing.T) {
	withPermits(t, func(p permits) {
		post := p.subscribeClient("b")
		p.take("a:r1", 2, 1)
		p.take("c:r1", 1, 0)
		p.ask("b:r1", 2, 1, 10)
		p.run(NewPermit("k", id("c:r1"), 1, 0).Yield(0))
		p.wantRenewed("a move", p.renew("a:r1", 0, 70), Healed)
		post.want(t, "it", id("b:r1 1 51:1 k"))
		p.want("then", []string{"0 a:r1 30s", "1 b:r1 400ms"}, nil)
		if got := p.counter(0); got != "70" {
			t.Errorf("counter of slot 0: %s, want 70", got)
		}
	})
}

// TestPermitsHeal: a slot that nobody has is set again, but not at a guarded master and not after a
// force.
func TestPermitsHeal(t *testing.T) {
	withPermits(t, func(p permits) {
		post := p.subscribeClient("b")
		p.wantRenewed("at a guarded master", guarded(p.renew("a:r1", 1, 60)), Absent)
		p.wantRenewed("at a master that forgot it", p.renew("a:r1", 1, 60), Healed)
		p.want("then", []string{"1 a:r1 30s"}, nil)
		p.run(NewPermit("k", id("b:r1"), 1, 0).Register(asked(10)))
		p.wantRenewed("another slot, at a guarded master", guarded(p.renew("a:r1", 0, 60)), Absent)
		p.want("then", nil, []string{"b:r1"})
		post.want(t, "the slot given up at a guarded master")
	})
}

// TestPermitsForced: a force frees all slots, hands them to who waits with tokens above the given, and
// keeps their owners from healing them.
func TestPermitsForced(t *testing.T) {
	withPermits(t, func(p permits) {
		post := p.subscribeClient("b")
		p.wantAnswer("of what nobody has", p.run(ForcePermits("k", 90)), Refused, "")
		p.take("a:r1", 2, 0)
		p.take("a:r2", 2, 0)
		p.ask("b:r1", 2, 1, 10)
		p.wantAnswer("it", p.run(ForcePermits("k", 90)), Done, "")
		post.want(t, "it", id("b:r1 1 91:1 k"))
		p.wantRenewed("one forced out", p.renew("a:r1", 0, 60), Absent)
		p.wantRenewed("the other", p.renew("a:r2", 1, 60), Foreign)
		p.want("then", []string{"1 b:r1 400ms"}, nil)
		time.Sleep(lease)
		p.wantRenewed("when the lease is over", p.renew("a:r1", 0, 60), Healed)
	})
}

// TestOnePermitForced: a force of one slot leaves the others alone.
func TestOnePermitForced(t *testing.T) {
	withPermits(t, func(p permits) {
		post := p.subscribeClient("b")
		p.take("a:r1", 2, 0)
		p.take("a:r2", 2, 0)
		p.ask("b:r1", 2, 1, 10)
		p.wantAnswer("of a slot that nobody has", p.run(ForceSlot("k", 7, 90)), Refused, "")
		p.wantAnswer("it", p.run(ForceSlot("k", 0, 90)), Done, "")
		post.want(t, "it", id("b:r1 1 91:0 k"))
		p.wantRenewed("the other", p.renew("a:r2", 1, 60), Extended)
		p.release("b:r1", 0)
		p.wantRenewed("one forced out", p.renew("a:r1", 0, 60), Absent)
	})
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

// TestPermitsOfAnyName: names are anything, and hand-offs and keys carry them whole.
func TestPermitsOfAnyName(t *testing.T) {
	for _, name := range []string{"a b", "{tag}:7", "}{", "\x00\xff\r\n", "%s %d", "a:", "x}", "{}"} {
		t.Run(name, func(t *testing.T) {
			withPermits(t, func(p permits) {
				post := p.subscribeClient("b")
				o := NewPermit(name, id("x:r0"), 1, 0)
				p.run(o.Acquire(lease, 7))
				p.run(NewPermit(name, id("b:r1"), 1, 0).AcquireOrRegister(lease, asked(10)))
				p.run(o.Release(7, 0))
				mail := post.take()
				if len(mail) != 1 {
					t.Fatalf("%d messages, want 1", len(mail))
				}
				got, ok := DecodeHandOff(mail[0])
				if want := (HandOff{Owner: id("b:r1"), Round: 1, Token: 50, Key: name, Mode: Permit}); got != want || !ok {
					t.Errorf("DecodeHandOff(%q) = %+v, %v, want %+v", mail[0], got, ok, want)
				}
			})
		})
	}
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
