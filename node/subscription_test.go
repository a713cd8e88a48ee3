package node

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/bent"
	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
	"example.com/redlock/redlocktest"
)

// recorder is a Subscriber and an Observer that writes down what it is told, as number 7.
type recorder struct {
	does  Activity
	mu    sync.Mutex
	lines []string
}

func (d *recorder) write(i int, format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i != 7 {
		format += " (told as another)"
	}
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *recorder) HandedOff(i int, p script.HandOff) {
	d.write(i, "handed off %s %d %d %s", p.Owner, p.Round, p.Token, p.Key)
}

func (d *recorder) Freed(i int, key string) { d.write(i, "freed %s", key) }

func (d *recorder) Subscribed(i int, on bool) { d.write(i, "subscribed %v", on) }

func (d *recorder) Wanted(i int, key, owner string) { d.write(i, "wanted %s of %s", key, owner) }

func (d *recorder) Activity() Activity { return d.does }

func (d *recorder) Gained(i int, most time.Duration) { d.write(i, "gained %v", most) }

func (d *recorder) Steady(i int) { d.write(i, "steady") }

func (d *recorder) Doubted(i int) { d.write(i, "doubted") }

// read returns what was written since it was called last.
func (d *recorder) read() []string {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.lines
	d.lines = nil
	return lines
}

func (d *recorder) want(t *testing.T, when string, want ...string) {
	t.Helper()
	got := d.read()
	check.That(t, slices.Equal(got, want), "%s: told %q, want %q", when, got, want)
}

// subscribed runs f in a bubble, with a node that is subscribed for client a.
func subscribed(t *testing.T, f func(*testing.T, *redlocktest.Master, *Node, *recorder)) {
	t.Helper()
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n, d := started(t, cfg), new(recorder)
		n.Subscribe("a", d)
		d.want(t, "after Subscribe", "subscribed true")
		f(t, m, n, d)
	})
}

// publish returns how many received it.
func publish(t *testing.T, m *redlocktest.Master, channel, message string) int {
	t.Helper()
	conn, err := m.Dial(t.Context())
	check.OK(t, err)
	c := redis.NewConn(conn, 0, 0)
	defer c.Close()
	received, err := redis.Int(c.Do("PUBLISH", channel, message))
	check.OK(t, err)
	return received
}

// The subscription is made again when the connection breaks, to whichever process is there then.
func TestSubscriptionComesBack(t *testing.T) {
	for _, tt := range []struct {
		name       string
		fault, end func(*redlocktest.Master)
	}{
		{"restart", (*redlocktest.Master).Restart, (*redlocktest.Master).Mend},
		{"killed for a while", (*redlocktest.Master).Kill, (*redlocktest.Master).Restart},
		{"frozen for a while", (*redlocktest.Master).Freeze, (*redlocktest.Master).Thaw},
		{"cut off for a while", (*redlocktest.Master).Cut, (*redlocktest.Master).Mend},
	} {
		t.Run(tt.name, func(t *testing.T) {
			subscribed(t, func(t *testing.T, m *redlocktest.Master, n *Node, d *recorder) {
				tt.fault(m)
				time.Sleep(5 * time.Second)
				tt.end(m)
				time.Sleep(3 * time.Second)
				d.want(t, "afterwards", "subscribed false", "subscribed true")
				publish(t, m, "redlock_wake:a", "a:r1 1 2 k")
				d.want(t, "a message", "handed off a:r1 1 2 k")
			})
		})
	}
}

// Whoever may publish may publish anything, as often as they like: the log has it once, and not all.
func TestUnexpectedMessages(t *testing.T) {
	for _, message := range []string{"", "0", "a:r1", "b:r1 1 2 k", "a 1 2 k", "a:r1 -1 2 k", "a:r1 1 -2 k", "a:r1 x 2 k", "a:r1 1 2 ", strings.Repeat("x", 3000)} {
		subtest(t, message[:min(len(message), 10)], func(t *testing.T, m *redlocktest.Master, cfg Config) {
			var log strings.Builder
			cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
			n, d := started(t, cfg), new(recorder)
			n.Subscribe("a", d)
			d.read()
			log.Reset()
			for range 3 {
				publish(t, m, "redlock_wake:a", message)
			}
			d.want(t, "a message that is none")
			check.That(t, strings.Count(log.String(), "unexpected message") == 1 && log.Len() <= 500, "log: got %.600q, want the message once, and no more than its beginning", &log)
		})
	}
}

