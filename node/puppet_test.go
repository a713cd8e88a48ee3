package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

// A puppet is a connection whose commands and replies a test bends, for what the masters
// of redlocktest do not do.
type puppet struct {
	redis.Conn
	rules *rules
	names []string
	mu    sync.Mutex
}

// rules say how. Both may be nil, and are called from the node's goroutines.
type rules struct {
	// swallow: a command that never reaches the master, and is not answered.
	swallow func(words string) bool
	// answer: what the node is to read instead, nil for what the master said.
	answer func(words string) any
}

// bend makes a pool like p, whose connections follow r.
func bend(p *redis.Pool, r *rules) *redis.Pool {
	return wrapped(p, func(c redis.Conn) redis.Conn { return &puppet{Conn: c, rules: r} })
}

// wrapped makes a pool like p, whose connections are wrapped.
func wrapped(p *redis.Pool, wrap func(redis.Conn) redis.Conn) *redis.Pool {
	dial := p.DialContext
	return &redis.Pool{
		MaxIdle: p.MaxIdle,
		DialContext: func(ctx context.Context) (redis.Conn, error) {
			c, err := dial(ctx)
			if err != nil {
				return nil, err
			}
			return wrap(c), nil
		},
	}
}

func (p *puppet) Send(name string, args ...any) error {
	words := strings.TrimSuffix(fmt.Sprintln(append([]any{name}, args...)...), "\n")
	if p.rules.swallow != nil && p.rules.swallow(words) {
		return nil
	}
	p.mu.Lock()
	p.names = append(p.names, words)
	p.mu.Unlock()
	return p.Conn.Send(name, args...)
}

func (p *puppet) ReceiveWithTimeout(d time.Duration) (any, error) {
	reply, err := redis.ReceiveWithTimeout(p.Conn, d)
	if _, refused := err.(redis.Error); err != nil && !refused {
		return reply, err
	}
	p.mu.Lock()
	words := p.names[0]
	p.names = slices.Delete(p.names, 0, 1)
	p.mu.Unlock()
	if p.rules.answer == nil {
		return reply, err
	}
	switch bent := p.rules.answer(words).(type) {
	case nil:
		return reply, err
	case error:
		return nil, bent
	default:
		return bent, nil
	}
}

func (p *puppet) ReceiveContext(ctx context.Context) (any, error) {
	return redis.ReceiveContext(p.Conn, ctx)
}

func (p *puppet) DoContext(ctx context.Context, name string, args ...any) (any, error) {
	return redis.DoContext(p.Conn, ctx, name, args...)
}

func (p *puppet) DoWithTimeout(d time.Duration, name string, args ...any) (any, error) {
	return redis.DoWithTimeout(p.Conn, d, name, args...)
}
