package main

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// elsewhere are locks that do not use Redis, for a fleet that has etcd or Postgres anyway.
var elsewhere = []contender{
	{name: "etcd/3", masters: 3, named: true, start: startEtcd, open: openEtcd},
	{name: "postgres/1", masters: 1, named: true, start: startPostgres, open: openPostgres},
}

// etcdClient has one session, which is renewed, for all its locks: as etcd recommends.
type etcdClient struct {
	etcd    *clientv3.Client
	session *concurrency.Session
}

func openEtcd(addresses []string, t times) (client, error) {
	etcd, err := clientv3.New(clientv3.Config{Endpoints: addresses, DialTimeout: 10 * time.Second})
	if err != nil {
		return nil, err
	}
	session, err := concurrency.NewSession(etcd, concurrency.WithTTL(int(t.lease.Seconds())))
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

func openPostgres(addresses []string, _ times) (client, error) {
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
