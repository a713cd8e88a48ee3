package main

import (
	"context"
	"net"
	"strings"
	"syscall"
	"time"

	"example.com/redlock/internal/redisserver"
	"github.com/gomodule/redigo/redis"
)

// mastersN is the number of masters, except in trials that start their own.
const mastersN = 5

// fleet is the masters: child processes that store nothing on disk.
type fleet struct {
	masters []*master
	version string // of Redis
}

// master is one redis-server.
type master struct {
	address string
	server  *redisserver.Server
	control redis.Conn // for INFO and the like; the contenders do not use it. nil once it was killed
}

// startFleet starts n masters. close ends them.
func startFleet(ctx context.Context, n int) (_ *fleet, err error) {
	f := new(fleet)
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	for range n {
		server, err := redisserver.Run(ctx, childAttr(), nil)
		if err != nil {
			return nil, err
		}
		m := &master{address: net.JoinHostPort("127.0.0.1", server.Port), server: server}
		f.masters = append(f.masters, m)
		if m.control, err = redis.DialContext(ctx, "tcp", m.address, redis.DialReadTimeout(5*time.Second)); err != nil {
			return nil, err
		}
	}
	info, err := redis.String(f.masters[0].control.Do("INFO", "server"))
	if err != nil {
		return nil, err
	}
	_, version, _ := strings.Cut(info, "redis_version:")
	f.version, _, _ = strings.Cut(version, "\r\n")
	return f, nil
}

// close ends the masters, frozen ones too, and removes their files.
func (f *fleet) close() {
	for _, m := range f.masters {
		if m.control != nil {
			_ = m.control.Close()
		}
		m.server.Close()
	}
}

func (f *fleet) addresses(n int) []string {
	addresses := make([]string, n)
	for i := range addresses {
		addresses[i] = f.masters[i].address
	}
	return addresses
}

// flush empties the masters, so that no trial finds keys of another.
func (f *fleet) flush() error {
	for _, m := range f.masters {
		if _, err := m.control.Do("FLUSHALL"); err != nil {
			return err
		}
	}
	return nil
}

// freeze stops the last n masters. They stay connected but do not answer until thaw.
func (f *fleet) freeze(n int) error {
	for _, m := range f.masters[len(f.masters)-n:] {
		if err := m.server.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
	}
	return nil
}

// kill ends the last n masters. Connections to them are refused.
func (f *fleet) kill(n int) error {
	for _, m := range f.masters[len(f.masters)-n:] {
		if err := m.server.Kill(); err != nil {
			return err
		}
		if m.control != nil {
			_ = m.control.Close()
			m.control = nil
		}
	}
	return nil
}

// thaw continues all masters, and returns when they have answered everything that was queued.
func (f *fleet) thaw() error {
	for _, m := range f.masters {
		if err := m.server.Signal(syscall.SIGCONT); err != nil {
			return err
		}
		if _, err := m.control.Do("PING"); err != nil {
			return err
		}
	}
	return nil
}
