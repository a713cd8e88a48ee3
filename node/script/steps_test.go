package script

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"
)

// TestWhatIsNoLock: a script says what is wrong with the keys that it finds, and to a repeat as well.
func TestWhatIsNoLock(t *testing.T) {
	owner := func(key string) *Owner { return NewOwner(key, id("me:r1")) }
	entry := QueueEntry{Round: 2, Since: 10, Lease: short, Proposal: 5}
	for _, tt := range []struct {
		name  string
		spoil []any // a command
		cmd   *Command
		fails string
	}{
		{"acquire of what is no lock", []any{"SET", "k", "v"}, owner("k").Acquire(lease, 5), "a string"},
		{"ask for what is no lock", []any{"SET", "k", "v"}, owner("k").AcquireOrRegister(lease, entry), "a string"},
		{"register for what is no lock", []any{"SET", "k", "v"}, owner("k").Register(entry), "a string"},
		{"release of what is no lock", []any{"SET", "k", "v"}, owner("k").Release(5, 0), "another type"},
		{"release of what is no lock, to another", []any{"SET", "k", "v"}, owner("k").ReleaseTo(5, 10, NewOwner("k", id("me:r2")), entry), "another type"},
		{"force of what is no lock", []any{"SET", "k", "v"}, Force("k", 5), "a string"},
		{"enter what is no lock", []any{"SET", "k", "v"}, owner("k").Enter(lease, 2), "a string"},
		{"raise of what is no lock", []any{"SET", "k", "v"}, owner("k").Raise(lease, 5), "a string"},
		{"inspect what is no lock", []any{"SET", "k", "v"}, Inspect("k"), "a string"},
		{"acquire, the counter is no number", []any{"SET", "redlock_fence:{k}", "x"}, owner("k").Acquire(lease, 5), "no number"},
		{"acquire, the counter is a list", []any{"RPUSH", "redlock_fence:{k}", "x"}, owner("k").Acquire(lease, 5), "another type"},
		{"read what is no lock", []any{"SET", "k", "v"}, NewReader("k", id("me:r1")).Acquire(lease, 5), "a string"},
		{"release what is no lock, by a reader", []any{"SET", "k", "v"}, NewReader("k", id("me:r1")).Release(5, 0), "a string"},
		{"read, the counter is no number", []any{"SET", "redlock_fence:{k}", "x"}, NewReader("k", id("me:r1")).Acquire(lease, 5), "no positive number"},
		{"read, the counter is a list", []any{"RPUSH", "redlock_fence:{k}", "x"}, NewReader("k", id("me:r1")).Acquire(lease, 5), "another type"},
		{"wait to read, the queue is a string", []any{"SET", "redlock_wait:{k}", "x"}, NewReader("k", id("me:r1")).AcquireOrRegister(lease, entry), "another type"},
		{"inspect, the counter is a list", []any{"RPUSH", "redlock_fence:{k}", "x"}, Inspect("k"), "another type"},
		{"acquire of a permit, no semaphore", []any{"SET", "redlock_slots:{k}", "x"}, NewPermit("k", id("me:r1"), 2, 0).Acquire(lease, 5), "another type"},
		{"ask for a permit, no semaphore", []any{"ZADD", "redlock_slots:{k}", "1", "x"}, NewPermit("k", id("me:r1"), 2, 0).AcquireOrRegister(lease, entry), "a sorted set"},
		{"register for a permit, no queue", []any{"SET", "redlock_slotwait:{k}", "x"}, NewPermit("k", id("me:r1"), 2, 0).Register(entry), "another type"},
		{"release of a permit, no semaphore", []any{"SET", "redlock_slots:{k}", "x"}, NewPermit("k", id("me:r1"), 2, 0).Release(5, 10), "another type"},
		{"release of a permit to another, no semaphore", []any{"SET", "redlock_slots:{k}", "x"}, NewPermit("k", id("me:r1"), 2, 0).ReleaseTo(5, 0, NewPermit("k", id("me:r2"), 2, 0), entry), "another type"},
		{"release of a permit that gives way, no semaphore", []any{"SET", "redlock_slots:{k}", "x"}, NewPermit("k", id("me:r1"), 2, 0).ReleaseTo(5, 10, NewPermit("k", id("me:r2"), 2, 0), entry), "another type"},
		{"raise of a permit, no semaphore", []any{"SET", "redlock_slots:{k}", "x"}, NewPermit("k", id("me:r1"), 2, 0).Raise(lease, 5), "another type"},
		{"force of permits, no semaphore", []any{"SET", "redlock_slots:{k}", "x"}, ForcePermits("k", 5), "another type"},
		{"inspect permits, no semaphore", []any{"SET", "redlock_slots:{k}", "x"}, InspectPermits("k"), "another type"},
		{"ask, the queue is a string", []any{"SET", "redlock_wait:{k}", "x"}, owner("k").AcquireOrRegister(lease, entry), "another type"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			withScripts(t, func(h *scriptFixture) {
				h.do(tt.spoil[0].(string), tt.spoil[1:]...)
				for range 2 {
					if got := h.run(tt.cmd); got.Outcome != Failed || got.Err == nil || !strings.Contains(got.Err.Error(), tt.fails) {
						t.Errorf("got %+v, want an error with %q", got, tt.fails)
					}
				}
			})
		})
	}
}

