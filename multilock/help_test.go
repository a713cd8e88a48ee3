package multilock

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"example.com/redlock/clock"
	"example.com/redlock/internal/check"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/clients"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// Tests outside synctest bubbles leave no goroutine behind; a bubble checks that itself.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	timeout = 100 * time.Millisecond // of a node
	lease   = 10 * time.Second
)

// fixture is masters in memory, and a client of them.
type fixture struct {
	*redlocktest.Fleet
	m   *Masters
	log *check.Output // of m
}

// masters is a test in a bubble, with n masters in memory. It fails if anything is left running.
func masters(n int, f func(*testing.T, *fixture)) func(*testing.T) {
	return func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(t, &fixture{Fleet: redlocktest.Start(t, n), log: new(check.Output)}) })
	}
}

// bubble is masters with a client, to which the masters are known.
func bubble(n int, f func(*testing.T, *fixture)) func(*testing.T) {
	return guarded(n, 0, func(t *testing.T, fx *fixture) {
		// From here on the masters know the scripts, and a command is one round trip.
		hold := fx.take(t, fx.m, "warm")
		synctest.Wait() // a release behind it would have a master that lacks the script drop it
		check.OK(t, hold.Extend(t.Context(), entryOf(hold), lease))
		unlock(t, hold)
		synctest.Wait()
		f(t, fx)
	})
}

// guarded is masters with a client that guards those which restart.
func guarded(n int, guard time.Duration, f func(*testing.T, *fixture)) func(*testing.T) {
	return masters(n, func(t *testing.T, fx *fixture) {
		fx.m = fx.client(t, node.Config{Guard: guard, Logger: slog.New(slog.NewTextHandler(fx.log, nil))})
		f(t, fx)
	})
}

// rest lets time pass, and then all that happens at that moment.
func rest(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// another makes one more client, for as long as the test.
func (fx *fixture) another(t *testing.T) *Masters {
	t.Helper()
	return fx.client(t, node.Config{})
}

// client is another, with cfg for each of its nodes.
func (fx *fixture) client(t *testing.T, cfg node.Config) *Masters {
	t.Helper()
	m := connect(fx.Fleet, fx.Pools(), cfg)
	t.Cleanup(func() { m.Close() })
	synctest.Wait() // connected
	return m
}

// introduced is another that says who it is, and takes locks while it is established.
func (fx *fixture) introduced(t *testing.T) *Masters {
	t.Helper()
	m := fx.another(t)
	m.Clients.Introduce(clients.Identity{Record: script.Record{Name: "test"}, Lease: time.Second}, clients.Part{Of: new(clients.Sets)})
	return m
}

// connect makes a client of a fleet. What cfg lacks is filled in.
func connect(fleet *redlocktest.Fleet, pools []*redis.Pool, cfg node.Config) *Masters {
	cfg.Timeout = cmp.Or(cfg.Timeout, timeout)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	nodes := make([]*node.Node, len(pools))
	for i, pool := range pools {
		cfg.Index, cfg.Name, cfg.Pool = i, fleet.Master(i).Name(), pool
		nodes[i] = node.New(cfg)
	}
	return New(nodes, cfg.Logger, cfg.Trace)
}

// each does f to these masters, or to every one.
func (fx *fixture) each(f func(*redlocktest.Master), these ...int) {
	for i, m := range fx.Masters() {
		if len(these) == 0 || slices.Contains(these, i) {
			f(m)
		}
	}
}

// entry is an Entry that notes what it is told.
type entry struct {
	then   func() // happens first when it is told, if it is not nil
	mu     sync.Mutex
	causes []error
}

func (e *entry) Ended(cause error) {
	if e.then != nil {
		e.then()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.causes = append(e.causes, cause)
}

// Context implements Entry.
func (e *entry) Context() context.Context { return context.Background() }

// told returns what it was told so far.
func (e *entry) told() []error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.causes)
}

// wantEnded fails unless e was told once that it has ended, with that cause.
func (e *entry) wantEnded(t *testing.T, cause error) {
	t.Helper()
	told := e.told()
	check.That(t, len(told) == 1 && errors.Is(told[0], cause), "the entry was told %v, want once, %v", told, cause)
}

