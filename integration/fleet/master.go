package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"
)

const (
	port      = docker.Port("6379/tcp")
	readyWait = time.Minute      // for a container to answer PING
	grace     = 15 * time.Second // between the end of a container and its removal by anybody

	// patience is how long connecting to a server and each of its answers may take. What is not there refuses at once;
	// so only one that is frozen, or a machine that has no time for it, takes that long.
	patience = 30 * time.Second
)

// Master is one Redis in a container of its own, always at the same address.
type Master struct {
	fleet    *Fleet
	number   int    // from 0
	port     string // of 127.0.0.1
	resource atomic.Pointer[dockertest.Resource]
	clock    *clock // nil without Config.Clocks

	mu sync.Mutex // one act by commands at a time: while Occupy's script runs, the server refuses others
}

// Name returns "m1" for the first master of its fleet.
func (m *Master) Name() string { return fmt.Sprintf("m%d", m.number+1) }

// Addr returns the master's own address, "127.0.0.1:port".
func (m *Master) Addr() string { return net.JoinHostPort("127.0.0.1", m.port) }

// Dial connects to the server. Options come after those that follow from Config, so they win.
func (m *Master) Dial(options ...redis.DialOption) (redis.Conn, error) {
	cfg := &m.fleet.cfg
	return redis.Dial("tcp", m.Addr(), append([]redis.DialOption{
		redis.DialUsername(cfg.User),
		redis.DialPassword(cfg.Password),
		redis.DialUseTLS(cfg.TLS != nil),
		redis.DialTLSConfig(cfg.TLS),
		redis.DialConnectTimeout(patience),
		redis.DialReadTimeout(patience),
		redis.DialWriteTimeout(patience),
	}, options...)...)
}

// Do sends one command on a new connection.
func (m *Master) Do(command string, args ...any) (any, error) {
	conn, err := m.Dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.Do(command, args...)
}

// begin runs the first container, on a port that the master keeps.
func (m *Master) begin(ctx context.Context) error {
	if m.fleet.cfg.Clocks {
		var err error
		if m.clock, err = m.fleet.clocks.add(m.Name()); err != nil {
			return fmt.Errorf("%s: %w", m.Name(), err)
		}
	}
	var err error
	for range 5 { // another process may take the port before the container does
		m.port = m.fleet.engine.freePort()
		if err = m.create(ctx); err == nil {
			return m.ready(ctx)
		}
	}
	return fmt.Errorf("%s: %w", m.Name(), err)
}

// create runs a container on the master's port.
func (m *Master) create(ctx context.Context) error {
	cfg, engine := &m.fleet.cfg, m.fleet.engine
	image := engine.images[m.number%len(engine.images)]
	args := []string{"--bind", "0.0.0.0", "--protected-mode", "no", "--save", "", "--loglevel", "warning"}
	if cfg.Durable != nil && cfg.Durable(m.number) {
		args = append(args, "--dir", "/data", "--appendonly", "yes", "--appendfsync", "always")
	}
	if cfg.Settings != nil {
		args = cfg.Settings
	}
	options := &dockertest.RunOptions{
		Repository:   image.repository,
		Tag:          image.tag,
		Entrypoint:   []string{image.server()}, // a stock image's own entry point would change the user first
		Cmd:          args,
		Mounts:       cfg.Mounts,
		ExposedPorts: []string{string(port)},
		PortBindings: map[docker.Port][]docker.PortBinding{port: {{HostIP: "127.0.0.1", HostPort: m.port}}},
		Labels: map[string]string{
			labelFleet:   m.fleet.id,
			labelExpires: strconv.FormatInt(time.Now().Add(cfg.Life+grace).Unix(), 10),
		},
	}
	if m.clock != nil {
		m.clock.install(options)
	}
	resource, err := engine.docker.RunWithOptions(options, func(host *docker.HostConfig) { host.PublishAllPorts = false })
	if err != nil {
		return err
	}
	m.resource.Store(resource)
	return ctx.Err()
}

// ended says with what code and last words the container has ended, nil if it has not.
func (m *Master) ended() error {
	client, id := m.fleet.engine.docker.Client, m.container()
	c, err := client.InspectContainer(id)
	if err != nil || c.State.FinishedAt.IsZero() || c.State.Running {
		return err
	}
	var words strings.Builder
	err = client.Logs(docker.LogsOptions{Container: id, OutputStream: &words, ErrorStream: &words, Stdout: true, Stderr: true, Tail: "10"})
	return errors.Join(fmt.Errorf("the server has ended with code %d:\n%s", c.State.ExitCode, &words), err)
}

// ready sets the time at which the container ends by itself, and waits until the server answers PING, or has ended.
func (m *Master) ready(ctx context.Context) error {
	if err := m.resource.Load().Expire(uint(m.fleet.cfg.Life.Seconds())); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	for {
		_, err := m.Do("PING")
		if err == nil {
			return nil
		}
		if ended := m.ended(); ended != nil {
			return fmt.Errorf("%s: %w", m.Name(), ended)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer PING: %w", m.Name(), err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Info returns what INFO tells of a section, or of all that it has by default.
func (m *Master) Info(section ...any) (map[string]string, error) {
	text, err := redis.String(m.Do("INFO", section...))
	told := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			told[name] = value
		}
	}
	return told, err
}

// tellKeys returns all keys, each followed by what there is to tell of it.
const tellKeys = `
local read = {string = {'GET'}, hash = {'HGETALL'}, zset = {'ZRANGE', 0, 19, 'WITHSCORES'}}
local told = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local kind = redis.call('TYPE', key).ok
  local text = kind .. ' ' .. redis.call('PTTL', key)
  if read[kind] then
    local command, from, to, with = unpack(read[kind])
    text = text .. ' ' .. cjson.encode(from and redis.call(command, key, from, to, with) or redis.call(command, key))
  end
  table.insert(told, key)
  table.insert(told, string.sub(text, 1, 200))
end
return told`

// Keys returns the keys that are left on the master, each with its type, the milliseconds until it expires
// (-1: never), and what is in it, if it is of a type that locks use: the beginning of "hash 1500 ["b7:r1","1"]".
func (m *Master) Keys() (map[string]string, error) {
	keys, err := redis.StringMap(m.Do("EVAL", tellKeys, 0))
	return keys, m.did("list keys of", err)
}
