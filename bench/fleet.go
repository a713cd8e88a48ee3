package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
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
	program string // path of redis-server
	dir     string
	masters []*master
	version string // of Redis
}

// master is one redis-server.
type master struct {
	address string
	process *exec.Cmd
	control redis.Conn // for INFO and the like; the contenders do not use it. nil once it was killed
}

// startFleet starts n masters and waits until they answer. close ends them.
func startFleet(ctx context.Context, program string, n int) (_ *fleet, err error) {
	f := &fleet{program: program}
	if f.dir, err = os.MkdirTemp("", "redlock-bench-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	ports, err := freePorts(n)
	if err != nil {
		return nil, err
	}
	for _, port := range ports {
		server := redisserver.Command(program, "--bind", "127.0.0.1", "--port", port, "--dir", f.dir,
			"--save", "", "--appendonly", "no")
		if err := f.run(net.JoinHostPort("127.0.0.1", port), server); err != nil {
			return nil, err
		}
	}
	for _, m := range f.masters {
		err := retry(ctx, func(ctx context.Context) (err error) {
			m.control, err = redis.DialContext(ctx, "tcp", m.address, redis.DialReadTimeout(5*time.Second))
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("a master does not start: %w", err)
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

// freePorts finds n ports that are free. They stay free only until somebody else takes one.
func freePorts(n int) ([]string, error) {
	ports := make([]string, n)
	for i := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		_, ports[i], _ = net.SplitHostPort(listener.Addr().String())
	}
	return ports, nil
}

// run starts a server of f, which clients find at address.
func (f *fleet) run(address string, server *exec.Cmd) error {
	server.SysProcAttr = childAttr()
	if err := server.Start(); err != nil {
		return err
	}
	f.masters = append(f.masters, &master{address: address, process: server})
	return nil
}

// starting is how long servers may take to start.
const starting = 30 * time.Second

// retry calls try until it succeeds, for as long as a server may take to start.
func retry(ctx context.Context, try func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if sleep(ctx, 5*time.Millisecond); ctx.Err() != nil {
			return err
		}
	}
}

// close ends the masters, frozen ones too, and removes their files.
func (f *fleet) close() error {
	for _, m := range f.masters {
		if m.control != nil {
			_ = m.control.Close()
		}
		_ = m.process.Process.Kill()
	}
	for _, m := range f.masters {
		_ = m.process.Wait() // its error only says that the process was killed
	}
	return os.RemoveAll(f.dir)
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
		if err := m.process.Process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
	}
	return nil
}

// kill ends the last n masters. Connections to them are refused.
func (f *fleet) kill(n int) error {
	for _, m := range f.masters[len(f.masters)-n:] {
		if err := m.process.Process.Kill(); err != nil {
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
		if err := m.process.Process.Signal(syscall.SIGCONT); err != nil {
			return err
		}
		if _, err := m.control.Do("PING"); err != nil {
			return err
		}
	}
	return nil
}
