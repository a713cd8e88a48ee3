package script

import (
	"testing"
	"time"
)

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
