package main

import (
	"context"
	"errors"
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
	"github.com/jackc/pgx/v5/pgxpool"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"example.com/redlock/internal/redisserver"
)

// elsewhere are locks that do not use Redis, for a fleet that has etcd or Postgres anyway. Their servers run only
// while they are measured.
var elsewhere = []contender{
	{name: "etcd/3", masters: 3, start: startEtcd, open: openEtcd},
	{name: "postgres/1", masters: 1, start: startPostgres, open: openPostgres},
}

// etcdClient has one session, which is renewed, for all its locks: as etcd recommends.
type etcdClient struct {
	etcd    *clientv3.Client
	session *concurrency.Session
}

func openEtcd(addresses []string, lease time.Duration) (client, error) {
	etcd, err := clientv3.New(clientv3.Config{Endpoints: addresses, DialTimeout: 10 * time.Second})
	if err != nil {
		return nil, err
	}
	session, err := concurrency.NewSession(etcd, concurrency.WithTTL(int(lease.Seconds())))
	if err != nil {
		return nil, errors.Join(err, etcd.Close())
	}
	return &etcdClient{etcd, session}, nil
}

func (c *etcdClient) Lock(ctx context.Context, name string) (hold, error) {
	m := concurrency.NewMutex(c.session, name)
	return m, m.Lock(ctx)
}

func (c *etcdClient) Close() error { return errors.Join(c.session.Close(), c.etcd.Close()) }

// postgresClient takes advisory locks, each over a connection of its own.
type postgresClient struct{ *pgxpool.Pool }

func openPostgres(addresses []string, _ time.Duration) (client, error) {
	pool, err := pgxpool.New(context.Background(), addresses[0])
	return postgresClient{pool}, err
}

func (c postgresClient) Lock(ctx context.Context, name string) (hold, error) {
	conn, err := c.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "select pg_advisory_lock(hashtextextended($1, 0))", name); err != nil {
		conn.Release()
		return nil, err
	}
	return postgresHold{conn, name}, nil
}

func (c postgresClient) Close() error {
	c.Pool.Close()
	return nil
}

type postgresHold struct {
	conn *pgxpool.Conn
	name string
}

func (h postgresHold) Unlock(ctx context.Context) error {
	defer h.conn.Release()
	var was bool
	err := h.conn.QueryRow(ctx, "select pg_advisory_unlock(hashtextextended($1, 0))", h.name).Scan(&was)
	return mustOK(was, err)
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
			at = append(at, "http://"+net.JoinHostPort("127.0.0.1", port))
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
			if err := retry(ctx, func(ctx context.Context) error { return healthy(ctx, at[i]) }); err != nil {
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
		server := exec.Command(program, "-D", data, "-p", ports[0],
			"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=")
		server.SysProcAttr, server.Dir = attr, f.dir
		address := "postgres://postgres@127.0.0.1:" + ports[0] + "/postgres?sslmode=disable"
		if err := f.run(address, syscall.SIGQUIT, server); err != nil { // it has shared memory to give back
			return err
		}
		return retry(ctx, func(ctx context.Context) error {
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
