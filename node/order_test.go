package node

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
	"pgregory.net/rapid"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// sequence takes the answers to many commands and remembers in which order they came.
type sequence struct {
	mu  sync.Mutex
	got []string
	all sync.WaitGroup
}

func (s *sequence) Answer(i int, a script.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, fmt.Sprint(i, a.Outcome, a.Holder))
	s.all.Done()
}

// TestAnswersFindTheirCommands: many callers share the connection, and each gets its own
// answers, in the order of its Sends.
func TestAnswersFindTheirCommands(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		const callers, each = 40, 50
		var finished sync.WaitGroup
		for caller := range callers {
			key, owner := fmt.Sprint("key", caller), id(fmt.Sprint("owner:", caller))
			m.HSet(key, owner, "1")
			finished.Go(func() {
				var s sequence
				s.all.Add(each)
				for i := range each {
					n.Send(script.Inspect(key), &s, i)
				}
				s.all.Wait()
				for i, got := range s.got {
					if want := fmt.Sprint(i, script.Done, owner); got != want {
						t.Errorf("answer %d of %s: got %s, want %s", i, key, got, want)
						return
					}
				}
			})
		}
		finished.Wait()
		if got := m.Connections(); got != 1 {
			t.Errorf("connections: got %d, want 1", got)
		}
	})
}

// TestReleaseDoesNotOvertake: a release that is sent right behind its acquire frees it.
func TestReleaseDoesNotOvertake(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		for i := range 100 {
			owner := fmt.Sprint("me:", i)
			acquired := send(n, script.NewOwner("k", owner).Acquire(lease, 1))
			released := send(n, script.NewOwner("k", owner).Release(1, 0))
			want(t, "acquire", acquired.wait(), script.Done)
			want(t, "release", released.wait(), script.Done)
		}
	})
}

// TestSlowAnswer: a command whose answer takes longer than Timeout is Unknown by then,
// but as long as the connection answers anything, it lives, the late answer is dropped
// and the next one belongs to the next command.
//
// With a timeout of 1 s, a comes back after 0.8 s, b, sent at 0.5 s, at 1.7 s.
func TestSlowAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		cfg.Timeout = time.Second
		n := started(t, cfg)
		for i, key := range []string{"a", "b", "c"} {
			m.HSet(key, id(fmt.Sprint("owner:", i)), "1")
		}
		m.Delay(400 * time.Millisecond)
		a := send(n, script.Inspect("a"))
		time.Sleep(500 * time.Millisecond)
		m.Delay(600 * time.Millisecond)
		b := send(n, script.Inspect("b"))
		time.Sleep(700 * time.Millisecond)
		m.Delay(0)
		c := send(n, script.Inspect("c"))

		want(t, "a", a.wait(), script.Done)
		wantAt(t, "a", a.look(), 800*time.Millisecond)
		wantErr(t, "b", b.wait(), script.Unknown, ErrTimeout.Error())
		wantAt(t, "b", b.look(), time.Second)
		want(t, "c", c.wait(), script.Done)
		wantAt(t, "c", c.look(), 500*time.Millisecond)
		if a.look().Holder != id("owner:0") || c.look().Holder != id("owner:2") {
			t.Errorf("holders: got %q and %q, want owners 0 and 2", a.look().Holder, c.look().Holder)
		}
		if got := b.look().times; got != 1 {
			t.Errorf("answers to b: got %d, want 1", got)
		}
		if !n.isUp() {
			t.Error("up after a late answer: got false")
		}
	})
}

// sendChain sends the next command from within the answer to the last one.
type sendChain struct {
	node *Node
	left int
	done chan struct{}
}

func (c *sendChain) Answer(int, script.Answer) {
	c.node.Guard()
	if c.left--; c.left == 0 {
		close(c.done)
		return
	}
	c.node.Send(script.Inspect("k"), c, 0)
}

