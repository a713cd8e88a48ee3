package script

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/redlock/internal/check"
)

// alien is what somebody else keeps under the key of a lock, and how its error tells of it.
type alien struct {
	name string
	put  []any // a command
	what string
}

var aliens = []alien{
	{"string", []any{"SET", "k", "v"}, "a string"},
	{"list", []any{"RPUSH", "k", "v"}, "a list"},
	{"set", []any{"SADD", "k", "v"}, "a set"},
	{"sorted set", []any{"ZADD", "k", "1", "v"}, "a sorted set"},
	{"stream", []any{"XADD", "k", "*", "f", "v"}, "a stream"},
	{"hash", []any{"HSET", "k", "name", "bob", "age", "3"}, "a hash of 2 fields"},
	{"field", []any{"HSET", "k", "name", "bob"}, "a hash whose only field is no owner"},
	{"mode that is not ours", []any{"HSET", "k", "mode", "read"}, "a hash whose only field is no owner"},
	{"lock of an RReadWriteLock", []any{"HSET", "k", "mode", "read", id("x:1"), "1"}, "a hash of 2 fields"},
	{"readers and another field", []any{"HSET", "k", "mode", "shared", "name", "bob"}, "a hash of 2 fields"},
	{"two owners", []any{"HSET", "k", id("x:1"), "1", id("y:1"), "1"}, "a hash of 2 fields"},
	{"our field among others", []any{"HSET", "k", id("me:r1"), "1", "name", "bob"}, "a hash of 2 fields"},
}

// TestNotALock: what is no lock is named, and left alone.
func TestNotALock(t *testing.T) {
	me, reader := NewOwner("k", id("me:r1")), NewReader("k", id("me:r1"))
	for name, cmd := range map[string]*Command{
		"acquire":             me.Acquire(lease, 5),
		"ask":                 me.AcquireOrRegister(lease, asked(10)),
		"register":            me.Register(asked(10)),
		"enter":               me.Enter(lease, 2),
		"leave":               me.Leave(1),
		"raise":               me.Raise(lease, 5),
		"force":               Force("k", 5),
		"inspect":             Inspect("k"),
		"release to the next": NewOwner("k", id("gone:r1")).Release(5, 0).Entering(NewOwner("k", id("me:r2")), asked(10)),
		"renew":               Renew(lease, []Renewal{{Owner: me, Count: 1, Token: 5}}),
		"read":                reader.Acquire(lease, 5),
		"ask to read":         reader.AcquireOrRegister(lease, asked(10)),
		"enter as a reader":   reader.Enter(lease, 2),
		"raise of a reader":   reader.Raise(lease, 5),
		"release of a reader": reader.Release(5, 0),
		"renew a reader":      Renew(lease, []Renewal{{Owner: reader, Token: 5}}),
	} {
		for _, a := range aliens {
			t.Run(name+"/"+a.name, func(t *testing.T) {
				withScripts(t, func(h *scriptFixture) {
					h.do(a.put[0].(string), a.put[1:]...)
					before := contents(h)
					got := h.run(cmd)
					err := got.Err
					if got.Outcome == Done && reflect.DeepEqual(got.Renewed, []Renewed{NotLock}) {
						err = got.Errors[0]
					} else if got.Outcome != Failed {
						t.Errorf("answered %+v, want Failed", got)
					}
					what, ok := errors.AsType[*NotLockError](err)
					if !ok {
						t.Fatalf("got error %v, want a *NotLockError", err)
					}
					// HDEL of a key of another type does not say of which.
					check.That(t, what.What == "it holds "+a.what || strings.HasSuffix(what.What, "a value of another type"), "got %q, want %q", what.What, a.what)
					after := contents(h)
					check.That(t, reflect.DeepEqual(after, before) && h.m.TTL("k") == 0, "changed from %v to %v, which expires in %v", before, after, h.m.TTL("k"))
				})
			})
		}
	}
}

// contents returns all that the master keeps, byte for byte.
func contents(h *scriptFixture) map[string]string {
	h.t.Helper()
	all := make(map[string]string)
	for _, key := range h.m.Keys() {
		words := map[string][]any{
			"string": {"GET", key},
			"list":   {"LRANGE", key, 0, -1},
			"set":    {"SMEMBERS", key},
			"zset":   {"ZRANGE", key, 0, -1, "WITHSCORES"},
			"hash":   {"HGETALL", key},
			"stream": {"XRANGE", key, "-", "+"},
		}[h.m.Type(key)]
		value, err := h.conn.Do(words[0].(string), words[1:]...)
		if err != nil {
			h.t.Fatal(err)
		}
		all[key] = fmt.Sprintf("%s", value)
	}
	return all
}

