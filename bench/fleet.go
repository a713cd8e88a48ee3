package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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
	log     string
	control redis.Conn     // for INFO and the like; the contenders do not use it. nil if it is no redis-server
	end     syscall.Signal // that ends it; zero: SIGKILL
}

// startFleet starts n masters and waits until they answer. close ends them.
func startFleet(ctx context.Context, program string, n int) (*fleet, error) {
	return startServers(func(f *fleet) error {
		f.program = program
		ports, err := freePorts(n)
		if err != nil {
			return err
		}
		for _, port := range ports {
			m, err := startMaster(program, filepath.Join(f.dir, strconv.Itoa(port)), port)
			if err != nil {
				return err
			}
			f.masters = append(f.masters, m)
		}
		for _, m := range f.masters {
			if err := m.await(ctx); err != nil {
				return err
			}
		}
		info, err := redis.String(f.masters[0].control.Do("INFO", "server"))
		if err != nil {
			return err
		}
		if _, rest, found := strings.Cut(info, "redis_version:"); found {
			f.version, _, _ = strings.Cut(rest, "\r\n")
		}
		return nil
	})
}

// startServers makes a fleet with a folder of its own. begin starts its servers, and waits until they answer.
func startServers(begin func(f *fleet) error) (*fleet, error) {
	dir, err := os.MkdirTemp("", "redlock-bench-")
	if err != nil {
		return nil, err
	}
	f := &fleet{dir: dir}
	if err := begin(f); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

// freePorts finds n ports that are free. They stay free only until somebody else takes one.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		ports[i] = listener.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

func startMaster(program string, dir string, port int) (*master, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	m := &master{
		address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		log:     filepath.Join(dir, "log"),
	}
	m.process = redisserver.Command(program,
		"--bind", "127.0.0.1", "--port", strconv.Itoa(port),
		"--save", "", "--appendonly", "no", "--dir", dir, "--logfile", m.log,
	)
	m.process.SysProcAttr = childAttr()
	return m, m.process.Start()
}

// await waits until m answers.
func (m *master) await(ctx context.Context) error {
	err := retry(ctx, 10*time.Second, func(ctx context.Context) (err error) {
		m.control, err = redis.DialContext(ctx, "tcp", m.address, redis.DialReadTimeout(5*time.Second))
		return err
	})
	if err != nil {
		text, _ := os.ReadFile(m.log)
		return fmt.Errorf("the master at %s does not start: %w: %s", m.address, err, text)
	}
	_, err = m.control.Do("PING")
	return err
}

// retry calls try until it succeeds, or for so long.
func retry(ctx context.Context, long time.Duration, try func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, long)
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
		_ = m.process.Process.Signal(cmp.Or(m.end, syscall.SIGKILL))
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