// TestRenewalsAreIsolated: an error is the answer to its own hold, and those before and behind it are renewed.
func TestRenewalsAreIsolated(t *testing.T) {
	for mode, as := range []func(key string) *Owner{
		Exclusive: func(key string) *Owner { return NewOwner(key, id("me:r1")) },
		Shared:    func(key string) *Owner { return NewReader(key, id("me:r1")) },
		Permit:    func(key string) *Owner { return NewPermit(key, id("me:r1"), 2, 0) },
	} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			withScripts(t, func(h *scriptFixture) {
				var holds []Renewal
				for _, key := range []string{"a", "spoilt", "b"} {
					holds = append(holds, Renewal{Owner: as(key), Count: 1, Token: 7})
					if key != "spoilt" {
						h.run(as(key).Acquire(lease, 7))
					}
				}
				h.do("SET", holds[1].name, "v")
				got := h.run(Renew(lease, holds))
				if got.Outcome != Done || got.Renewed[0] != Extended || got.Renewed[1] != NotLock || got.Renewed[2] != Extended {
					t.Errorf("answered %+v, want the second alone to be no lock", got)
				}
			})
		})
	}
}

// TestErrorOfAHold: of several holds that are renewed in a call, one may be no lock, or fail otherwise.
func TestErrorOfAHold(t *testing.T) {
	cmd := Renew(lease, []Renewal{{Owner: me}, {Owner: me}, {Owner: me}})
	got := cmd.Decode([]any{int64(1), redis.Error("NOPERM no"), redis.Error("NOTLOCK string")})
	if want := []Renewed{Extended, Errored, NotLock}; got.Outcome != Done || !reflect.DeepEqual(got.Renewed, want) {
		t.Errorf("answered %+v, want Done %v", got, want)
	}
	if len(got.Errors) != 2 || got.Errors[1] == nil || got.Errors[2] == nil {
		t.Errorf("errors: %v, want those of holds 1 and 2", got.Errors)
	}
}

// TestGuardedForm: each command is carried out in its own form, that for a guarded master or not.
func TestGuardedForm(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.subscribeClient("a")
		heal := func(key string) *Command {
			return Renew(lease, []Renewal{{Owner: NewOwner(key, id("me:r1")), Count: 1, Token: 7}})
		}
		h.heldByX()
		h.register(id("a:r1"), 1, 10)
		all := []*Command{heal("healed"), guarded(heal("absent")), guarded(NewOwner("k", id("x:r0")).Release(1, 0)), heal("healed")}
		answers := runAll(t, h.conn, all...)
		for i, want := range []Answer{
			{Outcome: Done, Renewed: []Renewed{Healed}},
			{Outcome: Done, Renewed: []Renewed{Absent}},
			{Outcome: Done},
			{Outcome: Done, Renewed: []Renewed{Extended}},
		} {
			if got := answers[i]; !reflect.DeepEqual(got, want) {
				t.Errorf("command %d: got %+v, want %+v", i, got, want)
			}
		}
		h.wantLock("of the guarded release", "", 0)
		h.wantQueue("of the guarded release", id("a:r1 1"))
	})
}

// TestWords: the words of a command, in its own form or in that for a guarded master.
func TestWords(t *testing.T) {
	a, p := NewOwner("a", "me:1"), NewPermit("a", "me:3", 5, 7)
	renew := Renew(lease, []Renewal{{Owner: a, Count: 1, Token: 7}, {Owner: NewOwner("b", "me:2"), Count: 2, Token: 8}})
	entry := QueueEntry{Round: 1, Since: 10, Lease: short, Proposal: 5}
	for _, tt := range []struct {
		cmd     *Command
		guarded bool
		want    string
	}{
		{a.Acquire(lease, 9), false, "1 a me:1 30000 9"},
		{a.Register(entry), false, "1 a me:1  5 10 400 1"},
		{a.Release(5, 0), false, "1 a me:1 5"},
		{a.Release(5, 10), true, "1 a me:1  waited"},
		{a.ReleaseTo(5, 0, NewReader("a", "me:2"), entry), false, "1 a me:1 5  me:2 5 shared 10 400 1"},
		{Force("a", 9), false, "1 a 9"},
		{Force("a", 9), true, "1 a "},
		{renew, false, "0 30000 heal a me:1 7 1 b me:2 8 2"},
		{renew, true, "0 30000  a me:1 7 1 b me:2 8 2"},
		{Renew(lease, []Renewal{{Owner: NewReader("a", "me:1"), Token: 7}}), false, "0 30000 heal a me:1 7"},
		{Renew(lease, []Renewal{{Owner: p.InSlot(4), Token: 7}}), false, "0 30000 heal redlock_slots:{a} me:3 7 4"},
		{p.Acquire(lease, 9), false, "1 redlock_slots:{a} me:3 30000 9 5 2"},
		{p.ReleaseTo(9, 10, NewPermit("a", "me:4", 5, 0), entry), false, "1 redlock_slots:{a} me:3 9 2 gives way me:4 5 5 0 10 400 1"},
		{ForcePermits("{a}", 9), false, "1 redlock_slots:{a}: 9 "},
		{a.Enter(lease, 2), false, "1 a me:1 30000 2"},
		{NewReader("a", "me:1").Raise(lease, 2), false, "1 a me:1 30000 2 shared"},
	} {
		for _, withSource := range []bool{false, true} {
			script := tt.cmd.Script()
			name, text := "EVALSHA", script.sha
			if withSource {
				name, text = "EVAL", script.source
			}
			words := tt.cmd.Words([]any{"before"}, withSource, tt.guarded)
			if words[0] != "before" || words[1] != name || words[2] != text {
				t.Errorf("%s: begins with %v", tt.want, words[:2])
			}
			if got := strings.TrimSuffix(fmt.Sprintln(words[3:]...), "\n"); got != tt.want {
				t.Errorf("words: got %q, want %q", got, tt.want)
			}
		}
	}
}
