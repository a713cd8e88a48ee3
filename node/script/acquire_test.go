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
			name:   "largest counter",
			before: lock{fence: decimal(big)},
			cmd:    acquire(50), answer: done(big + 1), after: fresh(decimal(big + 1)),
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
			name:   "held by another for ever",
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
			cmd:    acquire(50), fails: "no number", after: lock{fence: "x"},
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
