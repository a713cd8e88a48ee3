// Package bent has pools for tests whose connections lose commands and change replies: faults that the masters of
// redlocktest do not have.
//
// # Concurrency
//
// The functions of [Rules] are called from the goroutines that use the connections.
package bent

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Rules say what becomes of commands, each by its words with a space in between. Both functions may be nil.
type Rules struct {
	Flushes atomic.Int64            // so far
	Drop    func(words string) bool // the command never reaches the master, and is not answered
	Reply   func(words string) any  // what is read instead of the reply, an error or a value; nil: what the master said
}

// Pool makes a pool like p, whose connections follow r.
func Pool(p *redis.Pool, r *Rules) *redis.Pool {
	return Wrapped(p, func(c redis.Conn) redis.Conn { return &conn{whole: c.(whole), rules: r} })
}

// Reply makes a pool like p, where commands that begin so are answered with reply instead.
func Reply(p *redis.Pool, begin string, reply any) *redis.Pool {
	return Pool(p, &Rules{Reply: func(words string) any {
		if strings.HasPrefix(words, begin) {
			return reply
		}
		return nil
	}})
}

// Wrapped makes a pool like p, whose connections are wrapped.
func Wrapped(p *redis.Pool, wrap func(redis.Conn) redis.Conn) *redis.Pool {
	return &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
		c, err := p.DialContext(ctx)
		if err != nil {
			return nil, err
		}
		return wrap(c), nil
	}}
}

// whole is a connection with all that redigo's own have.
type whole interface {
	redis.ConnWithTimeout
	redis.ConnWithContext
}

type conn struct {
	whole
	rules *Rules
	mu    sync.Mutex
	sent  []string // commands that are not answered yet
}

func (c *conn) Send(name string, args ...any) error {
	words := strings.TrimSuffix(fmt.Sprintln(append([]any{name}, args...)...), "\n")
	if c.rules.Drop != nil && c.rules.Drop(words) {
		return nil
	}
	c.mu.Lock()
	c.sent = append(c.sent, words)
	c.mu.Unlock()
	return c.whole.Send(name, args...)
}

func (c *conn) Flush() error {
	c.rules.Flushes.Add(1)
	return c.whole.Flush()
}

func (c *conn) ReceiveWithTimeout(d time.Duration) (any, error) {
	reply, err := c.whole.ReceiveWithTimeout(d)
	if _, refused := err.(redis.Error); err != nil && !refused {
		return reply, err
	}
	c.mu.Lock()
	words := c.sent[:min(1, len(c.sent))] // a message answers none
	c.sent = c.sent[len(words):]
	c.mu.Unlock()
	if c.rules.Reply == nil || len(words) == 0 {
		return reply, err
	}
	switch bent := c.rules.Reply(words[0]).(type) {
	case nil:
		return reply, err
	case error:
		return nil, bent
	default:
		return bent, nil
	}
}