// TestSpoiltKeys: a script says what is wrong with the other keys that it finds, to a
// repeat as well, and leaves them alone.
func TestSpoiltKeys(t *testing.T) {
	me, reader := NewOwner("k", id("me:r1")), NewReader("k", id("me:r1"))
	for _, tt := range []struct {
		holds *Command // nil: nobody has the lock
		spoil []any    // a command
		fails string
		cmds  []*Command
	}{
		{nil, []any{"SET", "k", "v"}, "another type", []*Command{me.Release(5, 0)}},
		{nil, []any{"SET", "redlock_fence:{k}", "x"}, "no positive number", []*Command{me.Acquire(lease, 5), reader.Acquire(lease, 5), Inspect("k")}},
		{nil, []any{"SET", "redlock_fence:{k}", "nan"}, "no positive number", []*Command{reader.Acquire(lease, 5), Inspect("k")}},
		{nil, []any{"SET", "redlock_fence:{k}", "-5"}, "no positive number", []*Command{reader.Acquire(lease, 5), Inspect("k")}},
		{nil, []any{"SET", "redlock_fence:{k}", "1e300"}, "no positive number", []*Command{Inspect("k")}},
		{nil, []any{"SET", "redlock_fence:{k}", "0"}, "no positive number", []*Command{reader.Acquire(lease, 5)}},
		{nil, []any{"RPUSH", "redlock_fence:{k}", "x"}, "another type", []*Command{me.Acquire(lease, 5), reader.Acquire(lease, 5), Inspect("k")}},
		{nil, []any{"SET", "redlock_wait:{k}", "x"}, "another type", []*Command{me.AcquireOrRegister(lease, asked(10)), reader.AcquireOrRegister(lease, asked(10))}},
		{nil, []any{"SET", "redlock_wait:{k}:1", "x"}, "another type", []*Command{Look("k", 2)}},
		{me.Acquire(lease, 5), []any{"SET", "redlock_fence:{k}", "x"}, "no positive number", []*Command{me.Acquire(lease, 5), me.Register(asked(10)), me.Raise(lease, 6), Inspect("k")}},
		{me.Acquire(lease, 5), []any{"SET", "redlock_fence:{k}", "0"}, "no positive number", []*Command{me.Acquire(lease, 5)}},
		{reader.Acquire(lease, 5), []any{"SET", "redlock_fence:{k}", "x"}, "no positive number", []*Command{reader.Acquire(lease, 5), reader.Register(asked(10))}},
		{reader.Acquire(lease, 5), []any{"SET", "redlock_fence:{k}", "0"}, "no positive number", []*Command{reader.Acquire(lease, 5)}},
	} {
		for _, cmd := range tt.cmds {
			withScripts(t, func(h *scriptFixture) {
				if tt.holds != nil {
					h.run(tt.holds)
				}
				h.do(tt.spoil[0].(string), tt.spoil[1:]...)
				key := tt.spoil[1].(string)
				before := contents(h)[key]
				for range 2 {
					if got := h.run(cmd); got.Outcome != Failed || got.Err == nil || !strings.Contains(got.Err.Error(), tt.fails) {
						t.Errorf("%v, then %s: got %+v, want an error with %q", tt.spoil, sent(cmd), got, tt.fails)
					} else if _, ok := errors.AsType[*NotLockError](got.Err); !ok {
						t.Errorf("%v, then %s: got %v, want a *NotLockError", tt.spoil, sent(cmd), got.Err)
					}
				}
				check.Equal(t, contents(h)[key], before, "%s: what became of %v", sent(cmd), tt.spoil)
			})
		}
	}
}

// TestSpoiltCounterIsNoObstacle: a lock is freed, and those who wait for it hear of that, where its fencing counter is
// none, so that it cannot be handed on.
func TestSpoiltCounterIsNoObstacle(t *testing.T) {
	for name, cmd := range map[string]*Command{
		"release": NewOwner("k", id("x:r0")).Release(5, 0),
		"force":   Force("k", 5),
	} {
		t.Run(name, func(t *testing.T) {
			withScripts(t, func(h *scriptFixture) {
				h.heldByX()
				heard := h.subscribe("redlock_wake:"+client("me"), FreedChannel("k"))
				h.run(NewOwner("k", id("me:r1")).AcquireOrRegister(lease, asked(10)))
				h.do("SET", "redlock_fence:{k}", "x")
				got := h.run(cmd)
				check.That(t, got.Outcome == Done && h.m.Type("k") == "", "answered %+v, want Done, and the lock is free", got)
				check.Equal(t, fmt.Sprint(heard.take()), "[0]", "what was heard")
			})
		})
	}
}

