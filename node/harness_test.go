package node

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

const (
	timeout = 500 * time.Millisecond
	lease   = 30 * time.Second
	short   = 400 * time.Millisecond // for which waiters want the lock handed to them
)

var quiet = slog.New(slog.DiscardHandler)

// bubble runs f in a synctest bubble, with one master that runs for a day.
func bubble(t *testing.T, f func(*testing.T, *redlocktest.Master, Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 1)
		m := fleet.Master(0)
		f(t, m, Config{
			Name:     m.Name(),
			Pool:     fleet.Pools()[0],
			Timeout:  timeout,
			MaxLease: lease,
			Registry: new(Registry),
			Logger:   quiet,
		})
	})
}

// start makes a node and closes it when the test ends.
func start(t *testing.T, cfg Config) *Node {
	t.Helper()
	n := New(cfg)
	t.Cleanup(n.Close)
	return n
}

// started makes a node that has been up for a while, so that it is given another chance
// at once when its connection breaks, and whose master has all scripts. The next beat is half a
// heartbeat away: what a test does at an instant of its own does not race with it.
func started(t *testing.T, cfg Config) *Node {
	t.Helper()
	n := start(t, cfg)
	for _, cmd := range []*script.Command{
		script.NewOwner("first", "me:0").Acquire(lease, 1),
		script.Renew(lease, []script.Renewal{{Owner: script.NewOwner("first", "me:0"), Count: 1, Token: 1}}),
		script.Inspect("first"),
		script.NewOwner("first", "me:0").Release(1, 0),
		script.Force("first", 1),
	} {
		send(n, cmd).wait()
	}
	time.Sleep(2*heartbeat + heartbeat/2)
	if !n.isUp() {
		t.Fatal("up after the first commands: got false")
	}
	return n
}

// reply is an answer and when it came.
type reply struct {
	script.Answer
	after time.Duration
	times int
}

// pending is one command on its way. It implements Receiver.
type pending struct {
	sent time.Time
	mu   sync.Mutex
	got  reply
	done chan struct{}
}

// send sends cmd and does not wait.
func send(n *Node, cmd *script.Command) *pending {
	p := &pending{sent: time.Now(), done: make(chan struct{})}
	n.Send(cmd, p, 7)
	return p
}

func (p *pending) Answer(i int, a script.Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i != 7 {
		a = script.Answer{Err: fmt.Errorf("answered as number %d", i)}
	}
	p.got.times++
	if p.got.times == 1 {
		p.got.Answer, p.got.after = a, time.Since(p.sent)
		close(p.done)
	}
}

// wait waits for the answer, and for what the node does at the same instant: when one
// command times out, the connection may as well.
func (p *pending) wait() reply {
	<-p.done
	synctest.Wait()
	return p.look()
}

// look returns the answer, if it has come: times is 0 otherwise.
func (p *pending) look() reply {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.got
}

// id writes an owner, and what may stand behind it, in full: its client is a UUID.
func id(owner string) string {
	name, rest, _ := strings.Cut(owner, ":")
	return client(name) + ":" + rest
}

// client returns a UUID that has a client's name in it.
func client(name string) string {
	digits := fmt.Sprintf("%x", name)
	return uuid.MustParse(strings.Repeat("0", 32-len(digits)) + digits).String()
}

// run lets a master carry out cmd, without a node.
func run(t *testing.T, c redis.Conn, cmd *script.Command) script.Answer {
	t.Helper()
	reply, err := c.Do("EVAL", cmd.Arguments(true, false)...)
	if err != nil {
		t.Fatal(err)
	}
	a, err := cmd.Decode(reply)
	if err != nil {
		t.Fatalf("decode %v: %v", reply, err)
	}
	return a
}

// nobody waits for an answer.
type nobody struct{}

func (nobody) Answer(int, script.Answer) {}

// call1 sends cmd and waits for the answer.
func call1(n *Node, cmd *script.Command) reply { return send(n, cmd).wait() }

// want checks the outcome of a command.
func want(t *testing.T, name string, got reply, want script.Outcome) {
	t.Helper()
	if got.Outcome != want {
		t.Fatalf("%s: got %v (%v), want %v", name, got.Outcome, got.Err, want)
	}
}

// wantAt checks when an answer came.
func wantAt(t *testing.T, name string, got reply, want time.Duration) {
	t.Helper()
	if got.after != want {
		t.Errorf("%s: answered after %v, want %v", name, got.after, want)
	}
}

// wantErr checks the outcome of a command and the text of its error.
func wantErr(t *testing.T, name string, got reply, outcome script.Outcome, text string) {
	t.Helper()
	want(t, name, got, outcome)
	if text != "" && !contains(got.Err, text) {
		t.Errorf("%s: got error %v, want one with %q", name, got.Err, text)
	}
}

func contains(err error, text string) bool {
	return err != nil && strings.Contains(err.Error(), text)
}

// wantHolder checks who has the lock key at m.
func wantHolder(t *testing.T, m *redlocktest.Master, key, want string) {
	t.Helper()
	if got := m.Holder(key); got != want {
		t.Errorf("holder of %s: got %q, want %q", key, got, want)
	}
}

func (n *Node) look() (state, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state, n.reason
}

func (n *Node) debts() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	owed := n.unacked.len()
	if n.link != nil {
		owed += len(n.link.resends)
	}
	return owed
}

// until returns how long it takes until what is true, and fails the test after limit.
func until(t *testing.T, limit time.Duration, what func() bool) time.Duration {
	t.Helper()
	begin := time.Now()
	for !what() {
		if time.Since(begin) > limit {
			t.Fatalf("not true after %v", limit)
		}
		time.Sleep(time.Millisecond)
	}
	return time.Since(begin)
}

func (n *Node) isUp() bool {
	s, _ := n.look()
	return s == up
}

func (n *Node) isDown() bool {
	s, _ := n.look()
	return s == down
}
