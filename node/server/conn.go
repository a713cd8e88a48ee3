package server

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/awake"
	"example.com/redlock/node/script"
)

// Server is what answers at one address. Whether that is a master, Greet finds out.
type Server struct {
	Name    string        // in errors
	Pool    *redis.Pool   // lends the connections
	Timeout time.Duration // for one answer, as its client has it

	lending atomic.Int32 // calls of the pool, and of Close of its connections, that are under way
	greeted atomic.Bool  // it has answered a Greet
}

// Conn is a connection that can be broken while it is in use. One goroutine at a time may write to it, and one read.
type Conn struct {
	Patience time.Duration // with each reply to Ask

	// Certificates are the server's and the client's, over TLS; nil: there is none.
	Certificates [2]*x509.Certificate

	conn   redis.Conn
	framed *framedConn // bounds each reply; nil: it is of a user's pool, and nothing does
	server *Server

	mu     sync.Mutex // one at a time severs or closes
	closed bool
}

// Sever breaks the connection, so that reading from it and writing to it return.
func (c *Conn) Sever() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		sever(c.conn)
	}
}

// Close closes the connection for good. It is severed first, or the pool would lend it again: it leads to the same server
// forever, while the name may lead to another by now. A Sever does not wait for a Close that takes long.
func (c *Conn) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	// A pool's connection may be nil, and redigo may panic at what it has buffered, see Receive.
	defer func() { _ = recover() }()
	sever(c.conn)
	_ = c.conn.Close()
}

// errConn refuses a pool. Without both interfaces of redigo, a master that hangs cannot be given up.
var errConn = errors.New("connections of its pool are nil, or lack redis.ConnWithContext or redis.ConnWithTimeout")

// What redigo says of a connection that lacks one of them.
var (
	_, errNoContext = redis.ReceiveContext(nil, context.Background())
	_, errNoTimeout = redis.ReceiveWithTimeout(nil, 0)
)

// Connect takes a connection out of the pool within patience, and refuses one that Sever could not break. Each reply to Ask
// may take half as long.
func (s *Server) Connect(ctx context.Context, patience time.Duration) (*Conn, error) {
	dialing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := awake.After(patience, func() { cancel(ErrTimeout) })
	c := &Conn{Patience: patience / 2, server: s}
	conn, err := s.lend(holding(dialing, c))
	limit.Stop()
	if err != nil {
		return nil, s.whyNotLent(err, context.Cause(dialing) == ErrTimeout)
	}
	c.conn = conn
	if err := c.check(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// whyNotLent makes one error for each meaning of err. late says that the patience has ended.
func (s *Server) whyNotLent(err error, late bool) error {
	if name, ok := errors.AsType[*net.DNSError](err); ok && (late || name.Timeout()) {
		return fmt.Errorf("%w of %s", errLookUpSilent, name.Name)
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" && dial.Timeout() {
		err = errUnreached
	}
	own, ofOurs := errors.AsType[*ownError](err)
	switch {
	case late && ofOurs:
		return &ownError{what: own.what, err: own.err, late: true}
	case late && !errors.Is(err, ErrTimeout):
		return ErrTimeout
	}
	return s.normalize(err)
}

const (
	// noticed is how long functions of the user may take to return after the end of their context, since the reason that they
	// give then is better than a timeout. Close of a connection has as long.
	noticed = 50 * time.Millisecond

	// mostLent is how many calls of a pool may be under way, those that were left behind among them: one for the connection for
	// commands, and one for that for messages.
	mostLent = 2
)

// errLeft says why there is no connection. It is a timeout, so that the next attempt has more time.
var errLeft = fmt.Errorf("%w from Credentials, Dial or its pool, which go on although their context has ended", ErrTimeout)

// lend takes a connection out of the pool. The functions that make one are the user's, and may not heed ctx. So they are
// left behind when it has ended: a connection that they return later is closed, and while [mostLent] of them go on,
// no more are called.
func (s *Server) lend(ctx context.Context) (redis.Conn, error) {
	if s.lending.Add(1) > mostLent {
		s.lending.Add(-1)
		return nil, errLeft
	}
	type lent struct {
		conn redis.Conn
		err  error
	}
	result, left := make(chan lent), make(chan struct{})
	// Goroutines: one. Nobody waits for it once it is left behind.
	go func() {
		conn, err := s.Pool.GetContext(ctx)
		s.lending.Add(-1)
		select {
		case result <- lent{conn, err}:
		case <-left:
			if err == nil {
				(&Conn{conn: conn}).Close()
			}
		}
	}()
	select {
	case l := <-result:
		return l.conn, l.err
	case <-ctx.Done():
	}
	select {
	case l := <-result:
		return l.conn, l.err
	case <-time.After(noticed):
		close(left)
		return nil, errLeft
	}
}

// check returns errConn if Sever could not break the connection. A wrapper, such as the pool's, has the methods
// whatever it wraps, so only a call tells. The calls send nothing, since an answer that never comes would hold up Close.
func (c *Conn) check() (err error) {
	defer func() {
		if recover() != nil { // it is nil
			err = errConn
		}
	}()
	_, err1 := redis.DoContext(c.conn, context.Background(), "") // redigo must be done with it when it returns
	_, err2 := redis.DoWithTimeout(c.conn, c.server.Timeout, "")
	if errors.Is(err1, errNoContext) || errors.Is(err2, errNoTimeout) {
		return errConn
	}
	return nil
}

// sever breaks conn.
func sever(conn redis.Conn) {
	// redigo closes a connection whose deadline has passed, and the pool then drops it.
	ctx, cancel := context.WithDeadline(context.Background(), time.Time{})
	defer cancel()
	_, _ = redis.ReceiveContext(conn, ctx)
}

// Request sends a command whose reply has most bytes at most.
func (c *Conn) Request(most int, words []any) error {
	if c.framed != nil {
		c.framed.replies.owed.expect(most)
	}
	return c.conn.Send(words[0].(string), words[1:]...)
}

// Send sends a command whose replies are messages.
func (c *Conn) Send(name string, args ...any) error { return c.conn.Send(name, args...) }

// Flush writes what is held back.
func (c *Conn) Flush() error { return c.conn.Flush() }

// Gather says whether what is requested now is written together with what follows.
func (c *Conn) Gather(more bool) {
	if c.framed != nil {
		c.framed.more = more
	}
}

// Receive reads a reply, without a time limit. An error of the server is a reply: see [script.Said]. err is why the
// connection is broken: of several reasons the first, which may be the writer's, since later ones only say that redigo has
// closed it.
//
// redigo panics at some replies that no sound server sends, and connections of a user's pool pass on all of them.
func (c *Conn) Receive() (reply any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrReply, p)
		}
	}()
	reply, err = redis.ReceiveWithTimeout(c.conn, 0)
	if refusal, refused := err.(redis.Error); refused {
		return script.Said(refusal), nil
	} else if err != nil {
		return nil, c.server.normalize(cmp.Or(c.conn.Err(), err))
	}
	return reply, nil
}