// TestInspectIsBounded: what nobody could have written is left out of an Inspect, which tells the rest.
func TestInspectIsBounded(t *testing.T) {
	long := id("x:r1" + strings.Repeat("0", 1<<20))
	withScripts(t, func(h *scriptFixture) {
		h.heldByX()
		for _, count := range []string{"-1", "nan", "inf", "9223372036854775807", "x"} {
			h.do("HSET", "k", id("x:r0"), count)
			got := h.run(Inspect("k"))
			check.That(t, got.Outcome == Done && got.Holder == id("x:r0") && got.Count == 0, "a hold count of %s: %+v", count, got)
		}
		h.run(NewOwner("k", id("me:r1")).AcquireOrRegister(lease, asked(10)))
		h.do("ZADD", "redlock_wait:{k}", "1", long)
		h.do("SET", "redlock_wait:{k}"+long, "1 400 5")
		got := h.run(Inspect("k"))
		check.That(t, got.Crowd != nil && reflect.DeepEqual(got.Crowd.Waiters, []Waiter{{Owner: id("me:r1")}}), "who waits: %.300v", got)
	})
	withScripts(t, func(h *scriptFixture) {
		h.run(reader("me:r1").Acquire(lease, 5))
		h.do("ZADD", "redlock_read:{k}", "99999999999999", long)
		got := h.run(Inspect("k"))
		check.That(t, got.Crowd != nil && len(got.Crowd.Readers) == 1 && got.Crowd.Readers[0].Owner == id("me:r1"), "who reads: %.300v", got)
	})
}

// TestOwners: which single fields make a hash a lock.
func TestOwners(t *testing.T) {
	const client = "7ee2cd4e-5d3b-4b6e-8f2a-6b1b6f1f2a10"
	owners := []string{
		client + ":r1", client + ":r18446744073709551615", client + ":1", client + ":0", client + ":9223372036854775807",
		client + ":-9223372036854775808", // lockAsync takes any long for a thread
		"7EE2CD4E-5D3B-4B6E-8F2A-6B1B6F1F2A10:1",
	}
	others := []string{
		client, client + ":", client + ":r", client + ":rr1", client + ":r-1", client + ":1x", client + ": 1", client + ":1\n",
		client + ":1:write",                                                                 // of an RReadWriteLock
		client + ":r1" + strings.Repeat("0", 20), client + ":" + strings.Repeat("1", 1<<20), // no reply has room for it
		client + "0:1", "x" + client[1:] + ":1", "7ee2cd4e5d3b4b6e8f2a6b1b6f1f2a10:1", "7ee2cd4e-5d3b4b6e-8f2a-6b1b-6f1f2a10:1",
		"page:1", ":1", "",
	}
	for i, field := range slices.Concat(owners, others) {
		want := i < len(owners)
		t.Run(fmt.Sprintf("%q", field), func(t *testing.T) {
			withScripts(t, func(h *scriptFixture) {
				h.m.HSet("k", field, "1")
				got := h.run(Inspect("k"))
				check.Equal(t, got.Outcome == Done && got.Holder == field, want, "a hash with this field is a lock (%v)", got.Err)
			})
		})
	}
}

// TestRenewalsAreIsolated: an error is the answer to its own hold, and those before and behind it are renewed,
// also where a lock's fencing counter is none.
func TestRenewalsAreIsolated(t *testing.T) {
	for mode, as := range []func(key string) *Owner{
		Exclusive: func(key string) *Owner { return NewOwner(key, id("me:r1")) },
		Shared:    func(key string) *Owner { return NewReader(key, id("me:r1")) },
	} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			withScripts(t, func(h *scriptFixture) {
				var holds []Renewal
				for _, key := range []string{"a", "spoilt", "b"} {
					holds = append(holds, Renewal{Owner: as(key), Count: 1, Token: 7})
					if key != "spoilt" {
						h.run(as(key).Acquire(lease/2, 7))
					}
				}
				h.do("SET", holds[1].name, "v")
				h.do("DEL", "redlock_fence:{a}")
				h.do("HSET", "redlock_fence:{a}", "x", "y")
				h.do("SET", "redlock_fence:{b}", "x")
				got := h.run(Renew(lease, holds))
				check.That(t, got.Outcome == Done && got.Renewed[0] == Extended && got.Renewed[1] == NotLock && got.Renewed[2] == Extended, "answered %+v, want the second alone to be no lock", got)
				for _, i := range []int{0, 2} {
					check.AtLeast(t, h.m.TTL(holds[i].name.(string)), lease, "%s is left for", holds[i].Key)
				}
				a, b := h.m.HGet("redlock_fence:{a}", "x"), h.m.Get("redlock_fence:{b}")
				check.That(t, a == "y" && b == "x", "what is no counter became %q and %q", a, b)
			})
		})
	}
}
