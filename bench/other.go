package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/redlock/internal/redisserver"
)

// The servers of contenders that do not use Redis. They run only while such a contender is measured.

// starting is how long they may take to start.
const starting = 30 * time.Second

// run starts a server of f, which clients find at address, and which end ends.
func (f *fleet) run(address string, end syscall.Signal, server *exec.Cmd) error {
	if server.SysProcAttr == nil {
		server.SysProcAttr = childAttr()
	}
	if err := server.Start(); err != nil {
		return err
	}
	f.masters = append(f.masters, &master{address: address, process: server, end: end})
	return nil
}

// find returns the path of a program, which pattern names where it is not in the path of this process, and
// installs it from Debian's package if need be.
func find(pattern, debian string) (string, error) {
	return redisserver.Need(filepath.Base(pattern), debian, func() string {
		if found, err := exec.LookPath(filepath.Base(pattern)); err == nil {
			return found
		}
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[len(found)-1]
		}
		return ""
	})
}

// startEtcd starts a cluster of three.
func startEtcd(ctx context.Context) (*fleet, error) {
	const n = 3
	return startServers(func(f *fleet) error {
		program, err := find("/usr/bin/etcd", "etcd-server")
		if err != nil {
			return err
		}
		ports, err := freePorts(2 * n)
		if err != nil {
			return err
		}
		var at, cluster []string
		for i, port := range ports {
			at = append(at, "http://"+net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
			if i >= n {
				cluster = append(cluster, strconv.Itoa(i-n)+"="+at[i])
			}
		}
		for i := range n {
			name := strconv.Itoa(i)
			err := f.run(at[i], syscall.SIGKILL, exec.Command(program, "--name", name, "--data-dir", filepath.Join(f.dir, name),
				"--listen-client-urls", at[i], "--advertise-client-urls", at[i],
				"--listen-peer-urls", at[n+i], "--initial-advertise-peer-urls", at[n+i],
				"--initial-cluster", strings.Join(cluster, ","), "--log-level", "error"))
			if err != nil {
				return err
			}
		}
		for i := range n {
			if err := retry(ctx, starting, func(ctx context.Context) error { return healthy(ctx, at[i]) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// healthy returns an error unless the member of an etcd cluster says that it is in order.
func healthy(ctx context.Context, member string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, member+"/health", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", request.URL, response.Status)
	}
	return nil
}

// startPostgres starts one server, as the user postgres if this process is root's: the server refuses to run
// as root.
func startPostgres(ctx context.Context) (*fleet, error) {
	return startServers(func(f *fleet) error {
		initdb, err := find("/usr/lib/postgresql/*/bin/initdb", "postgresql")
		if err != nil {
			return err
		}
		program, err := find("/usr/lib/postgresql/*/bin/postgres", "postgresql")
		if err != nil {
			return err
		}
		attr, data := childAttr(), filepath.Join(f.dir, "data")
		if os.Geteuid() == 0 {
			if attr.Credential, err = credential("postgres"); err != nil {
				return err
			}
			if err := os.Chown(f.dir, int(attr.Credential.Uid), int(attr.Credential.Gid)); err != nil {
				return err
			}
		}
		create := exec.CommandContext(ctx, initdb, "-D", data, "-U", "postgres", "-A", "trust", "--no-sync")
		create.SysProcAttr, create.Dir = attr, f.dir
		if out, err := create.CombinedOutput(); err != nil {
			return fmt.Errorf("initdb: %w: %s", err, out)
		}
		ports, err := freePorts(1)
		if err != nil {
			return err
		}
		server := exec.Command(program, "-D", data, "-p", strconv.Itoa(ports[0]), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=")
		server.SysProcAttr, server.Dir = attr, f.dir
		address := fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", ports[0])
		if err := f.run(address, syscall.SIGQUIT, server); err != nil { // it has shared memory to give back
			return err
		}
		return retry(ctx, starting, func(ctx context.Context) error {
			conn, err := pgx.Connect(ctx, address)
			if err != nil {
				return err
			}
			return conn.Close(ctx)
		})
	})
}

// credential returns what makes a process one of the user's.
func credential(name string) (*syscall.Credential, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}
