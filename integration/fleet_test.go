package integration

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	containers "example.com/redlock/integration/fleet"
	"example.com/redlock/integration/wire"
	"example.com/redlock/redlock"
)

const (
	closeWait = 3 * time.Second  // for a client to close: the time of a few answers
	grace     = 15 * time.Second // for cleaning up after a test
)

// fleetConfig says what to start. The zero value of each field is its default.
type fleetConfig struct {
	Masters  int    // how many; no default
	Durable  bool   // appendonly with appendfsync always: a restart forgets nothing, else everything
	Clocks   bool   // the masters' wall clocks can be moved
	Password string // requirepass; none by default
	Wires    bool   // reach each master through a wire that can be cut

	Settings []string    // files and options instead of the arguments above, for redis-server
	Mounts   []string    // of the machine's files in the containers: "file:path:ro"
	User     string      // whose password Password is; by default the default user's
	TLS      *tls.Config // of clients; nil: no TLS
}

// fleet is a set of independent masters that belongs to one test.
type fleet struct {
	t       *testing.T
	log     *timeline
	masters []*master
	clients []*redlock.Client
}

// master is one Redis in a container of its own, as a test reaches it.
type master struct {
	container *containers.Master
	name      string // "m1"
	addr      string // where clients connect: "127.0.0.1:port", which may be the wire's
	direct    string // the master's own address
	user      string // whom the test logs in as
	password  string
	tls       *tls.Config
	log       *timeline
	wire      *wire.Wire // nil without fleetConfig.Wires
}

// begin gives a test its deadline. The context ends at limit. If the test is still running after
// another grace for cleaning up, the process panics, as with go test's own timeout.
func begin(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	name := t.Name()
	bomb := time.AfterFunc(limit+grace, func() {
		debug.SetTraceback("all")
		panic(fmt.Sprintf("%s is still running %v after its deadline of %v", name, grace, limit))
	})
	t.Cleanup(func() { cancel(); bomb.Stop() })
	return ctx
}

// startFleet starts the masters, waits until each answers, and removes them when the test ends.
func startFleet(ctx context.Context, t *testing.T, cfg fleetConfig) *fleet {
	t.Helper()
	deadline, _ := ctx.Deadline()
	started, err := machine.engine.Start(ctx, containers.Config{
		Masters:  cfg.Masters,
		Durable:  func(int) bool { return cfg.Durable },
		Clocks:   cfg.Clocks,
		Life:     time.Until(deadline) + 2*grace,
		Password: cfg.Password,
		Settings: cfg.Settings,
		Mounts:   cfg.Mounts,
		User:     cfg.User,
		TLS:      cfg.TLS,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Close(); err != nil {
			t.Error(err)
		}
	})
	f := &fleet{t: t, log: newTimeline(t)}
	for _, c := range started.Masters() {
		m := &master{
			container: c, name: c.Name(), addr: c.Addr(), direct: c.Addr(),
			user: cfg.User, password: cfg.Password, tls: cfg.TLS, log: f.log,
		}
		if cfg.Wires {
			m.wire = newWire(t, m.direct)
			m.addr = m.wire.Addr()
		}
		f.masters = append(f.masters, m)
		f.log.event("%s is up at %s", m.name, m.addr)
	}
	return f
}