// TestSendFromAnswer: a receiver may use the node, whoever calls it: the reader, the
// timer, the connecting goroutine or Send itself.
func TestSendFromAnswer(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault func(*testing.T, *redlocktest.Master, *Node)
	}{
		{"up", func(*testing.T, *redlocktest.Master, *Node) {}},
		{"frozen", func(_ *testing.T, m *redlocktest.Master, _ *Node) { m.Freeze() }},
		{"killed", func(_ *testing.T, m *redlocktest.Master, _ *Node) { m.Kill() }},
		{"down", func(t *testing.T, m *redlocktest.Master, n *Node) {
			m.Kill()
			waitUntil(t, 3*time.Second, n.isDown)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				tt.fault(t, m, n)
				c := &sendChain{node: n, left: 20, done: make(chan struct{})}
				n.Send(script.Inspect("k"), c, 0)
				<-c.done
			})
		})
	}
}

// TestUnackedReleasesOfTwoOutages: what is left to be sent again from an
// earlier outage comes before what a later one left.
func TestUnackedReleasesOfTwoOutages(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		var hung atomic.Bool
		cfg.Pool = withBentConns(cfg.Pool, &bendRules{drop: func(words string) bool {
			return hung.Load() && strings.HasPrefix(words, "EVAL")
		}})
		n := started(t, cfg)
		a, b := script.NewOwner("k", "me:1"), script.NewOwner("k", "me:2")
		want(t, "acquire", sendAndWait(n, a.Acquire(lease, 1)), script.Done)
		time.Sleep(heartbeat * 6 / 10) // no beat comes behind what is swallowed
		// b enters the queue, and then leaves it: it must not be there in the end.
		hung.Store(true)
		want(t, "release", sendAndWait(n, a.ReleaseTo(1, 0, b, script.QueueEntry{Round: 1, Since: 7, Lease: time.Hour, Proposal: 1})), script.Unknown)
		waitUntil(t, 5*time.Second, n.isDown)
		time.Sleep(timeout / 2) // it is being settled again
		want(t, "release of the next one", sendAndWait(n, b.Release(1, 7)), script.Unsent)
		hung.Store(false)
		m.Del("k")
		m.HSet("k", "you:1", "1")
		m.Expire("k", time.Hour)
		waitUntil(t, 5*time.Second, n.isUp)
		synctest.Wait()
		if queue := m.ZSet("redlock_wait:{k}"); len(queue) > 0 {
			t.Errorf("queue: got %v, want none: its only waiter gave up", queue)
		}
		wantHolder(t, m, "k", "you:1")
	})
}

// TestEachCommandHasItsOwnTimeout: a command is answered a timeout after it was sent, also where the
// one before it was answered late, and whenever the connection is given up.
func TestEachCommandHasItsOwnTimeout(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		var hung atomic.Bool
		cfg.Pool = withBentConns(cfg.Pool, &bendRules{drop: func(string) bool { return hung.Load() }})
		n := started(t, cfg)
		m.Delay(100 * time.Millisecond)
		first := send(n, script.Inspect("k")) // answered after 200 ms
		time.Sleep(10 * time.Millisecond)
		hung.Store(true)
		second := send(n, script.Inspect("k"))
		time.Sleep(50 * time.Millisecond)
		third := send(n, script.Inspect("k"))
		want(t, "the one that is answered", first.wait(), script.Done)
		for name, p := range map[string]*pending{"the next": second, "the one after it": third} {
			got := p.wait()
			want(t, name, got, script.Unknown)
			wantAt(t, name, got, timeout)
		}
		hung.Store(false)
	})
}

// Send does not block, however much a master that is frozen leaves unread.
func TestSendDoesNotBlock(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		m.Freeze()
		begin := time.Now()
		var sent []*pending
		for i := range 8000 { // of 200 bytes each: more than is buffered in between
			sent = append(sent, send(n, script.NewOwner("k", fmt.Sprint("me:", i)).Acquire(lease, 1)))
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("Send blocked for %v", took)
		}
		for _, p := range sent {
			if got := p.wait(); got.Outcome != script.Unknown && got.Outcome != script.Unsent || got.after > 2*timeout {
				t.Fatalf("answered %v (%v) after %v, want Unknown or Unsent within %v", got.Outcome, got.Err, got.after, 2*timeout)
			}
		}
	})
}

