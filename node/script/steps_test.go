package script

import (
	"reflect"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"
)

// TestStepsAreIsolated: an error is the answer to its own step, and those before and behind it do what
// they do alone, whatever kinds they are.
func TestStepsAreIsolated(t *testing.T) {
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
				hold := func(o *Owner) *Command { return Renew(lease, []Renewal{{Owner: o, Count: 1, Token: 7}}) }
				got := runAll(t, h.conn,
					owner("a").Acquire(lease, 7), tt.cmd, hold(owner("a")), owner("b").Acquire(lease, 8), tt.cmd, owner("a").Release(7, 0))
				for i, want := range []Answer{
					done(7), {Outcome: Failed}, {Outcome: Done, Renewed: []Renewed{Extended}}, done(8), {Outcome: Failed}, {Outcome: Done},
				} {
					if want.Outcome == Failed && (got[i].Err == nil || !strings.Contains(got[i].Err.Error(), tt.fails)) {
						t.Errorf("command %d: got %+v, want an error with %q", i, got[i], tt.fails)
					}
					got[i].Err = nil
					if !reflect.DeepEqual(got[i], want) {
						t.Errorf("command %d: got %+v, want %+v", i, got[i], want)
					}
				}
				if a, b := h.m.Holder("a"), h.m.Holder("b"); a != "" || b != id("me:r1") {
					t.Errorf("holders: %q and %q, want nobody and me:r1", a, b)
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

// TestGuardedStep: in a call each command is in its own form, that for a guarded master or not.
func TestGuardedStep(t *testing.T) {
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

// TestSplit: what is no answer to all steps is the answer to none.
func TestSplit(t *testing.T) {
	refusal := redis.Error("BUSY Redis is busy running a script")
	for _, tt := range []struct {
		name  string
		reply any
		steps int
		want  []any // nil: an error
	}{
		{"one", int64(1), 1, []any{int64(1)}},
		{"an array, of one", []any{int64(1), int64(2)}, 1, []any{[]any{int64(1), int64(2)}}},
		{"the error of one", refusal, 1, []any{refusal}},
		{"each", []any{int64(1), refusal}, 2, []any{int64(1), refusal}},
		{"too few", []any{int64(1)}, 2, nil},
		{"no array", int64(1), 2, nil},
		{"the error of all", refusal, 2, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Split(nil, tt.reply, tt.steps)
			if !reflect.DeepEqual(got, tt.want) || (err == nil) != (tt.want != nil) {
				t.Errorf("Split(%v, %d) = %v, %v, want %v", tt.reply, tt.steps, got, err, tt.want)
			}
		})
	}
}

// TestCall: the keys of all steps, then their letters, then their arguments, each command in its own
// form.
func TestCall(t *testing.T) {
	a, b := NewOwner("a", "me:1"), NewOwner("b", "me:2")
	renew := Renew(lease, []Renewal{{Owner: a, Count: 1, Token: 7}, {Owner: b, Count: 2, Token: 8}})
	permits := Renew(lease, []Renewal{{Owner: NewPermit("b", "me:4", 5, 0).InSlot(4), Token: 9}, {Owner: a, Count: 1, Token: 7}})
	var call Call
	call.Add(a.Release(5, 0), false)
	for range 2 { // it is used again
		call.Reset()
		call.Add(a.Release(5, 0), false)
		call.Add(b.Release(6, 10), true)
		call.Add(renew, true)
		call.Add(renew, false)
		call.Add(Force("a", 9), true)
		call.Add(permits, true)
		call.Add(permits, false)
		call.Add(ForcePermits("a", 9), true)
		call.Add(NewPermit("a", "me:3", 5, 7).Acquire(lease, 9), false)
	}
	got := call.Arguments(false)
	want := []any{
		sha, 30, "a", "redlock_wait:{a}", "b", "redlock_wait:{b}",
		"a", "redlock_fence:{a}", "b", "redlock_fence:{b}", "a", "redlock_fence:{a}", "b", "redlock_fence:{b}",
		"a", "redlock_wait:{a}",
		"redlock_slots:{b}", "redlock_slotwait:{b}", "redlock_slotfence:{b}", "a", "redlock_fence:{a}",
		"redlock_slots:{b}", "redlock_slotwait:{b}", "redlock_slotfence:{b}", "a", "redlock_fence:{a}",
		"redlock_slots:{a}", "redlock_slotwait:{a}", "redlock_slotfence:{a}",
		"redlock_slots:{a}", "redlock_slotwait:{a}", "redlock_slotfence:{a}",
		"rRNNnnfMNmnxp",
		"me:1", int64(5), "me:2", "",
		"me:1", int64(30_000), int64(7), 1, "me:2", int64(30_000), int64(8), 2,
		"me:1", int64(30_000), int64(7), 1, "me:2", int64(30_000), int64(8), 2,
		"",
		"me:4", int64(30_000), int64(9), 4, "me:1", int64(30_000), int64(7), 1,
		"me:4", int64(30_000), int64(9), 4, "me:1", int64(30_000), int64(7), 1,
		"", "",
		"me:3", int64(30_000), int64(9), 5, 2,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("arguments: got %v, want %v", got, want)
	}
	if with := call.Arguments(true); with[0] != source || !reflect.DeepEqual(with[1:], want[1:]) {
		t.Errorf("arguments with the source: got %v, want %v", with[1:], want[1:])
	}
}
