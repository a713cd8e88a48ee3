package redlocktest

import (
	"context"
	"net"
	"syscall"
	"time"

	"github.com/gomodule/redigo/redis"
)

// dialTimeout bounds a dial whose context does not: redigo's own default.
const dialTimeout = 30 * time.Second

// Dial connects to the master in memory, for clients that do not use [Fleet.Pools].
//
// It fails at once if the master is dead. While the master is cut off, it fails when ctx ends, or
// after 30 s.
func (m *Master) Dial(ctx context.Context) (net.Conn, error) { return m.dialOver(ctx, m.Wire()) }

func (m *Master) dialOver(ctx context.Context, w *Wire) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	c, err := m.dial(ctx, w)
	if err != nil {
		a := addr(m.name)
		return nil, &net.OpError{Op: "dial", Net: a.Network(), Addr: a, Err: err}
	}
	return c, nil
}

func (m *Master) dial(ctx context.Context, w *Wire) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := m.roundTrip(ctx, w); err != nil {
		return nil, err
	}
	for {
		m.mu.Lock()
		cut := m.network.mended
		if cut == nil {
			cut = w.network.mended
		}
		switch {
		case cut != nil: // wait
		case m.proc == nil:
			m.mu.Unlock()
			return nil, syscall.ECONNREFUSED
		default:
			c := m.attachLocked(w)
			m.mu.Unlock()
			return c, nil
		}
		m.mu.Unlock()
		select {
		case <-cut:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// roundTrip takes as long as a TCP handshake: one round trip.
func (m *Master) roundTrip(ctx context.Context, w *Wire) error {
	m.mu.Lock()
	trip := 2 * m.delay
	if w.lag != nil {
		trip += w.lag() + w.lag()
	}
	m.mu.Unlock()
	if trip == 0 {
		return nil
	}
	timer := time.NewTimer(trip)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
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