// A command does not overtake those that are still to be written.
func TestSendKeepsTheOrder(t *testing.T) {
	for name, put := range map[string]func(*Node, *call){
		"queued":           func(n *Node, c *call) { n.queue = append(n.queue, c) },
		"to be sent again": func(n *Node, c *call) { n.link.retries = append(n.link.retries, c) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				synctest.Wait()
				n.mu.Lock()
				put(n, n.newCallLocked(script.NewOwner("k", id("first:1")).Acquire(lease, 1), noReceiver{}, 0)) // and the writer not told
				n.mu.Unlock()
				want(t, "the second", sendAndWait(n, script.NewOwner("k", id("second:1")).Acquire(lease, 1)), script.Refused)
				wantHolder(t, m, "k", id("first:1"))
			})
		})
	}
}

// redigo allows one to write at a time.
func TestSendWhileAnotherWrites(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		synctest.Wait()
		writing := func(busy bool) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.link.writing = busy
		}
		writing(true)
		p := send(n, script.NewOwner("k", id("me:1")).Acquire(lease, 1))
		synctest.Wait()
		wantHolder(t, m, "k", "")
		writing(false)
		n.wakeWriter()
		want(t, "afterwards", p.wait(), script.Done)
	})
}

// An answer to nothing ends the connection: which command the next one is for is anybody's
// guess.
func TestAnswerToNothing(t *testing.T) {
	bubble(t, func(t *testing.T, _ *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		synctest.Wait() // no ping is under way
		n.mu.Lock()
		l := n.link
		due := n.receiveLocked(l, nil, int64(1), nil)
		dead, err := l.dead, l.err
		n.mu.Unlock()
		if !dead || err == nil || len(due) > 0 {
			t.Errorf("received: dead %v, error %v, %d deliveries, want true, an error and none", dead, err, len(due))
		}
		<-l.broken
	})
}

// slowReturn is a connection whose Flush returns a while after the master has the commands, and
// has answered them: the caller was preempted.
type slowReturn struct {
	*bentConn
	by time.Duration
}

func (s slowReturn) Flush() error {
	err := s.bentConn.Flush()
	time.Sleep(s.by)
	return err
}

// What the master has no script for is sent again at once, also if it says so while the caller
// who wrote the command is still at it.
func TestResentOnceTheCallerHasWritten(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		const by = 10 * time.Millisecond
		cfg.Pool = withWrappedConns(withBentConns(cfg.Pool, new(bendRules)), func(c redis.Conn) redis.Conn { return slowReturn{c.(*bentConn), by} })
		n := started(t, cfg)
		synctest.Wait()
		m.FlushScripts()
		got := sendAndWait(n, script.Inspect("k"))
		want(t, "inspect", got, script.Done)
		wantAt(t, "inspect", got, by)
	})
}

// TestFifo compares it with a slice.
func TestFifo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f fifo
		var dumb []*call
		for _, steps := range rapid.SliceOf(rapid.IntRange(-80, 80)).Draw(t, "pushes and pops") {
			for range max(steps, 0) {
				c := new(call)
				f.push(c)
				dumb = append(dumb, c)
			}
			for range min(-steps, len(dumb)) {
				if got := f.pop(); got != dumb[0] {
					t.Fatalf("pop: got %p, want %p", got, dumb[0])
				}
				dumb = dumb[1:]
			}
			if f.len() != len(dumb) || !slices.Equal(f.all(), dumb) {
				t.Fatalf("all: got %d calls, want %d", f.len(), len(dumb))
			}
			if used := cap(f.calls); used > 1000+8*len(dumb) && len(f.calls) > 100+3*len(dumb) {
				t.Fatalf("memory: %d places for %d calls", used, len(dumb))
			}
		}
		if got := f.drain(); !slices.Equal(got, dumb) || f.len() != 0 {
			t.Fatalf("drain: got %d calls and left %d, want %d and 0", len(got), f.len(), len(dumb))
		}
	})
}
