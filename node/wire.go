package node

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
)

// wire is a connection that can be broken while it is in use.
type wire struct {
	conn     redis.Conn
	framed   *framedConn   // bounds each reply; nil: it is of a user's pool, and nothing does
	patience time.Duration // with each reply to ask
	lending  *atomic.Int32 // of its node

	// Of a TLS connection: with which certificates it was made; nil where there was none.
	master, own *x509.Certificate

	mu     sync.Mutex // one at a time severs or closes
	closed bool
}

// sever breaks the connection, so that nobody is held up by reading from it or writing to it.
func (w *wire) sever() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		sever(w.conn)
	}
}

// close closes the connection for good. Nobody may use it afterwards. The pool would lend it again if it
// worked, but it leads to the same server forever, while the name may lead to another by now. A sever that
// comes while the pool says goodbye to the master does not wait for that.
func (w *wire) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	// What redigo has read before, and a pool reads now, may be such a reply as in receive, and a pool's connection nil.
	defer func() { _ = recover() }()
	sever(w.conn)
	_ = w.conn.Close()
}

// errConn refuses a pool. Without both interfaces of redigo, a master that hangs cannot be given up.
var errConn = errors.New("connections of its pool are nil, or lack redis.ConnWithContext or redis.ConnWithTimeout")

// What redigo says of a connection that lacks one of them.
var (
	_, errNoContext = redis.ReceiveContext(nil, context.Background())
	_, errNoTimeout = redis.ReceiveWithTimeout(nil, 0)
)

// borrow takes a connection out of the pool, and refuses one that sever could not break. Each reply to ask
// may take half as long as it may take to connect.
func (n *Node) borrow(ctx context.Context, patience time.Duration) (*wire, error) {
	dialing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := afterAwake(patience, func() { cancel(ErrTimeout) })
	w := &wire{patience: patience / 2, lending: &n.lending}
	conn, err := n.lend(holding(dialing, w))
	limit.stop()
	if err != nil {
		return nil, n.whyNotLent(err, context.Cause(dialing) == ErrTimeout)
	}
	w.conn = conn
	if err := w.check(n.cfg.Timeout); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// whyNotLent makes one error for each meaning of err. late says that the patience was at its end.
func (n *Node) whyNotLent(err error, late bool) error {
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
	return n.withoutName(n.normalize(err))
}

const (
	// noticed is how long functions of the user may take to return after the end of their context: what they say then is
	// better than that they took too long. Close of a connection has as long.
	noticed = 50 * time.Millisecond

	// mostLent is how many calls of a pool may be under way, those that were left behind among them: one for commands, and one
	// for messages.
	mostLent = 2
)

// errLeft is why a master is not connected to. It is a timeout: the next attempt has more time.
var errLeft = fmt.Errorf("%w from Credentials, Dial or its pool, which go on although their context has ended", ErrTimeout)

// lend takes a connection out of the pool. The functions that make one are the user's, and may not heed ctx. So they are
// left behind when it has ended: the connection that they still return is closed, and while [mostLent] of them go on,
// no more are called.
func (n *Node) lend(ctx context.Context) (redis.Conn, error) {
	if n.lending.Add(1) > mostLent {
		n.lending.Add(-1)
		return nil, errLeft
	}
	type lent struct {
		conn redis.Conn
		err  error
	}
	result, left := make(chan lent), make(chan struct{})
	// Goroutines: one. Nobody waits for it once it is left behind.
	go func() {
		conn, err := n.cfg.Pool.GetContext(ctx)
		n.lending.Add(-1)
		select {
		case result <- lent{conn, err}:
		case <-left:
			if err == nil {
				(&wire{conn: conn}).close()
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

// check returns errConn if sever could not break the connection. A wrapper, such as the pool's, has the methods
// whatever it wraps, so only a call tells. These send nothing: an answer that never came would hold up Close.
func (w *wire) check(timeout time.Duration) (err error) {
	defer func() {
		if recover() != nil { // it is nil
			err = errConn
		}
	}()
	_, err1 := redis.DoContext(w.conn, context.Background(), "") // redigo must be done with it when it returns
	_, err2 := redis.DoWithTimeout(w.conn, timeout, "")
	if errors.Is(err1, errNoContext) || errors.Is(err2, errNoTimeout) {
		return errConn
	}
	return nil
}

// sever breaks conn, so that whoever reads from it returns.
func sever(conn redis.Conn) {
	// redigo closes a connection whose deadline has passed, and the pool then drops it.
	ctx, cancel := context.WithDeadline(context.Background(), time.Time{})
	defer cancel()
	_, _ = redis.ReceiveContext(conn, ctx)
}

// request sends a command whose reply has most bytes at most.
func (w *wire) request(most int, words []any) error {
	if w.framed != nil {
		w.framed.replies.owed.expect(most)
	}
	return w.conn.Send(words[0].(string), words[1:]...)
}

// gather says whether what is requested now is written together with what follows.
func (w *wire) gather(more bool) {
	if w.framed != nil {
		w.framed.more = more
	}
}

// receive reads a reply, without a time limit. An error is the first that the connection had, which may be the writer's:
// later ones only say that redigo has closed it. redigo panics at some replies that no server sends which is well, and
// connections of a user's pool pass on all of them.
func (w *wire) receive() (reply any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errReply, p)
		}
	}()
	reply, err = redis.ReceiveWithTimeout(w.conn, 0)
	if _, refused := err.(redis.Error); err != nil && !refused {
		err = cmp.Or(w.conn.Err(), err)
	}
	return reply, err
}

// ask sends commands in one flush and returns the replies. An error of the master is a reply. Neither to
// send them nor a reply takes longer than the connection's patience. If the master hangs up behind an error, that
// is the reason.
func (w *wire) ask(commands ...[]any) ([]any, error) {
	limit := afterAwake(w.patience, w.sever)
	defer limit.stop()
	for _, words := range commands {
		if err := w.request(script.Longest(words[0].(string)), words); err != nil {
			return nil, limit.why(err)
		}
	}
	if err := w.conn.Flush(); err != nil {
		return nil, limit.why(err)
	}
	replies := make([]any, len(commands))
	for i := range replies {
		limit.restart()
		reply, err := w.receive()
		if refusal, refused := err.(redis.Error); refused {
			reply = script.Said(refusal)
		} else if err != nil {
			return nil, lastWords(replies[:i], limit.why(err))
		}
		replies[i] = reply
	}
	return replies, nil
}

// lastWords returns why a connection broke with err: a server that has too many clients, or is not to be reached
// from here, answers the first command with that, and hangs up.
func lastWords(replies []any, err error) error {
	if last := len(replies) - 1; last >= 0 && errors.Is(normalize(err), errHungUp) {
		if refusal, refused := replies[last].(redis.Error); refused {
			return refusal
		}
	}
	return err
}

// split returns commands for ask, whose words have no spaces.
func split(commands ...string) [][]any {
	all := make([][]any, len(commands))
	for i, command := range commands {
		for word := range strings.FieldsSeq(command) {
			all[i] = append(all[i], word)
		}
	}
	return all
}
