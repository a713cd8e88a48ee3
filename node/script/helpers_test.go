package script

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
	"go.uber.org/goleak"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlocktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sent tells of a command.
func sent(c *Command) string {
	if c == nil {
		return "nothing"
	}
	verbs := [...]string{"plain", "acquire", "ask", "register", "release", "force", "renew", "enter", "leave", "raise", "inspect"}
	return fmt.Sprintf("%s of %v: %v", verbs[c.verb], c.name, c.args)
}

// sentTo returns cmd as it goes to a master that is guarded, or is not.
func sentTo(guarded bool, cmd *Command) *Command {
	words := cmd.Words(nil, guarded)
	other := *cmd
	other.args = words[len(words)-len(cmd.args):]
	return &other
}

const (
	lease = 30 * time.Second
	short = 400 * time.Millisecond // for which waiters want the lock handed to them
)

// asked is the first ask of who has waited since then.
func asked(since int64) QueueEntry {
	return QueueEntry{Round: 1, Since: since, Lease: short, Proposal: 50}
}

// reader returns the owner of a reader of "k".
func reader(owner string) *Owner { return NewReader("k", id(owner)) }

// id and client write an owner, and its client, in full.
var id, client = check.Owner, check.Client

// scriptFixture runs scripts on a master with a lock "k", without a node.
type scriptFixture struct {
	t    *testing.T
	m    *redlocktest.Master
	pool *redis.Pool
	conn redis.Conn
}

func withScripts(t *testing.T, f func(h *scriptFixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 1)
		h := &scriptFixture{t: t, m: fleet.Master(0), pool: fleet.Pools()[0]}
		h.conn = h.pool.Get()
		defer h.conn.Close()
		for _, s := range cached {
			h.do("SCRIPT", "LOAD", s.source)
		}
		f(h)
	})
}

// run lets the master carry out cmd, without a node.
func (h *scriptFixture) run(cmd *Command) Answer {
	h.t.Helper()
	words := cmd.Words(nil, false)
	reply, err := h.conn.Do(words[0].(string), words[1:]...)
	refusal, refused := errors.AsType[redis.Error](err)
	switch {
	case refused:
		reply = refusal
	case err != nil:
		h.t.Fatal(err)
	}
	return cmd.Decode(reply)
}

func (h *scriptFixture) do(command string, args ...any) {
	h.t.Helper()
	if _, err := h.conn.Do(command, args...); err != nil {
		h.t.Fatalf("%s: %v", command, err)
	}
}

// heldByX gives the lock to x:r0.
func (h *scriptFixture) heldByX() {
	h.m.HSet("k", id("x:r0"), "1")
	h.m.Expire("k", lease)
}

// mailbox is what was published to some channels.
type mailbox struct {
	mu       sync.Mutex
	messages []string
}

// subscribe collects what is published to the channels, for as long as the test.
func (h *scriptFixture) subscribe(channels ...string) *mailbox {
	p := new(mailbox)
	sub := redis.PubSubConn{Conn: h.pool.Get()}
	if err := sub.Subscribe(redis.Args{}.AddFlat(channels)...); err != nil {
		h.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			switch m := sub.ReceiveWithTimeout(0).(type) {
			case redis.Message:
				p.mu.Lock()
				p.messages = append(p.messages, string(m.Data))
				p.mu.Unlock()
			case error:
				return
			}
		}
	}()
	h.t.Cleanup(func() {
		ctx, cancel := context.WithDeadline(context.Background(), time.Time{})
		defer cancel()
		_, _ = redis.ReceiveContext(sub.Conn, ctx) // the receiver returns
		<-done
		_ = sub.Close()
	})
	synctest.Wait()
	return p
}

// subscribeClient is subscribe for the client of the owners "name:…".
func (h *scriptFixture) subscribeClient(name string) *mailbox {
	return h.subscribe("redlock_wake:" + client(name))
}

// take returns what has come since it was called last.
func (p *mailbox) take() []string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	mail := p.messages
	p.messages = nil
	return mail
}
