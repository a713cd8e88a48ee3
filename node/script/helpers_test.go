package script

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"example.com/redlock/redlocktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lock is all that a master keeps of the lock "k" and of what lies at its keys instead.
type lock struct {
	owner, count string
	left         time.Duration // 0: no expiry
	other        string        // a string in place of the hash

	fence     string
	fenceLeft time.Duration
}

func (l lock) put(m *redlocktest.Master) {
	if l.owner != "" {
		m.HSet("k", l.owner, l.count)
	}
	if l.other != "" {
		m.Set("k", l.other)
	}
	if l.left > 0 {
		m.Expire("k", l.left)
	}
	if l.fence != "" {
		m.Set("redlock_fence:{k}", l.fence)
	}
	if l.fenceLeft > 0 {
		m.Expire("redlock_fence:{k}", l.fenceLeft)
	}
}

func lockAt(m *redlocktest.Master) lock {
	l := lock{
		other: m.Get("k"),
		left:  m.TTL("k"),
		fence: m.Get("redlock_fence:{k}"), fenceLeft: m.TTL("redlock_fence:{k}"),
	}
	for owner, count := range m.Hash("k") {
		l.owner, l.count = l.owner+owner, l.count+count
	}
	return l
}

// run lets m carry out cmd, without a node.
func run(t *testing.T, c redis.Conn, cmd *Command) Answer {
	t.Helper()
	words := cmd.Words(nil, true, false)
	reply, err := c.Do(words[0].(string), words[1:]...)
	refusal, refused := errors.AsType[redis.Error](err)
	switch {
	case refused:
		reply = refusal
	case err != nil:
		t.Fatal(err)
	}
	return cmd.Decode(reply)
}

// runAll lets m carry out all of them.
func runAll(t *testing.T, c redis.Conn, all ...*Command) (answers []Answer) {
	t.Helper()
	for _, cmd := range all {
		answers = append(answers, run(t, c, cmd))
	}
	return answers
}

// guarded returns cmd as it goes to a guarded master.
func guarded(cmd *Command) *Command {
	words := cmd.Words(nil, false, true)
	other := *cmd
	other.args = words[len(words)-len(cmd.args):]
	return &other
}

// scriptCase is one call of a script.
type scriptCase struct {
	name   string
	before lock
	cmd    *Command
	answer Answer
	fails  string // the error, when there is one
	after  lock
	again  Answer // to a repeat, if it is not the same
}

// runScripts checks each case and that a repeat changes nothing.
func runScripts(t *testing.T, cases []scriptCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := redlocktest.Start(t, 1)
				m := f.Master(0)
				conn := f.Pools()[0].Get()
				defer conn.Close()
				c.before.put(m)
				got := run(t, conn, c.cmd)
				if c.fails != "" {
					if got.Err == nil || !strings.Contains(got.Err.Error(), c.fails) {
						t.Errorf("answer: got %+v, want an error with %q", got, c.fails)
					}
				} else if !reflect.DeepEqual(got, c.answer) {
					t.Errorf("answer: got %+v, want %+v", got, c.answer)
				}
				if got := lockAt(m); got != c.after {
					t.Errorf("lock: got %+v, want %+v", got, c.after)
				}
				again := run(t, conn, c.cmd)
				if reflect.DeepEqual(c.again, Answer{}) {
					c.again = c.answer
				}
				if c.fails == "" && !reflect.DeepEqual(again, c.again) {
					t.Errorf("answer to a repeat: got %+v, want %+v", again, c.again)
				}
				if got := lockAt(m); got != c.after {
					t.Errorf("lock after a repeat: got %+v, want %+v", got, c.after)
				}
			})
		})
	}
}

// What the cases have in common.
const (
	lease     = 30 * time.Second
	fenceLeft = lease + time.Hour // of a counter that was just set
	big       = MaxToken          // all digits must survive Lua's float64
)

func done(token int64) Answer { return Answer{Outcome: Done, Token: token} }

func decimal(n int64) string { return fmt.Sprint(n) }

// notLock is the error of a key that holds something else, as holder.lua tells it.
func notLock(what string) error { return Meaning(redis.Error("NOTLOCK " + what)) }

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

// scriptFixture runs scripts on a master with a lock "k", without a node.
type scriptFixture struct {
	t    *testing.T
	m    *redlocktest.Master
	pool *redis.Pool
	conn redis.Conn
}

const (
	short        = 400 * time.Millisecond // for which waiters want the lock handed to them
	freedChannel = "redisson_lock__channel:{k}"
)

func withScripts(t *testing.T, f func(h *scriptFixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 1)
		h := &scriptFixture{t: t, m: fleet.Master(0), pool: fleet.Pools()[0]}
		h.conn = h.pool.Get()
		defer h.conn.Close()
		f(h)
	})
}

func (h *scriptFixture) run(cmd *Command) Answer { return run(h.t, h.conn, cmd) }

func (h *scriptFixture) do(command string, args ...any) {
	h.t.Helper()
	if _, err := h.conn.Do(command, args...); err != nil {
		h.t.Fatalf("%s: %v", command, err)
	}
}

// register is the given round of owner, who has waited since then.
func (h *scriptFixture) register(owner string, number uint64, since int64) Answer {
	return h.run(NewOwner("k", owner).AcquireOrRegister(lease, QueueEntry{Round: number, Since: since, Lease: short, Proposal: 1}))
}

// heldByX gives the lock to x:r0.
func (h *scriptFixture) heldByX() { h.heldBy(id("x:r0")) }

func (h *scriptFixture) heldBy(owner string) {
	h.m.HSet("k", owner, "1")
	h.m.Expire("k", lease)
}

// queue returns who waits, the first one first, as "owner number", without the number of an ask that
// is stale.
func (h *scriptFixture) queue() []string {
	members, err := redis.Strings(h.conn.Do("ZRANGE", "redlock_wait:{k}", 0, -1))
	if err != nil {
		h.t.Fatal(err)
	}
	for i, m := range members {
		if round, _, ok := strings.Cut(h.m.Get("redlock_wait:{k}"+m), " "); ok {
			members[i] = m + " " + round
		}
	}
	return members
}

func (h *scriptFixture) wantQueue(when string, want ...string) {
	h.t.Helper()
	if got := h.queue(); !slices.Equal(got, want) {
		h.t.Errorf("%s: queue is %q, want %q", when, got, want)
	}
}

// wantLock checks who has the lock and for how long.
func (h *scriptFixture) wantLock(when, owner string, left time.Duration) {
	h.t.Helper()
	if got, ttl := h.m.Holder("k"), h.m.TTL("k"); got != owner || ttl != left {
		h.t.Errorf("%s: %q has the lock for %v, want %q for %v", when, got, ttl, owner, left)
	}
}

func (h *scriptFixture) wantAnswer(when string, got Answer, outcome Outcome, holder string) {
	h.t.Helper()
	if got.Outcome != outcome || got.Holder != holder {
		h.t.Errorf("%s: answered %v, holder %q (%v), want %v, holder %q", when, got.Outcome, got.Holder, got.Err, outcome, holder)
	}
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

func (p *mailbox) want(t *testing.T, when string, want ...string) {
	t.Helper()
	if got := p.take(); !slices.Equal(got, want) {
		t.Errorf("%s: published %q, want %q", when, got, want)
	}
}

// portion is how many of all seeds of a simulation to run: a tenth with -short, as in make unit,
// where the race detector makes each ten times as slow. make sim runs all.
func portion(all uint64) uint64 {
	if testing.Short() {
		return (all + 9) / 10
	}
	return all
}
