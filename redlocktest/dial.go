package redlocktest

import (
	"context"
	"net"
	"syscall"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/link"
)

// dialTimeout bounds a dial whose context does not: redigo's own default.
const dialTimeout = 30 * time.Second

// Dial connects to the master in memory, for clients that do not use [Fleet.Pools].
//
// It fails at once if the master is dead. While the master is cut off, it fails when ctx ends, or
// after 30 s.
func (m *Master) Dial(ctx context.Context) (net.Conn, error) { return m.dialOver(ctx, m.Wire()) }

// dialOver takes as long as a TCP handshake: one round trip.
func (m *Master) dialOver(ctx context.Context, w *Wire) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	err := ctx.Err()
	if trip := w.takes() + w.takes(); trip > 0 {
		select {
		case <-time.After(trip):
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	for err == nil {
		m.mu.Lock()
		cut := m.network.mended
		if cut == nil {
			cut = w.network.mended
		}
		if cut == nil && m.proc != nil {
			defer m.mu.Unlock()
			return m.attachLocked(w), nil
		}
		m.mu.Unlock()
		if cut == nil {
			err = syscall.ECONNREFUSED
			break
		}
		select {
		case <-cut:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	a := link.Addr(m.name)
	return nil, &net.OpError{Op: "dial", Net: a.Network(), Addr: a, Err: err}
}

// pool makes a pool of connections to m.
func (m *Master) pool(options []redis.DialOption) *redis.Pool {
	options = append([]redis.DialOption{
		redis.DialContextFunc(func(ctx context.Context, _, _ string) (net.Conn, error) { return m.Dial(ctx) }),
	}, options...)
	return &redis.Pool{
		MaxIdle: 8,
		DialContext: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "memory", m.name, options...)
		},
	}
}