// wantAlive fails if e was told that it has ended.
func (e *entry) wantAlive(t *testing.T) {
	t.Helper()
	told := e.told()
	check.That(t, len(told) == 0, "the entry was told %v, want nothing", told)
}

// entryOf returns the first entry of a hold.
func entryOf(h *Hold) *entry {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	return h.d.state.Entries[0].Key.(*entry)
}

// request wants key for lease, without waiting and without renewals.
func request(key string) Request { return Request{Key: key, Lease: lease, Entry: new(entry)} }

// patient wants key for lease, and waits for it.
func patient(key string) Request {
	return Request{Key: key, Lease: lease, Entry: new(entry), Wait: true}
}

// watched wants key, renewed until it is given back.
func watched(key string) Request {
	return Request{Key: key, Lease: lease, Entry: new(entry), Watch: true}
}

// permit waits for one of the permits of k.
func permit(permits int) Request {
	return Request{Key: "k", Lease: lease, Entry: new(entry), Wait: true, Permits: permits}
}

// shared wants k for owner, without waiting.
func shared(owner any) Request {
	return Request{Key: "k", Lease: lease, Entry: new(entry), Owner: owner}
}

// patiently is shared that waits.
func patiently(owner any) Request {
	return Request{Key: "k", Lease: lease, Entry: new(entry), Owner: owner, Wait: true}
}

// take locks what must be free. All masters have answered when it returns.
func (fx *fixture) take(t *testing.T, m *Masters, key string) *Hold {
	t.Helper()
	hold, err := m.Lock(t.Context(), request(key))
	check.OK(t, err, "Lock(%q)", key)
	synctest.Wait()
	return hold
}

// lock has the client of fx take or enter a lock, which must succeed. All masters have answered when it returns.
func (fx *fixture) lock(t *testing.T, req Request) *Hold {
	t.Helper()
	hold, err := fx.m.Lock(t.Context(), req)
	check.OK(t, err, "Lock(%q)", req.Key)
	synctest.Wait()
	return hold
}

// wantRefused has the client of fx ask for a lock, wants errors of these kinds, and returns what there is.
func (fx *fixture) wantRefused(t *testing.T, req Request, kinds ...error) error {
	t.Helper()
	_, err := fx.m.Lock(t.Context(), req)
	check.Err(t, "Lock", err, kinds...)
	return err
}

// during calls f in the background, and returns when all has happened that does at that moment. What f returns comes.
func during(f func() error) <-chan error {
	result := make(chan error, 1)
	go func() { result <- f() }()
	synctest.Wait()
	return result
}

// unlock gives the first entry of a hold back.
func unlock(t *testing.T, hold *Hold) {
	t.Helper()
	check.Err(t, "Unlock", hold.Unlock(context.Background(), entryOf(hold)))
}

// call is a Lock under way.
type call struct {
	entry  *entry
	cancel context.CancelFunc
	done   chan struct{} // closed when it has returned, which is from when on the rest may be read
	hold   *Hold
	err    error
	at     time.Time
}

// begin calls Lock in the background. It ends with the test at the latest.
func begin(t *testing.T, m *Masters, req Request) *call {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &call{entry: req.Entry.(*entry), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.hold, c.err = m.Lock(ctx, req)
		c.at = time.Now()
	}()
	synctest.Wait()
	return c
}

