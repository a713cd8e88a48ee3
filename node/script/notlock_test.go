package script

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlocktest"
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
	{"lock of an RReadWriteLock", []any{"HSET", "k", "mode", "read", id("x:1"), "1"}, "a hash of 2 fields"},
	{"two owners", []any{"HSET", "k", id("x:1"), "1", id("y:1"), "1"}, "a hash of 2 fields"},
	{"our field among others", []any{"HSET", "k", id("me:r1"), "1", "name", "bob"}, "a hash of 2 fields"},
}

// TestNotALock: what is no lock is named, and left alone.
func TestNotALock(t *testing.T) {
	me, next := NewOwner("k", id("me:r1")), NewOwner("k", id("me:r2"))
	entry := QueueEntry{Round: 1, Since: 10, Lease: short, Proposal: 5}
	for _, command := range []struct {
		name string
		cmd  *Command
	}{
		{"acquire", me.Acquire(lease, 5)},
		{"queue", me.AcquireOrRegister(lease, entry)},
		{"register", me.Register(entry)},
		{"enter", me.Enter(lease, 2)},
		{"leave", me.Leave(1)},
		{"raise", me.Raise(lease, 5)},
		{"force", Force("k", 5)},
		{"inspect", Inspect("k")},
		{"release to the next", NewOwner("k", id("gone:r1")).ReleaseTo(5, 0, next, entry)},
		{"renew", Renew(lease, []Renewal{{Owner: me, Count: 1, Token: 5}})},
	} {
		for _, a := range aliens {
			t.Run(command.name+"/"+a.name, func(t *testing.T) {
				withScripts(t, func(h *scriptFixture) {
					h.do(a.put[0].(string), a.put[1:]...)
					before := contents(h)
					got := h.run(command.cmd)
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
					if what.What != a.what && what.What != "a value of another type" {
						t.Errorf("got %q, want %q", what.What, a.what)
					}
					if after := contents(h); !reflect.DeepEqual(after, before) {
						t.Errorf("changed from %v to %v", before, after)
					}
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
		var value any
		var err error
		switch kind := h.m.Type(key); kind {
		case "string":
			value = h.m.Get(key)
		case "list":
			value, err = redis.Strings(h.conn.Do("LRANGE", key, 0, -1))
		case "set":
			value, err = redis.Strings(h.conn.Do("SMEMBERS", key))
		case "zset":
			value = h.m.ZSet(key)
		case "hash":
			value = h.m.Hash(key)
		case "stream":
			value, err = redis.Int(h.conn.Do("XLEN", key))
		}
		if err != nil {
			h.t.Fatal(err)
		}
		all[key] = fmt.Sprint(value, h.m.TTL(key))
	}
	return all
}

// TestOwners: which single fields make a hash a lock.
func TestOwners(t *testing.T) {
	const client = "7ee2cd4e-5d3b-4b6e-8f2a-6b1b6f1f2a10"
	for field, want := range map[string]bool{
		client + ":r1":                           true,
		client + ":r18446744073709551615":        true,
		client + ":1":                            true,
		client + ":0":                            true,
		client + ":9223372036854775807":          true,
		client + ":-9223372036854775808":         true, // lockAsync takes any long for a thread
		"7EE2CD4E-5D3B-4B6E-8F2A-6B1B6F1F2A10:1": true,

		client:                                   false,
		client + ":":                             false,
		client + ":r":                            false,
		client + ":rr1":                          false,
		client + ":r-1":                          false,
		client + ":1x":                           false,
		client + ": 1":                           false,
		client + ":1:write":                      false, // of an RReadWriteLock
		client + ":1\n":                          false,
		client + "0:1":                           false,
		"x" + client[1:] + ":1":                  false,
		"7ee2cd4e5d3b4b6e8f2a6b1b6f1f2a10:1":     false,
		"7ee2cd4e-5d3b4b6e-8f2a-6b1b-6f1f2a10:1": false,
		"page:1":                                 false,
		":1":                                     false,
		"":                                       false,
	} {
		t.Run(fmt.Sprintf("%q", field), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := redlocktest.Start(t, 1)
				conn := f.Pools()[0].Get()
				defer conn.Close()
				f.Master(0).HSet("k", field, "1")
				got := run(t, conn, Inspect("k"))
				if held := got.Outcome == Done && got.Holder == field; held != want {
					t.Errorf("a hash with this field is a lock: got %v (%v), want %v", held, got.Err, want)
				}
			})
		})
	}
}

// A lock that somebody has written another field into is no lock any more. Its owner's field goes all
// the same, and the release says so, whether or not it names the next owner.
func TestReleaseOfWhatBecameNoLock(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		x, y := NewOwner("k", id("a:r1")), NewOwner("k", id("b:r2"))
		entry := QueueEntry{Round: 1, Since: 1, Lease: time.Second, Proposal: 6}
		for name, release := range map[string]*Command{"alone": x.Release(5, 0), "to another": x.ReleaseTo(5, 0, y, entry)} {
			h.m.Del("k")
			h.wantAnswer("acquire", h.run(x.Acquire(lease, 5)), Done, "")
			h.m.HSet("k", "other", "1")
			h.wantAnswer(name, h.run(release), Done, "")
			if got := h.m.Hash("k"); len(got) != 1 || got["other"] != "1" {
				t.Errorf("%s: left %v, want what is not ours", name, got)
			}
		}
	})
}