// Redisson's channel is subscribed as long as somebody watches, and messages that came before
// are made good by a hint at once.
func TestWatch(t *testing.T) {
	subscribed(t, func(t *testing.T, m *redlocktest.Master, n *Node, d *recorder) {
		unlocked := func() { publish(t, m, script.FreedChannel("k"), "0") }
		unlocked()
		d.want(t, "not watched")
		n.Watch("k")
		d.want(t, "watched", "freed k")
		n.Watch("k")
		unlocked()
		d.want(t, "watched twice", "freed k")
		n.Unwatch("k")
		unlocked()
		d.want(t, "watched once", "freed k")
		m.Restart()
		time.Sleep(3 * time.Second)
		got := d.read()
		check.That(t, slices.Contains(got, "freed k"), "after a restart: told %q, want that k may be free", got)
		unlocked()
		d.want(t, "after a restart", "freed k")
		n.Unwatch("k")
		synctest.Wait()
		check.Equal(t, publish(t, m, script.FreedChannel("k"), "0"), 0, "who listens, when it is not watched any more")
		d.want(t, "not watched any more")
		n.Watch("k")
		d.read()
		unlocked()
		d.want(t, "watched again", "freed k")
		publish(t, m, "redlock_wake:a", "a:r1 0 0 k")
		d.want(t, "a lock that is left to them, and may be free in a moment", "freed k")
	})
}

// TestNoSubscriptionElsewhere: a name that has come to lead to another process, or to one that does not say which it is, hands
// off nothing: that would be no vote of the process that commands go to. It is tried again and again, and logged once.
func TestNoSubscriptionElsewhere(t *testing.T) {
	for says, hide := range map[string]func(*redis.Pool) *redis.Pool{
		errOther.Error(): func(p *redis.Pool) *redis.Pool { return p },
		"the user needs the permission +info": func(p *redis.Pool) *redis.Pool {
			return bent.Reply(p, "INFO", redis.Error("NOPERM this user has no permissions to run the 'info' command"))
		},
	} {
		subtest(t, says, func(t *testing.T, _ *redlocktest.Master, cfg Config) {
			fleet, at := redlocktest.Start(t, 2), new(atomic.Int32)
			cfg.Pool = hide(&redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
				return fleet.Pools()[at.Load()].DialContext(ctx)
			}})
			log := logged(&cfg)
			n, d := started(t, cfg), new(recorder)
			at.Store(1)
			n.Subscribe("a", d)
			time.Sleep(10 * time.Second)
			d.want(t, "while the name leads elsewhere")
			log.want(t, 1, "no subscription", says)
			check.Between(t, fleet.Master(1).Calls("INFO"), 10, 40, "tries in 10 s")
		})
	}
}

// TestSubscriptionFallsSilent: a subscription on which nothing arrives any more is made again, and the
// connection for commands stays. A PING that is still on its way is no silence, also where the one before was sent as long
// ago as a master may be silent.
func TestSubscriptionFallsSilent(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		var wires []*redlocktest.Wire
		cfg.Pool = &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
			wires = append(wires, m.Wire())
			conn, err := wires[len(wires)-1].Dial(ctx)
			return redis.NewConn(conn, 0, 0), err
		}}
		cfg.Lease = heartbeat // so that PINGs are less than hopeless*timeout apart
		n, d := started(t, cfg), new(recorder)
		m.Delay(100 * time.Millisecond)
		n.Subscribe("a", d)
		time.Sleep(10 * time.Minute)
		d.want(t, "while all is well", "subscribed true")
		wires[1].Cut(true, true)
		time.Sleep(longSilence + hopeless*timeout + time.Second)
		d.want(t, "after a silence", "subscribed false", "subscribed true")
		check.That(t, len(wires) == 3 && n.isUp(), "%d connections were made, up %v; want 3, true", len(wires), n.isUp())
	})
}

