package script

import (
	"testing"
	"time"
)

func TestInspectScript(t *testing.T) {
	counter := lock{fence: decimal(big), fenceLeft: time.Hour}
	held := lock{owner: id("you:1"), count: "2", left: 1234 * time.Millisecond, fence: "40"}
	endless := lock{owner: id("you:1"), count: "1"}
	foreign := lock{owner: "field", count: "text", left: time.Second}
	runScripts(t, []scriptCase{
		{name: "never used", cmd: Inspect("k"), answer: Answer{Outcome: Done}},
		{name: "free", before: counter, cmd: Inspect("k"), answer: done(big), after: counter},
		{
			name: "held", before: held, after: held, cmd: Inspect("k"),
			answer: Answer{Outcome: Done, Token: 40, Holder: id("you:1"), Count: 2, Left: 1234 * time.Millisecond},
		},
		{
			name: "held for ever", before: endless, after: endless, cmd: Inspect("k"),
			answer: Answer{Outcome: Done, Holder: id("you:1"), Count: 1, Left: Never},
		},
		{
			name: "another program's hash", before: foreign, after: foreign, cmd: Inspect("k"),
			fails: "the key is no lock: it holds a hash whose only field is no owner",
		},
		{name: "no lock at the key", before: lock{other: "text"}, cmd: Inspect("k"), fails: "the key is no lock: it holds a string", after: lock{other: "text"}},
	})
}
