package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
)

// wire is a connection that can be broken while it is in use.
type wire struct {
	conn     redis.Conn
	owed     *owed
	patience time.Duration // with each reply to ask

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
	sever(w.conn)
	_ = w.conn.Close()
}

// errConn refuses a pool. Without both interfaces of redigo, a master that hangs cannot be given up.
var errConn = errors.New("connections of its pool lack redis.ConnWithContext or redis.ConnWithTimeout")

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
	w := &wire{owed: new(owed), patience: patience / 2}
	conn, err := n.cfg.Pool.GetContext(holding(dialing, w.owed))
	limit.stop()
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" && dial.Timeout() {
		err = errUnreached
	}
	if err != nil {
		own, ofOurs := errors.AsType[*ownError](err)
		switch late := context.Cause(dialing) == ErrTimeout; {
		case late && ofOurs:
			return nil, &ownError{what: own.what, err: own.err, late: true}
		case late && !errors.Is(err, ErrTimeout):
			return nil, ErrTimeout
		}
		return nil, n.withoutName(n.normalize(err))
	}
	w.conn = conn
	// A wrapper, such as the pool's, has the methods whatever it wraps, so only a call tells.
	// These send nothing: an answer that never came would hold up Close.
	_, err1 := redis.DoContext(conn, context.WithoutCancel(ctx), "") // redigo must be done with conn when it returns
	_, err2 := redis.DoWithTimeout(conn, n.cfg.Timeout, "")
	if errors.Is(err1, errNoContext) || errors.Is(err2, errNoTimeout) {
		w.close()
		return nil, errConn
	}
	return w, nil
}

// sever breaks conn, so that whoever reads from it returns.
func sever(conn redis.Conn) {
	// redigo closes a connection whose deadline has passed, and the pool then drops it.
	ctx, cancel := context.WithDeadline(context.Background(), time.Time{})
	defer cancel()
	_, _ = redis.ReceiveContext(conn, ctx)
}

// receive reads a reply, without a time limit. redigo panics at some that no server sends which is well,
// and connections of a user's pool pass on all of them.
func receive(conn redis.Conn) (reply any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errReply, p)
		}
	}()
	return redis.ReceiveWithTimeout(conn, 0)
}

// request sends a command whose reply has most bytes at most.
func (w *wire) request(most int, words []any) error {
	w.owed.expect(most)
	return w.conn.Send(words[0].(string), words[1:]...)
}

// receive reads a reply, without a time limit. One that is longer than that of its command may be is an error.
func (w *wire) receive() (any, error) {
	reply, err := receive(w.conn)
	if w.owed.framed {
		return reply, err
	}
	most, read := w.owed.next(), reply
	if refusal, refused := err.(redis.Error); refused {
		most, read = max(most, longestError), refusal
	}
	if lengthOf(read) > most {
		return nil, tooLong(most)
	}
	return reply, err
}

// ask sends commands in one flush and returns the replies. An error of the master is a reply. Neither the
// flush nor a reply takes longer than the connection's patience. If the master hangs up behind an error, that
// is the reason.
func (w *wire) ask(commands ...[]any) ([]any, error) {
	for _, words := range commands {
		if err := w.request(script.Longest(words[0].(string)), words); err != nil {
			return nil, err
		}
	}
	patiently := func(f func() error) error {
		limit := afterAwake(w.patience, w.sever)
		defer limit.stop()
		return limit.why(f())
	}
	if err := patiently(w.conn.Flush); err != nil {
		return nil, err
	}
	replies := make([]any, len(commands))
	for i := range replies {
		err := patiently(func() (err error) {
			replies[i], err = w.receive()
			return err
		})
		if refusal, refused := err.(redis.Error); refused {
			replies[i] = script.Said(refusal)
		} else if err != nil {
			return nil, lastWords(replies[:i], err)
		}
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

// askWords is ask for commands whose words have no spaces.
func (w *wire) askWords(commands ...string) ([]any, error) {
	all := make([][]any, len(commands))
	for i, command := range commands {
		for word := range strings.FieldsSeq(command) {
			all[i] = append(all[i], word)
		}
	}
	return w.ask(all...)
}