// Message reads a reply on a subscribed connection: a message, or that a subscription begins or ends, which has no payload. The
// channel of any other reply is empty. Here an error of the server is an error.
func (c *Conn) Message() (channel, payload string, err error) {
	reply, err := c.Receive()
	if refusal, refused := reply.(redis.Error); refused {
		return "", "", refusal
	}
	channel, payload = message(reply)
	return channel, payload, err
}

func message(reply any) (channel, payload string) {
	list, _ := reply.([]any)
	if len(list) != 3 {
		return "", ""
	}
	first, _ := list[0].([]byte)
	second, _ := list[1].([]byte)
	third, _ := list[2].([]byte) // not of (un)subscribe, which has a number of channels
	if !slices.Contains([]string{"message", "subscribe", "unsubscribe"}, string(first)) {
		return "", ""
	}
	return string(second), string(third)
}

// Ask sends commands in one flush and returns the replies, as Receive has them. Neither to send them nor a reply takes
// longer than the connection's Patience. If the server hangs up behind an error, that is the reason.
func (c *Conn) Ask(commands ...[]any) ([]any, error) {
	limit := awake.After(c.Patience, c.Sever)
	defer limit.Stop()
	why := func(err error) error {
		if limit.Over() {
			return ErrTimeout
		}
		return c.server.normalize(err)
	}
	for _, words := range commands {
		if err := c.Request(script.Longest(words[0].(string)), words); err != nil {
			return nil, why(err)
		}
	}
	if err := c.Flush(); err != nil {
		return nil, why(err)
	}
	replies := make([]any, len(commands))
	for i := range replies {
		limit.Restart()
		reply, err := c.Receive()
		if err != nil {
			return nil, lastWords(replies[:i], why(err))
		}
		replies[i] = reply
	}
	return replies, nil
}

// lastWords returns why a connection broke with err: a server that has too many clients, or is not to be reached
// from here, answers the first command with that, and hangs up.
func lastWords(replies []any, err error) error {
	if last := len(replies) - 1; last >= 0 && errors.Is(err, errHungUp) {
		if refusal, refused := replies[last].(redis.Error); refused {
			return refusal
		}
	}
	return err
}
