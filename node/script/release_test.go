package script

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlocktest"
)

func TestReleaseScript(t *testing.T) {
	mine := lock{owner: id("me:1"), count: "2", left: lease, fence: "40", fenceLeft: time.Hour}
	freed := lock{fence: "40", fenceLeft: time.Hour}
	yours := lock{owner: id("you:1"), count: "1", left: lease}
	refused := Answer{Outcome: Refused}
	runScripts(t, []scriptCase{
		{name: "free it", before: mine, cmd: NewOwner("k", id("me:1")).Release(1, 0), answer: Answer{Outcome: Done}, after: freed, again: refused},
		{name: "nobody has it", before: freed, cmd: NewOwner("k", id("me:1")).Release(1, 0), answer: refused, after: freed},
		{name: "another has it", before: yours, cmd: NewOwner("k", id("me:1")).Release(1, 0), answer: refused, after: yours},
		{name: "no lock at the key", before: lock{other: "text"}, cmd: NewOwner("k", id("me:1")).Release(1, 0), fails: "the key is no lock: it holds a value of another type", after: lock{other: "text"}},
	})
}

func TestForceScript(t *testing.T) {
	refused := Answer{Outcome: Refused}
	freed := lock{fence: "40"}
	runScripts(t, []scriptCase{
		{
			name:   "held",
			before: lock{owner: id("you:1"), count: "3", left: lease, fence: "40"},
			cmd:    Force("k", 1), answer: Answer{Outcome: Done}, after: freed, again: refused,
		},
		{name: "free", before: freed, cmd: Force("k", 1), answer: refused, after: freed},
		{name: "no lock at the key", before: lock{other: "text"}, cmd: Force("k", 1), fails: "the key is no lock: it holds a string", after: lock{other: "text"}},
	})
}

// TestPublished: whoever frees a lock tells Redisson's waiters, on the channel that they
// subscribe to and with the message that they understand, and nothing else does.
func TestPublished(t *testing.T) {
	for _, tt := range []struct {
		name, key, channel string
		cmd                *Command
		want               []string
	}{
		{"release", "k", "redisson_lock__channel:{k}", NewOwner("k", id("me:1")).Release(1, 0), []string{"0"}},
		{"release a name in braces", "{a}k", "redisson_lock__channel:{a}k", NewOwner("{a}k", id("me:1")).Release(1, 0), []string{"0"}},
		{"release one level", "k", "redisson_lock__channel:{k}", NewOwner("k", id("me:1")).Leave(1), nil},
		{"release for another", "k", "redisson_lock__channel:{k}", NewOwner("k", id("you:1")).Release(1, 0), nil},
		{"force", "k", "redisson_lock__channel:{k}", Force("k", 1), []string{"0"}},
		{"force a name in braces", "{a}k", "redisson_lock__channel:{a}k", Force("{a}k", 1), []string{"0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := redlocktest.Start(t, 1)
				heard := listen(t, f)
				conn := f.Pools()[0].Get()
				defer conn.Close()
				f.Master(0).HSet(tt.key, id("me:1"), "2")
				run(t, conn, tt.cmd)
				run(t, conn, tt.cmd) // a repeat publishes nothing
				var want []string
				for _, message := range tt.want {
					want = append(want, tt.channel+" "+message)
				}
				if got := heard(); !slices.Equal(got, want) {
					t.Errorf("published: got %q, want %q", got, want)
				}
			})
		})
	}
}

// listen subscribes to every channel. The function it returns tells what was published.
//
// Goroutines: one, which ends when the test closes its connection.
func listen(t *testing.T, f *redlocktest.Fleet) (heard func() []string) {
	t.Helper()
	conn, err := f.Pools()[0].DialContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	subscriber := redis.PubSubConn{Conn: conn}
	if err := subscriber.PSubscribe("*"); err != nil {
		t.Fatal(err)
	}
	var messages []string
	go func() {
		for {
			switch m := subscriber.Receive().(type) {
			case redis.Message:
				messages = append(messages, m.Channel+" "+string(m.Data))
			case error:
				return
			}
		}
	}()
	synctest.Wait()
	return func() []string {
		synctest.Wait()
		return messages
	}
}

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
			name: "held forever", before: endless, after: endless, cmd: Inspect("k"),
			answer: Answer{Outcome: Done, Holder: id("you:1"), Count: 1, Left: Never},
		},
		{
			name: "another program's hash", before: foreign, after: foreign, cmd: Inspect("k"),
			fails: "the key is no lock: it holds a hash whose only field is no owner",
		},
		{name: "no lock at the key", before: lock{other: "text"}, cmd: Inspect("k"), fails: "the key is no lock: it holds a string", after: lock{other: "text"}},
	})
}
