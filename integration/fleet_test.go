package integration

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"

	"example.com/redlock/redlock"
)

const (
	port      = docker.Port("6379/tcp")
	readyWait = 20 * time.Second // for a container to answer PING
	closeWait = 3 * time.Second  // for a client to close: the time of a few answers
	grace     = 15 * time.Second // for cleaning up after a test
)

// fleetConfig says what to start. The zero value of each field is its default.
type fleetConfig struct {
	Masters  int    // how many; no default
	Durable  bool   // appendonly with appendfsync always: a restart forgets nothing, else everything
	Password string // requirepass; none by default
	Relay    bool   // reach each master through a relay that can be cut

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

// master is one Redis in a container of its own, always at the same address.
type master struct {
	name     string // "m1"
	addr     string // where clients connect: "127.0.0.1:port", which may be the relay's
	direct   string // the master's own address
	user     string
	password string
	tls      *tls.Config
	log      *timeline
	wire     *relay // nil without fleetConfig.Relay
	resource *dockertest.Resource
	life     time.Duration // after which the engine ends the container
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
//
// Goroutines: one per master, which ends when that master answers; startFleet waits.
func startFleet(ctx context.Context, t *testing.T, cfg fleetConfig) *fleet {
	t.Helper()
	id := strconv.FormatUint(rand.Uint64(), 36)
	f := &fleet{t: t, log: newTimeline(t), masters: make([]*master, cfg.Masters)}
	t.Cleanup(func() { removeFleet(t, id) })
	deadline, _ := ctx.Deadline()
	life := time.Until(deadline) + 2*grace

	errs := make([]error, cfg.Masters)
	var wg sync.WaitGroup
	for i := range cfg.Masters {
		m := &master{name: fmt.Sprintf("m%d", i+1), user: cfg.User, password: cfg.Password, tls: cfg.TLS, log: f.log, life: life}
		f.masters[i] = m
		wg.Go(func() { errs[i] = m.create(ctx, id, cfg) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("starting %d masters: %v", cfg.Masters, err)
	}
	for _, m := range f.masters {
		m.addr = m.direct
		if cfg.Relay {
			m.wire = newRelay(t, m.direct)
			m.addr = m.wire.listener.Addr().String()
		}
		f.log.event("%s is up at %s", m.name, m.addr)
	}
	return f
}

// create runs the container on a port that it keeps over restarts.
func (m *master) create(ctx context.Context, fleetID string, cfg fleetConfig) error {
	args := []string{"--bind", "0.0.0.0", "--protected-mode", "no", "--save", "", "--loglevel", "warning"}
	if cfg.Durable {
		args = append(args, "--dir", "/data", "--appendonly", "yes", "--appendfsync", "always")
	}
	if cfg.Settings != nil {
		args = cfg.Settings
	} else if cfg.Password != "" {
		args = append(args, "--requirepass", cfg.Password)
	}
	var err error
	for range 5 { // another process may take the port before the container does
		hostPort := freePort()
		m.resource, err = machine.docker.RunWithOptions(&dockertest.RunOptions{
			Repository:   machine.image.repository,
			Tag:          machine.image.tag,
			Entrypoint:   []string{machine.image.server()}, // a stock image's own entry point would change the user first
			Cmd:          args,
			Mounts:       cfg.Mounts,
			ExposedPorts: []string{string(port)},
			PortBindings: map[docker.Port][]docker.PortBinding{port: {{HostIP: "127.0.0.1", HostPort: hostPort}}},
			Labels: map[string]string{
				labelFleet:   fleetID,
				labelExpires: strconv.FormatInt(time.Now().Add(m.life+grace).Unix(), 10),
			},
		}, func(host *docker.HostConfig) { host.PublishAllPorts = false })
		if err == nil {
			m.direct = net.JoinHostPort("127.0.0.1", hostPort)
			return m.ready(ctx)
		}
	}
	return fmt.Errorf("%s: %w", m.name, err)
}

// ready sets the time at which the container ends by itself, and waits until the server answers PING.
func (m *master) ready(ctx context.Context) error {
	if err := m.resource.Expire(uint(m.life.Seconds())); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	for {
		_, err := m.try("PING")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer PING: %w", m.name, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// freePort picks a port below the range that systems use for outgoing connections, so that the port
// of a killed master is still free when the master comes back. It never returns the same port twice.
func freePort() string {
	for {
		candidate := strconv.Itoa(20000 + rand.IntN(12000))
		if _, drawn := machine.ports.LoadOrStore(candidate, true); drawn {
			continue
		}
		if listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", candidate)); err == nil {
			listener.Close()
			return candidate
		}
	}
}

// removeFleet searches by label, so that it also finds containers that never started.
func removeFleet(t *testing.T, id string) {
	all, err := machine.docker.Client.ListContainers(docker.ListContainersOptions{
		All:     true,
		Filters: map[string][]string{"label": {labelFleet + "=" + id}},
	})
	if err != nil {
		t.Errorf("cleaning up: %v", err)
	}
	var wg sync.WaitGroup
	for _, c := range all {
		wg.Go(func() {
			if err := remove(machine.docker.Client, c.ID); err != nil {
				t.Errorf("cleaning up: %v", err)
			}
		})
	}
	wg.Wait()
}

// client opens a client of the whole fleet, and closes it when the test ends. It fills in Masters and
// Logger, and turns RestartGuard off unless the test sets it, since these masters have just started.
func (f *fleet) client(cfg redlock.Config) *redlock.Client {
	f.t.Helper()
	if cfg.Masters == nil {
		for _, m := range f.masters {
			cfg.Masters = append(cfg.Masters, m.url())
		}
	}
	if cfg.RestartGuard == 0 {
		cfg.RestartGuard = -1
	}
	cfg.Logger = f.log.logger()
	client, err := redlock.New(cfg)
	if err != nil {
		f.t.Fatalf("New(%v) = %v", cfg.Masters, err)
	}
	f.t.Cleanup(func() { f.close(client) })
	f.clients = append(f.clients, client)
	return client
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

// kill ends the server with SIGKILL: nothing is flushed, connections break.
func (m *master) kill(ctx context.Context, t *testing.T) {
	t.Helper()
	m.end(ctx, t, "kill", docker.SIGKILL)
}

// stop ends the server with SIGTERM, as a planned restart does.
func (m *master) stop(ctx context.Context, t *testing.T) {
	t.Helper()
	m.end(ctx, t, "stop", docker.SIGTERM)
}

func (m *master) end(ctx context.Context, t *testing.T, act string, signal docker.Signal) {
	t.Helper()
	client, id := machine.docker.Client, m.resource.Container.ID
	err := client.KillContainer(docker.KillContainerOptions{ID: id, Signal: signal, Context: ctx})
	if err == nil {
		_, err = client.WaitContainerWithContext(id, ctx)
	}
	m.did(t, act, err)
}

// start brings an ended master back at its address, empty unless the fleet is durable.
func (m *master) start(ctx context.Context, t *testing.T) {
	t.Helper()
	err := machine.docker.Client.StartContainerWithContext(m.resource.Container.ID, nil, ctx)
	if err == nil {
		err = m.ready(ctx)
	}
	m.did(t, "start", err)
}

// pause freezes the server: connections stay, new ones are accepted by the kernel, and
// commands wait in its buffers until unpause.
func (m *master) pause(t *testing.T) {
	t.Helper()
	var err error
	for range 5 { // on a busy machine Docker may give up before a container is frozen, and thaws it
		if err = machine.docker.Client.PauseContainer(m.resource.Container.ID); err == nil {
			break
		}
	}
	m.did(t, "pause", err)
}

func (m *master) unpause(t *testing.T) {
	t.Helper()
	m.did(t, "unpause", machine.docker.Client.UnpauseContainer(m.resource.Container.ID))
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

// cut lets nothing through to or from the master. It needs fleetConfig.Relay, as do mend and
// cutAnswers.
func (m *master) cut() { m.log.event("cut %s", m.name); m.wire.cut() }

func (m *master) cutAnswers() { m.log.event("cut answers of %s", m.name); m.wire.cutAnswers() }

func (m *master) mend() { m.log.event("mend %s", m.name); m.wire.mend() }

func (m *master) did(t *testing.T, act string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s %s: %v", act, m.name, err)
	}
	m.log.event("%s %s", act, m.name)
}

// dial connects to the server directly, without the relay.
func (m *master) dial() (redis.Conn, error) {
	return redis.Dial("tcp", m.direct,
		redis.DialUsername(m.user),
		redis.DialPassword(m.password),
		redis.DialUseTLS(m.tls != nil),
		redis.DialTLSConfig(m.tls),
		redis.DialConnectTimeout(time.Second),
		redis.DialReadTimeout(2*time.Second),
		redis.DialWriteTimeout(time.Second))
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