// TestHandOffAfterTheConnection: nor has a process to which commands go no more, or for no longer,
// when its message is read.
func TestHandOffAfterTheConnection(t *testing.T) {
	const message = "a:r1 1 9 k"
	subscribed(t, func(t *testing.T, m *redlocktest.Master, n *Node, d *recorder) {
		n.mu.Lock()
		before := n.link
		n.mu.Unlock()
		n.subscription.deliver(before, message)
		d.want(t, "at first", "handed off "+message)

		reconnect(t, m, n)
		d.read()
		n.subscription.deliver(before, message)
		d.want(t, "from a connection before")

		n.mu.Lock()
		now := n.link
		now.giveUp(server.ErrReplica)
		n.mu.Unlock()
		n.subscription.deliver(now, message)
		got := d.read()
		check.That(t, !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, "handed off") }), "from one that is given up: told %q", got)
	})
}

// TestNoHandOffWithoutAVote: a master whose votes do not count frees what is released there, and hands nothing
// off: who waits stays in its queue. What it hands off for another client is not delivered.
func TestNoHandOffWithoutAVote(t *testing.T) {
	nothing := func(*redlocktest.Master) {}
	for _, tt := range []struct {
		name        string
		first, then func(*redlocktest.Master)
	}{
		{"young", (*redlocktest.Master).Restart, nothing},
		{"promoted", promote, nothing},
		{"unsteady", nothing, func(m *redlocktest.Master) { m.Skew(5 * time.Second) }},
	} {
		subtest(t, tt.name, func(t *testing.T, m *redlocktest.Master, cfg Config) {
			cfg.Guard = guard
			tt.first(m)
			n, d := start(t, cfg), new(recorder)
			waitUntil(t, time.Second, n.isUp)
			n.Subscribe(client("a"), d)
			d.want(t, "after Subscribe", "subscribed true")
			tt.then(m)
			waitUntil(t, 2*heartbeat, func() bool { return n.Ready() != nil })
			conn := cfg.Pool.Get()
			defer conn.Close()
			holder, waiter := script.NewOwner("k", id("x:r0")), script.NewOwner("k", id("a:r1"))
			wait := func() {
				t.Helper()
				m.HSet("k", holder.ID, "1")
				m.Expire("k", lease)
				run(t, conn, waiter.AcquireOrRegister(lease, script.QueueEntry{Round: 1, Since: 10, Lease: short, Proposal: 1}))
			}
			wait()
			run(t, conn, holder.Release(1, 0)) // by another client, which does not know
			d.want(t, "after a hand-off")
			wantHolder(t, m, "k", waiter.ID)
			m.Del("k")

			wait()
			want(t, "release", sendAndWait(n, holder.Release(1, 0)), script.Done)
			d.want(t, "after a release")
			wantHolder(t, m, "k", "")
			check.Equal(t, len(m.ZSet("redlock_wait:{k}")), 1, "waiters")

			waitUntil(t, 2*minRecovery, func() bool { return n.Ready() == nil })
			wait()
			want(t, "release", sendAndWait(n, holder.Release(1, 0)), script.Done)
			wantHolder(t, m, "k", waiter.ID)
			got := strings.Join(d.read(), ", ")
			check.That(t, strings.HasPrefix(got, "handed off "+waiter.ID), "when its votes count again: told %q", got)
		})
	}
}

// TestChannelThatIsRefused: a subscription to which a further channel is refused is none, and tried again and again. The log
// says so once.
func TestChannelThatIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		log := logged(&cfg)
		cfg.Pool = bent.Reply(cfg.Pool, "SUBSCRIBE redisson", redis.Error("NOPERM No permissions to access a channel"))
		n, d := started(t, cfg), new(recorder)
		n.Subscribe("a", d)
		d.want(t, "after Subscribe", "subscribed true")
		n.Watch("k")
		time.Sleep(10 * time.Second)
		got := d.read()
		check.That(t, len(got) > 10 && got[0] == "subscribed false" && got[1] == "subscribed true", "told %q, want that it breaks and is made again", got)
		log.want(t, 1, "no subscription", "NOPERM")
	})
}
