package script

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlocktest"
)

// hall is a master with a lock "k", and the scripts without a node.
type hall struct {
	t    *testing.T
	m    *redlocktest.Master
	pool *redis.Pool
	conn redis.Conn
}

const (
	short = 400 * time.Millisecond // for which asks want the lock passed
	shut  = "redisson_lock__channel:{k}"
)

func inHall(t *testing.T, f func(h *hall)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 1)
		h := &hall{t: t, m: fleet.Master(0), pool: fleet.Pools()[0]}
		h.conn = h.pool.Get()
		defer h.conn.Close()
		f(h)
	})
}

func (h *hall) run(cmd *Command) Answer { return run(h.t, h.conn, cmd) }

func (h *hall) do(command string, args ...any) {
	h.t.Helper()
	if _, err := h.conn.Do(command, args...); err != nil {
		h.t.Fatalf("%s: %v", command, err)
	}
}

// ask is the number-th ask of owner, who has waited since then.
func (h *hall) ask(owner string, number uint64, since int64) Answer {
	return h.run(NewOwner("k", owner).AcquireOrRegister(lease, QueueEntry{Round: number, Since: since, Lease: short, Proposal: 1}))
}

// held gives the lock to x:r0.
func (h *hall) held() { h.holder(id("x:r0")) }

func (h *hall) holder(owner string) {
	h.m.HSet("k", owner, "1")
	h.m.Expire("k", lease)
}

// queue returns who waits, the first one first, as "owner number".
func (h *hall) queue() []string {
	members, err := redis.Strings(h.conn.Do("ZRANGE", "redlock_wait:{k}", 0, -1))
	if err != nil {
		h.t.Fatal(err)
	}
	for i, m := range members {
		words := strings.Fields(m)
		members[i] = strings.Join(words[:min(2, len(words))], " ")
	}
	return members
}

func (h *hall) wantQueue(when string, want ...string) {
	h.t.Helper()
	if got := h.queue(); !slices.Equal(got, want) {
		h.t.Errorf("%s: queue is %q, want %q", when, got, want)
	}
}

// wantLock checks who has the lock and for how long.
func (h *hall) wantLock(when, owner string, left time.Duration) {
	h.t.Helper()
	if got, ttl := h.m.Holder("k"), h.m.TTL("k"); got != owner || ttl != left {
		h.t.Errorf("%s: %q has the lock for %v, want %q for %v", when, got, ttl, owner, left)
	}
}

func (h *hall) wantAnswer(when string, got Answer, outcome Outcome, holder string) {
	h.t.Helper()
	if got.Outcome != outcome || got.Holder != holder {
		h.t.Errorf("%s: answered %v, holder %q (%v), want %v, holder %q", when, got.Outcome, got.Holder, got.Err, outcome, holder)
	}
}

// post is what was published to some channels.
type post struct {
	mu   sync.Mutex
	mail []string
}

// subscribe collects what is published to the channels, for as long as the test.
func (h *hall) subscribe(channels ...string) *post {
	p := new(post)
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
				p.mail = append(p.mail, string(m.Data))
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

// listen is subscribe for the client of the owners "client:…".
func (h *hall) listen(name string) *post {
	return h.subscribe("redlock_wake:" + client(name))
}

// take returns what has come since it was called last.
func (p *post) take() []string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	mail := p.mail
	p.mail = nil
	return mail
}

func (p *post) want(t *testing.T, when string, want ...string) {
	t.Helper()
	if got := p.take(); !slices.Equal(got, want) {
		t.Errorf("%s: published %q, want %q", when, got, want)
	}
}
