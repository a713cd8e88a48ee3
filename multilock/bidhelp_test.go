package multilock

import (
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

const (
	bidLease = 10 * time.Second
	firstH   = 2 * firstAsk // for which the first asks want the lock passed
)

// firstValid is how long a pass is a vote that names one of the first asks, from when that
// was sent.
var firstValid = clock.Validity(firstH, 0)

// another makes one more client, for as long as the test. Where guard is not zero, masters
// that restart are guarded.
func (b bench) another(t *testing.T, guard time.Duration) *Masters {
	t.Helper()
	return b.client(t, guard, timeout)
}

// client is another, whose nodes wait for an answer for so long.
func (b bench) client(t *testing.T, guard, timeout time.Duration) *Masters {
	t.Helper()
	var nodes []*node.Node
	for i, pool := range b.Pools() {
		nodes = append(nodes, node.New(node.Config{
			Name:    b.Master(i).Name(),
			Pool:    pool,
			Timeout: timeout,
			Guard:   guard,
			Logger:  slog.New(slog.DiscardHandler),
		}))
	}
	m := New(nodes)
	t.Cleanup(m.Close)
	synctest.Wait()
	return m
}

// take acquires k for a new owner of m.
func take(t *testing.T, m *Masters) Grant {
	t.Helper()
	g, err := m.Acquire(Request{Owner: m.NewOwner("k"), Lease: bidLease, Count: 1, Proposal: 7}).Wait(t.Context())
	if err != nil {
		t.Fatalf("Acquire = %v, want a grant", err)
	}
	synctest.Wait() // also the masters that the majority did not wait for
	return g
}

// held acquires k on all masters and returns its claim.
func (b bench) held(t *testing.T) Claim {
	t.Helper()
	return take(t, b.m).Claim
}

// seat makes owner the holder of k at some masters, as an acquire of another client would.
func (b bench) seat(owner string, lease time.Duration, masters ...int) {
	for _, i := range masters {
		b.Master(i).HSet("k", id(owner), "1")
		b.Master(i).Expire("k", lease)
	}
}

func newBid(m *Masters) *Bid {
	return m.NewBid(Wanted{Key: "k", Lease: bidLease, Since: clock.Now()})
}

// asked is newBid and its first ask, all of whose answers have come. Nobody waits yet, so
// it asks again only when the test does.
func askedBid(m *Masters) *Bid {
	b := newBid(m)
	b.Ask()
	synctest.Wait()
	return b
}

// waiting is a Wait under way.
type waiting struct {
	mu sync.Mutex
	outcome
}

// outcome is what came of a Wait.
type outcome struct {
	grant Grant
	won   bool
	at    time.Time // when it returned, zero if it has not
}

// wait waits for b in the background.
func wait(t *testing.T, b *Bid) *waiting {
	w := new(waiting)
	go func() {
		grant, won := b.Wait(t.Context(), nil, nil)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.outcome = outcome{grant, won, time.Now()}
	}()
	synctest.Wait()
	return w
}

// now returns what came of it so far.
func (w *waiting) now() outcome {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.outcome
}

// wantVotes is wantWon whether or not the masters agree on a fencing token: they never
// passed the lock.
func wantVotes(t *testing.T, what string, b *Bid) Grant {
	t.Helper()
	synctest.Wait()
	b.mu.Lock()
	b.agreed = true
	b.mu.Unlock()
	return wantWon(t, what, b)
}

// wantWon fails unless b has been won, and returns its grant.
func wantWon(t *testing.T, what string, b *Bid) Grant {
	t.Helper()
	synctest.Wait()
	done := make(chan struct{})
	close(done)
	g, won := b.Wait(t.Context(), nil, done)
	if !won {
		t.Fatalf("%s: not won", what)
	}
	return g
}

// wantNotWon fails if b has been won.
func wantNotWon(t *testing.T, what string, b *Bid) {
	t.Helper()
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		t.Errorf("%s: got a hold for %v, want none", what, clock.Until(b.grant.Until))
	}
}

// queues returns who waits for k at each master, in order, without the second part of what
// the masters note.
func (b bench) queues() []string {
	var all []string
	for _, m := range b.Masters() {
		set := m.ZSet("redlock_wait:{k}")
		asks := make([]string, 0, len(set))
		for ask := range set {
			asks = append(asks, ask)
		}
		slices.SortFunc(asks, func(x, y string) int { return int(set[x] - set[y]) })
		for i, ask := range asks {
			asks[i], _, _ = strings.Cut(ask, " ")
		}
		all = append(all, strings.Join(asks, ","))
	}
	return all
}

// wantNothing checks that no master has anything of k but its fencing counter.
func (b bench) wantNothing(t *testing.T, what string) {
	t.Helper()
	synctest.Wait()
	for i, m := range b.Masters() {
		if h, q := m.Holder("k"), b.queues()[i]; h != "" || q != "" {
			t.Errorf("%s: left at %s: holder %q, queue %q, want none", what, m.Name(), h, q)
		}
	}
}

// post stands between the masters and a client, and keeps what they publish to it until
// the test delivers it.
type post struct {
	m *Masters

	mu     sync.Mutex
	passes [][]script.HandOff // from each master
}

// hold makes the post of m. To the masters it looks as if m had subscribed.
func (b bench) hold(t *testing.T, m *Masters) *post {
	t.Helper()
	m.mu.Lock()
	m.listening = true
	m.mu.Unlock()
	p := &post{m: m, passes: make([][]script.HandOff, m.Len())}
	for i, master := range b.Masters() {
		p.subscribe(t, i, master)
	}
	synctest.Wait()
	return p
}

func (p *post) subscribe(t *testing.T, i int, master *redlocktest.Master) {
	t.Helper()
	raw, err := master.Dial(t.Context())
	if err != nil {
		t.Fatalf("Dial(%s) = %v", master.Name(), err)
	}
	conn := redis.PubSubConn{Conn: redis.NewConn(raw, 0, 0)}
	t.Cleanup(func() { conn.Close() })
	if err := conn.Subscribe("redlock_wake:" + p.m.id); err != nil {
		t.Fatalf("SUBSCRIBE at %s = %v", master.Name(), err)
	}
	go func() {
		for {
			switch message := conn.Receive().(type) {
			case redis.Message:
				p.keep(i, string(message.Data))
			case error:
				return
			}
		}
	}()
}

// keep notes a message, "owner number token key".
func (p *post) keep(i int, message string) {
	words := strings.Fields(message)
	number, _ := strconv.ParseUint(words[1], 10, 64)
	token, _ := strconv.ParseInt(words[2], 10, 64)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passes[i] = append(p.passes[i], script.HandOff{Owner: words[0], Round: number, Token: token, Key: words[3]})
}

// deliver passes on what master i has published so far, and returns it.
func (p *post) deliver(t *testing.T, i int) script.HandOff {
	t.Helper()
	synctest.Wait()
	p.mu.Lock()
	passes := p.passes[i]
	p.passes[i] = nil
	p.mu.Unlock()
	if len(passes) != 1 {
		t.Fatalf("m%d published %v, want one pass", i+1, passes)
	}
	p.m.HandedOff(i, passes[0])
	synctest.Wait()
	return passes[0]
}
