package node

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
	"go.uber.org/goleak"

	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
	"example.com/redlock/redlocktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	timeout = 500 * time.Millisecond
	lease   = 30 * time.Second
	short   = 400 * time.Millisecond // for which waiters want the lock handed to them

	// As package server has them.
	firstRetry = 20 * time.Millisecond
	lastRetry  = 500 * time.Millisecond
	noticed    = 50 * time.Millisecond
	mostLent   = 2
)

var quiet = slog.New(slog.DiscardHandler)

// bubble runs f in a synctest bubble, with one master that runs for a day.
func bubble(t *testing.T, f func(*testing.T, *redlocktest.Master, Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 1)
		m := fleet.Master(0)
		f(t, m, Config{
			Index:    7,
			Name:     m.Name(),
			Pool:     fleet.Pools()[0],
			Timeout:  timeout,
			MaxLease: lease,
			Registry: new(Registry),
			Logger:   quiet,
		})
	})
}

// subtest runs f as a subtest, in a bubble.
func subtest(t *testing.T, name string, f func(*testing.T, *redlocktest.Master, Config)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { bubble(t, f) })
}

// start makes a node and closes it when the test ends.
func start(t *testing.T, cfg Config) *Node {
	t.Helper()
	n := New(cfg)
	t.Cleanup(n.Close)
	return n
}

// started makes a node that has been up for a while, so that it reconnects at once when its
// connection breaks. The next heartbeat is half a second away, so that it does not race with what
// a test does.
func started(t *testing.T, cfg Config) *Node {
	t.Helper()
	n := start(t, cfg)
	want(t, "the first command", sendAndWait(n, script.Inspect("first")), script.Done)
	time.Sleep(2*heartbeat + heartbeat/2)
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
	n.Send(cmd, p)
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
	select {
	case <-p.done:
	case <-time.After(time.Hour):
		panic("no answer after an hour")
	}
	synctest.Wait()
	return p.look()
}

// look returns the answer, if it has come: times is 0 otherwise.
func (p *pending) look() reply {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.got
}

// id and client write an owner, and its client, in full.
var id, client = check.Owner, check.Client

// run lets a master carry out cmd, without a node. It must have the scripts.
func run(t *testing.T, c redis.Conn, cmd *script.Command) script.Answer {
	t.Helper()
	words := cmd.Words(nil, false)
	reply, err := c.Do(words[0].(string), words[1:]...)
	check.OK(t, err)
	return cmd.Decode(reply)
}

// sendAndWait sends cmd and waits for the answer.
func sendAndWait(n *Node, cmd *script.Command) reply { return send(n, cmd).wait() }

// want checks the outcome of a command.
func want(t *testing.T, name string, got reply, want script.Outcome) {
	t.Helper()
	if got.Outcome != want {
		t.Fatalf("%s: got %v (%v), want %v", name, got.Outcome, got.Err, want)
	}
}

// wantErr checks the outcome of a command and the text of its error.
func wantErr(t *testing.T, name string, got reply, outcome script.Outcome, text string) {
	t.Helper()
	want(t, name, got, outcome)
	check.That(t, text == "" || contains(got.Err, text), "%s: got error %v, want one with %q", name, got.Err, text)
}

func contains(err error, text string) bool {
	return err != nil && strings.Contains(err.Error(), text)
}

// wantHolder checks who has the lock key at m.
func wantHolder(t *testing.T, m *redlocktest.Master, key, want string) {
	t.Helper()
	check.Equal(t, m.Holder(key), want, "holder of %s", key)
}

func (n *Node) unackedCount() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	owed := n.unacked.len()
	if n.link != nil {
		owed += n.link.resends.Len()
	}
	return owed
}

// waitUntil waits until what is true, and fails the test after limit. It looks when all that happens at an instant has
// happened, so that it notices at once.
func waitUntil(t *testing.T, limit time.Duration, what func() bool) {
	t.Helper()
	synctest.Wait()
	for begin := time.Now(); !what(); synctest.Wait() {
		if time.Since(begin) > limit {
			t.Fatalf("not true after %v", limit)
		}
		time.Sleep(time.Millisecond)
	}
}

func (n *Node) isUp() bool { return n.Met() && !n.Down() }

// logRecorder keeps what is logged.
type logRecorder struct{ check.Output }

// logged has what cfg's node logs kept.
func logged(cfg *Config) *logRecorder {
	j := new(logRecorder)
	cfg.Logger = slog.New(slog.NewTextHandler(j, nil))
	return j
}

// want checks how many lines have all of words.
func (j *logRecorder) want(t *testing.T, count int, words ...string) {
	t.Helper()
	got := j.Lines(words...)
	check.That(t, len(got) == count, "lines with %q: got %d, want %d, in\n%s", words, len(got), count, j)
}

// dialing returns a pool whose connections dial makes.
func dialing(t *testing.T, dial func(ctx context.Context, network, address string) (net.Conn, error)) *redis.Pool {
	t.Helper()
	pool, _, err := server.Dialer{Dial: dial}.Pool("m1")
	check.OK(t, err)
	return pool
}

// killAndWait kills m and waits until n knows.
func killAndWait(t *testing.T, m *redlocktest.Master, n *Node) {
	t.Helper()
	m.Kill()
	waitUntil(t, 3*time.Second, n.Down)
}

// ownerNumber returns the i-th of many owners.
func ownerNumber(i int) *script.Owner { return script.NewOwner("k", fmt.Sprint("me:", i)) }

// scriptCalls is how many calls of scripts m has had.
func scriptCalls(m *redlocktest.Master) int64 { return m.Calls("EVAL") + m.Calls("EVALSHA") }

// givenUp is when a connection on which nothing is answered has been replaced.
const givenUp = hopeless*timeout + 3*firstRetry

// reconnect makes n open another connection to the same process.
func reconnect(t *testing.T, m *redlocktest.Master, n *Node) {
	t.Helper()
	before := m.Calls("INFO")
	m.Delay(time.Hour)
	lost := send(n, script.Inspect("k"))
	synctest.Wait()
	m.Delay(0)
	want(t, "over the connection that breaks", lost.wait(), script.Unknown)
	waitUntil(t, givenUp, n.isUp)
	if m.Calls("INFO") == before {
		t.Fatal("handshakes: got no more")
	}
}
