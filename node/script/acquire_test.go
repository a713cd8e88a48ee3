package script

import (
	"testing"
	"time"
)

func TestAcquireScript(t *testing.T) {
	refused := func(holder string, left time.Duration) Answer {
		return Answer{Outcome: Refused, Holder: holder, Left: left}
	}
	held := func(count string, left time.Duration) lock {
		return lock{owner: id("me:1"), count: count, left: left, fence: "40", fenceLeft: time.Hour}
	}
	fresh := func(fence string) lock {
		return lock{owner: id("me:1"), count: "1", left: lease, fence: fence, fenceLeft: fenceLeft}
	}
	acquire := func(proposal int64) *Command { return NewOwner("k", id("me:1")).Acquire(lease, proposal) }
	runScripts(t, []scriptCase{
		{name: "free", cmd: acquire(50), answer: done(50), after: fresh("50")},
		{
			name:   "free, proposal above the counter",
			before: lock{fence: "49", fenceLeft: time.Minute},
			cmd:    acquire(50), answer: done(50), after: fresh("50"),
		},
		{
			name:   "free, proposal equal to the counter",
			before: lock{fence: "50", fenceLeft: time.Minute},
			cmd:    acquire(50), answer: done(51), after: fresh("51"),
		},
		{
			name:   "free, proposal below the counter",
			before: lock{fence: "99"},
			cmd:    acquire(50), answer: done(100), after: fresh("100"),
		},
		{name: "large proposal", cmd: acquire(big), answer: done(big), after: fresh(decimal(big))},
		{
			name:   "large counter",
			before: lock{fence: decimal(big - 1)},
			cmd:    acquire(50), answer: done(big), after: fresh(decimal(big)),
		},
		{
			name:   "held by me",
			before: held("1", 3*time.Second),
			cmd:    acquire(50), answer: done(40), after: held("1", lease),
		},
		{
			name:   "held by me, longer",
			before: held("1", time.Minute),
			cmd:    acquire(50), answer: done(40), after: held("1", time.Minute),
		},
		{
			name:   "held by me, just as long",
			before: held("1", lease),
			cmd:    acquire(50), answer: done(40), after: held("1", lease),
		},
		{
			name:   "held by me, the counter is lost",
			before: lock{owner: id("me:1"), count: "1", left: time.Second},
			cmd:    acquire(50), answer: done(50), after: fresh("50"),
		},
		{
			name:   "held by me, large counter",
			before: lock{owner: id("me:1"), count: "1", left: time.Second, fence: decimal(big)},
			cmd:    acquire(50), answer: done(big),
			after: lock{owner: id("me:1"), count: "1", left: lease, fence: decimal(big)},
		},
		{
			name:   "held by another",
			before: lock{owner: id("you:1"), count: "2", left: 1234 * time.Millisecond, fence: "40"},
			cmd:    acquire(50), answer: refused(id("you:1"), 1234*time.Millisecond),
			after: lock{owner: id("you:1"), count: "2", left: 1234 * time.Millisecond, fence: "40"},
		},
		{
			name:   "held by another whose name mine begins",
			before: lock{owner: id("me:10"), count: "1", left: time.Second},
			cmd:    acquire(50), answer: refused(id("me:10"), time.Second),
			after: lock{owner: id("me:10"), count: "1", left: time.Second},
		},
		{
			name:   "held by another forever",
			before: lock{owner: id("you:1"), count: "1"},
			cmd:    acquire(50), answer: refused(id("you:1"), Never),
			after: lock{owner: id("you:1"), count: "1"},
		},
		{
			name:   "no lock at the key",
			before: lock{other: "text", fence: "40"},
			cmd:    acquire(50), fails: "the key is no lock: it holds a string", after: lock{other: "text", fence: "40"},
		},
		{
			name:   "garbage in the counter",
			before: lock{fence: "x"},
			cmd:    acquire(50), fails: "no number", after: lock{fence: "x", fenceLeft: fenceLeft},
		},
		{
			name:   "garbage in the counter, held by me",
			before: lock{owner: id("me:1"), count: "1", left: time.Second, fence: "x"},
			cmd:    acquire(50), fails: "no positive number",
			after: lock{owner: id("me:1"), count: "1", left: time.Second, fence: "x"},
		},
		{
			name:   "zero in the counter, held by me",
			before: lock{owner: id("me:1"), count: "1", left: time.Second, fence: "0"},
			cmd:    acquire(50), fails: "no positive number",
			after: lock{owner: id("me:1"), count: "1", left: time.Second, fence: "0"},
		},
	})
}

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
			name:   "held forever",
			before: lock{owner: id("you:1"), count: "1"},
			cmd:    me.Enter(lease, 2), answer: Answer{Outcome: Refused, Holder: id("you:1"), Left: Never},
			after: lock{owner: id("you:1"), count: "1"},
		},
		{name: "no lock at the key", before: lock{other: "text"}, cmd: me.Enter(lease, 2), fails: "the key is no lock: it holds a string", after: lock{other: "text"}},
	})
}

func TestRaiseScript(t *testing.T) {
	held := func(owner, fence string) lock {
		return lock{owner: owner, count: "1", left: time.Minute, fence: fence}
	}
	raised := held(id("me:1"), "50")
	raised.fenceLeft = fenceLeft
	no := func(token int64) Answer { return Answer{Outcome: Refused, Token: token, Err: errCounter} }
	refused := Answer{Outcome: Refused}
	cmd := NewOwner("k", id("me:1")).Raise(lease, 50)
	runScripts(t, []scriptCase{
		{name: "below", before: held(id("me:1"), "49"), cmd: cmd, answer: done(50), after: raised, again: no(50)},
		{name: "no counter", before: held(id("me:1"), ""), cmd: cmd, answer: done(50), after: raised, again: no(50)},
		{name: "equal", before: held(id("me:1"), "50"), cmd: cmd, answer: no(50), after: held(id("me:1"), "50")},
		{name: "above", before: held(id("me:1"), "51"), cmd: cmd, answer: no(51), after: held(id("me:1"), "51")},
		{name: "large counter", before: held(id("me:1"), decimal(big)), cmd: cmd, answer: no(big), after: held(id("me:1"), decimal(big))},
		{name: "nobody has it", before: lock{fence: "49"}, cmd: cmd, answer: refused, after: lock{fence: "49"}},
		{name: "another has it", before: held(id("me:10"), "49"), cmd: cmd, answer: refused, after: held(id("me:10"), "49")},
		{name: "garbage in the counter", before: held(id("me:1"), "x"), cmd: cmd, fails: "no number", after: held(id("me:1"), "x")},
		{name: "no lock at the key", before: lock{other: "text"}, cmd: cmd, fails: "the key is no lock: it holds a string", after: lock{other: "text"}},
	})
}
