package script

import (
	"testing"
	"time"
)

func TestEnterScript(t *testing.T) {
	held := func(count string, left time.Duration) lock {
		return lock{owner: id("me:1"), count: count, left: left, fence: "40"}
	}
	yours := lock{owner: id("me:10"), count: "1", left: time.Second}
	taken := Answer{Outcome: Refused, Holder: id("me:10"), Left: time.Second}
	done, refused := Answer{Outcome: Done}, Answer{Outcome: Refused}
	me := NewOwner("k", id("me:1"))
	runScripts(t, []scriptCase{
		{name: "enter", before: held("1", 3*time.Second), cmd: me.Enter(lease, 2), answer: done, after: held("2", lease)},
		{name: "the count is set, not added to", before: held("5", 3*time.Second), cmd: me.Enter(lease, 3), answer: done, after: held("3", lease)},
		{name: "enter, longer left", before: held("1", time.Minute), cmd: me.Enter(lease, 2), answer: done, after: held("2", time.Minute)},
		{name: "enter, nobody has it", before: lock{fence: "40"}, cmd: me.Enter(lease, 2), answer: refused, after: lock{fence: "40"}},
		{name: "enter, another has it", before: yours, cmd: me.Enter(lease, 2), answer: taken, after: yours},
		{name: "leave", before: held("2", time.Second), cmd: me.Leave(1), answer: done, after: held("1", time.Second)},
		{name: "leave, nobody has it", cmd: me.Leave(1), answer: refused},
		{name: "leave, another has it", before: yours, cmd: me.Leave(1), answer: taken, after: yours},
		{
			name:   "held for ever",
			before: lock{owner: id("you:1"), count: "1"},
			cmd:    me.Enter(lease, 2), answer: Answer{Outcome: Refused, Holder: id("you:1"), Left: Never},
			after: lock{owner: id("you:1"), count: "1"},
		},
		{name: "no lock at the key", before: lock{other: "text"}, cmd: me.Enter(lease, 2), fails: "the key is no lock: it holds a string", after: lock{other: "text"}},
	})
}

// A lock that somebody made to last for ever is not gone when a count goes down, or its owner asks
// whether it was passed on.
func TestLeaveOfALockThatNeverExpires(t *testing.T) {
	inHall(t, func(h *hall) {
		h.m.HSet("k", id("a:r1"), "2")
		h.wantAnswer("leave", h.run(NewOwner("k", id("a:r1")).Leave(1)), Done, "")
		h.wantAnswer("register", h.run(NewOwner("k", id("a:r1")).Register(QueueEntry{Round: 1, Since: 10, Lease: short, Proposal: 1})), Done, "")
		if count := h.m.HGet("k", id("a:r1")); count != "1" {
			t.Errorf("hold count: got %q, want 1", count)
		}
	})
}