// newWire returns a wire to the master at target, which is closed when the test ends.
func newWire(t *testing.T, target string) *wire.Wire {
	t.Helper()
	w, err := wire.New(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// client opens a client of the whole fleet, with what config fills in, and closes it when the test ends.
func (f *fleet) client(cfg redlock.Config) *redlock.Client {
	f.t.Helper()
	cfg = f.config(cfg)
	client, err := redlock.New(cfg)
	if err != nil {
		f.t.Fatalf("New(%v) = %v", cfg.Masters, err)
	}
	f.t.Cleanup(func() { f.close(client) })
	f.clients = append(f.clients, client)
	return client
}

// config fills in Masters and Logger, and turns RestartGuard off unless the test sets it, since these
// masters have just started.
func (f *fleet) config(cfg redlock.Config) redlock.Config {
	if cfg.Masters == nil {
		for _, m := range f.masters {
			cfg.Masters = append(cfg.Masters, m.url())
		}
	}
	if cfg.RestartGuard == 0 {
		cfg.RestartGuard = -1
	}
	cfg.Logger = f.log.logger()
	return cfg
}

// close closes a client, and reports an error if that takes longer than closeWait, whatever state the
// masters are in.
//
// Goroutines: one, which ends when Close returns. If Close never returns, the test has failed.
func (f *fleet) close(client *redlock.Client) {
	f.t.Helper()
	start := time.Now()
	closed := make(chan error, 1)
	go func() { closed <- client.Close() }()
	select {
	case err := <-closed:
		f.log.event("Close() = %v after %v", err, time.Since(start))
	case <-time.After(closeWait):
		f.t.Errorf("Close() has not returned within %v", closeWait)
	}
}

func (m *master) url() string {
	scheme, user := "redis", ""
	if m.tls != nil {
		scheme = "rediss"
	}
	if m.password != "" {
		user = m.user + ":" + m.password + "@"
	}
	return scheme + "://" + user + m.addr
}

// The acts. Each returns when it has taken effect, and fails the test if it cannot.

func (m *master) kill(ctx context.Context, t *testing.T) {
	t.Helper()
	m.did(t, "kill", m.container.Kill(ctx))
}

func (m *master) stop(ctx context.Context, t *testing.T) {
	t.Helper()
	m.did(t, "stop", m.container.Stop(ctx))
}

func (m *master) start(ctx context.Context, t *testing.T) {
	t.Helper()
	m.did(t, "start", m.container.Start(ctx))
}

func (m *master) pause(t *testing.T) {
	t.Helper()
	m.did(t, "pause", m.container.Pause())
}

func (m *master) unpause(t *testing.T) {
	t.Helper()
	m.did(t, "unpause", m.container.Unpause())
}

// harm does the n-th harm to a master: it is killed, so that it forgets everything, and started again, or
// frozen for up to most, in turn.
func (m *master) harm(ctx context.Context, t *testing.T, n int, random *rand.Rand, most time.Duration) {
	t.Helper()
	if n%2 == 0 {
		m.kill(ctx, t)
		m.start(ctx, t)
		return
	}
	m.pause(t)
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(random.Int64N(int64(most)))):
	}
	m.unpause(t)
}

// cut lets nothing through to or from the master. It needs fleetConfig.Wires, as do mend and
// cutAnswers.
func (m *master) cut() { m.log.event("cut %s", m.name); m.wire.Cut(wire.Both) }

func (m *master) cutAnswers() { m.log.event("cut answers of %s", m.name); m.wire.Cut(wire.Back) }

func (m *master) mend() { m.log.event("mend %s", m.name); m.wire.Cut(0) }

func (m *master) did(t *testing.T, act string, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	m.log.event("%s %s", act, m.name)
}

// dial connects to the server directly, without the wire.
func (m *master) dial() (redis.Conn, error) {
	return m.container.Dial(redis.DialUsername(m.user), redis.DialPassword(m.password))
}

// try sends one command on a new connection.
func (m *master) try(command string, args ...any) (any, error) {
	conn, err := m.dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.Do(command, args...)
}

// do is try for a master that must answer.
func (m *master) do(t *testing.T, command string, args ...any) any {
	t.Helper()
	reply, err := m.try(command, args...)
	if err != nil {
		t.Fatalf("%s: %s %v: %v", m.name, command, args, err)
	}
	return reply
}

// run runs a script on a new connection.
func (m *master) run(script *redis.Script, args ...any) (any, error) {
	conn, err := m.dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return script.Do(conn, args...)
}