// over reports whether it has returned.
func (c *call) over() bool {
	synctest.Wait()
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// wantHold fails unless it has returned with a hold, and returns that.
func (c *call) wantHold(t *testing.T, when string) *Hold {
	t.Helper()
	if !c.over() {
		t.Fatalf("%s: Lock still waits, want a hold", when)
	}
	check.OK(t, c.err, "%s: Lock", when)
	return c.hold
}

// wantWaiting fails if it has returned.
func (c *call) wantWaiting(t *testing.T, when string) {
	t.Helper()
	if c.over() {
		t.Errorf("%s: Lock = %v, %v, want it to wait", when, c.hold, c.err)
	}
}

// wantError fails unless it has returned with errors of these kinds.
func (c *call) wantError(t *testing.T, when string, kinds ...error) {
	t.Helper()
	if !c.over() {
		t.Fatalf("%s: Lock still waits, want %v", when, kinds)
	}
	check.Err(t, when+": Lock", c.err, kinds...)
}

// newWaiting makes a driver of a caller that waits for k, in no line of the client. It must be
// given up.
func newWaiting(m *Masters) *driver {
	req := patient("k")
	return m.newDriver("k", &req, m.All.Stamp(clock.Now()), make(chan struct{}, 1))
}

// asked is newWaiting whose first round has been answered.
func asked(m *Masters) *driver {
	d := newWaiting(m)
	d.start()
	synctest.Wait()
	return d
}

// wantWon fails unless d has come to hold the lock.
func wantWon(t *testing.T, when string, d *driver) {
	t.Helper()
	synctest.Wait()
	if !d.is(attempt.Held) {
		t.Fatalf("%s: it is not held, want that", when)
	}
}

// id writes an owner in full: "x:r1", or "x" for the same, with a UUID for the client x. It
// leaves alone what has one, and "-" for nobody.
func id(owner string) string {
	name, number, _ := strings.Cut(owner, ":")
	if owner == "-" || uuid.Validate(name) == nil {
		return owner
	}
	return check.Client(name) + ":" + cmp.Or(number, "r1")
}

// seat makes owner the holder of k at some masters, as an acquire of another client would.
func (fx *fixture) seat(owner string, lease time.Duration, masters ...int) {
	for _, i := range masters {
		fx.Master(i).Del("k")
		fx.Master(i).HSet("k", id(owner), "1")
		fx.Master(i).Expire("k", lease)
	}
}

// wantHolders checks who has key at each master, "-" for nobody.
func (fx *fixture) wantHolders(t *testing.T, key, want string) {
	t.Helper()
	synctest.Wait()
	for i, owner := range strings.Fields(want) {
		check.Equal(t, cmp.Or(fx.Master(i).Holder(key), "-"), id(owner), "m%d: the holder of %s", i+1, key)
	}
}

// places returns the owners in the queue of master i for k, and their places.
func (fx *fixture) places(i int) map[string]float64 {
	places := map[string]float64{}
	for waiter, since := range fx.Master(i).ZSet("redlock_wait:{k}") {
		owner, _, _ := strings.Cut(waiter, " ")
		places[owner] = since
	}
	return places
}

// queues returns who waits for k at each master, in order.
func (fx *fixture) queues() (all []string) {
	for i := range fx.Masters() {
		places := fx.places(i)
		waiters := slices.SortedFunc(maps.Keys(places), func(x, y string) int { return cmp.Compare(places[x], places[y]) })
		all = append(all, strings.Join(waiters, ","))
	}
	return all
}

// wantNothing checks that no master has anything of k but its fencing counter, and that no client
// of these remembers an owner or a name.
func (fx *fixture) wantNothing(t *testing.T, when string, clients ...*Masters) {
	t.Helper()
	synctest.Wait()
	for i, m := range fx.Masters() {
		h, q := m.Holder("k"), fx.queues()[i]
		check.That(t, h == "" && q == "", "%s: left at %s: holder %q, queue %q, want none", when, m.Name(), h, q)
	}
	for _, m := range clients {
		wantForgotten(t, when, m)
	}
}

// wantForgotten checks that a client remembers no owner and no name.
func wantForgotten(t *testing.T, when string, m *Masters) {
	t.Helper()
	m.owners.mu.Lock()
	owners := len(m.owners.known)
	m.owners.mu.Unlock()
	m.mu.Lock()
	names := len(m.names)
	m.mu.Unlock()
	check.That(t, owners == 0 && names == 0, "%s: %d owners and %d names are remembered, want none", when, owners, names)
}

// calls returns how many scripts ran on all masters: one that goes with its source was not known before.
func (fx *fixture) calls() (n int64) {
	for _, m := range fx.Masters() {
		n += m.Calls("EVALSHA")
	}
	return n
}

// deafen has m, which has not subscribed yet, believe that its subscriptions work, but nothing comes of them.
func deafen(m *Masters) {
	m.subs.begin.Do(func() {})
	m.subs.work.Store(uint32(m.All.Set()))
}

// holds returns the holds of the client.
func (m *Masters) holds() []*Hold {
	m.mu.Lock()
	defer m.mu.Unlock()
	var holds []*Hold
	for _, n := range m.names {
		holds = append(holds, n.holds...)
	}
	return holds
}
