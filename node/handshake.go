package node

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
)

// previousLink is what a node remembers of the connection before.
type previousLink struct {
	id        identity
	clientID  int64
	guardEnds clock.Instant
	ended     clock.Instant
}

// errConn refuses a pool. Without both interfaces of redigo, a master that hangs cannot be given up.
var errConn = errors.New("connections of its pool lack redis.ConnWithContext or redis.ConnWithTimeout")

// What redigo says of a connection that lacks one of them.
var (
	_, errNoContext = redis.ReceiveContext(nil, context.Background())
	_, errNoTimeout = redis.ReceiveWithTimeout(nil, 0)
)

// borrow takes a connection out of the pool, and refuses one that sever could not break.
func (n *Node) borrow(ctx context.Context, patience time.Duration) (redis.Conn, error) {
	dialing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := afterAwake(patience, func() { cancel(ErrTimeout) })
	conn, err := n.cfg.Pool.GetContext(dialing)
	limit.stop()
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" && dial.Timeout() {
		err = errUnreached
	}
	if err != nil {
		if context.Cause(dialing) == ErrTimeout && !errors.Is(err, ErrTimeout) {
			return nil, ErrTimeout
		}
		return nil, normalize(err)
	}
	// A wrapper, such as the pool's, has the methods whatever it wraps, so only a call tells.
	// These send nothing: an answer that never came would hold up Close.
	_, err1 := redis.DoContext(conn, context.WithoutCancel(ctx), "") // redigo must be done with conn when it returns
	_, err2 := redis.DoWithTimeout(conn, n.cfg.Timeout, "")
	if errors.Is(err1, errNoContext) || errors.Is(err2, errNoTimeout) {
		discard(conn)
		return nil, errConn
	}
	return conn, nil
}

// discard closes conn for good. The pool would lend it again if it worked, but it leads to the
// same server forever, while the name may lead to another by now.
func discard(conn redis.Conn) {
	sever(conn)
	_ = conn.Close()
}

// sever breaks conn, so that whoever reads from it returns. Close gives it back.
func sever(conn redis.Conn) {
	// redigo closes a connection whose deadline has passed, and the pool then drops it.
	ctx, cancel := context.WithDeadline(context.Background(), time.Time{})
	defer cancel()
	_, _ = redis.ReceiveContext(conn, ctx)
}

// handshake asks who the master is, refuses one that must not vote, and makes sure that no
// command of the connection before runs from now on.
func (n *Node) handshake(l *link) error {
	asked := clock.Now()
	replies, err := n.roundTrips(&l.wire, "INFO server", "INFO replication", "CLIENT ID", "PING", "TIME")
	if err != nil {
		return err
	}
	sections, clientID, pong, masterTime := replies[:2:2], replies[2], replies[3], replies[4]
	told := clock.Now()
	l.checked, l.silence, l.lastAnswer = asked, n.drawSilence(), told
	l.answerTime.add(told.Sub(asked))
	for _, reply := range replies {
		if refusal, refused := reply.(redis.Error); refused && cannotServe(refusal) {
			return refusal
		}
	}
	if _, refused := pong.(redis.Error); refused { // which does not say whether it still loads its data
		more, err := n.roundTrips(&l.wire, "INFO persistence")
		if err != nil {
			return err
		}
		sections = append(sections, more...)
	}
	l.id = identify(sections...)
	if err := checkVersion(l.id.version); err != nil {
		return err
	}
	l.clientID, _ = clientID.(int64)
	if l.id.replica() {
		n.replicaRun = l.id.run
		return ErrReplica
	}
	if l.id.loading {
		return errors.New("loads its data from disk")
	}
	if err := n.cfg.Registry.add(n, l.id.run); err != nil {
		return err
	}
	n.warnIfRefused(clientID)
	l.guardEnds, l.mayBeGuarded = n.guardEnd(&l.id, told)
	if l.began = told.Add(-l.id.uptime); l.id.promoted {
		l.began = told
	}
	n.startClockCheck(l.id, asked, told, masterTime)

	// If it is the same process, what the old connection wrote may still be in a socket buffer
	// there. Once CLIENT KILL is answered, it has run or never will. A process that does not say which it
	// is may be another one, where a stranger's connection has the number.
	if n.previous.clientID != 0 && l.id.run != "" && n.previous.id.run == l.id.run {
		replies, err := n.roundTrips(&l.wire, "CLIENT KILL ID "+strconv.FormatInt(n.previous.clientID, 10))
		if err != nil {
			return err
		}
		n.warnIfRefused(replies[0])
	}
	n.restarted = n.restarted || n.previous.id.run != "" && n.previous.id.run != l.id.run
	n.previous, n.replicaRun = previousLink{}, ""
	return nil
}

// warnIfRefused logs that old connections cannot be killed, if reply is a refusal.
func (n *Node) warnIfRefused(reply any) {
	if err, refused := reply.(redis.Error); refused {
		n.cfg.Logger.Warn("redlock: CLIENT KILL is refused, or CLIENT ID, which it needs: a lock that was released during an outage may stay taken until its lease ends",
			"master", n.cfg.Name, "error", err)
	}
}

// roundTrips sends commands in one flush and returns the replies. An error of the master is a
// reply. Neither the flush nor a reply takes longer than the connection's patience.
func (n *Node) roundTrips(w *wire, commands ...string) ([]any, error) {
	all := make([][]any, len(commands))
	for i, command := range commands {
		for word := range strings.FieldsSeq(command) {
			all[i] = append(all[i], word)
		}
	}
	return n.exchange(w, all)
}

// exchange is roundTrips for commands whose words may be anything.
func (n *Node) exchange(w *wire, commands [][]any) ([]any, error) {
	conn := w.conn
	for _, words := range commands {
		if err := conn.Send(words[0].(string), words[1:]...); err != nil {
			return nil, err
		}
	}
	patiently := func(f func() error) error {
		limit := afterAwake(w.patience, w.sever)
		defer limit.stop()
		return limit.why(f())
	}
	if err := patiently(conn.Flush); err != nil {
		return nil, err
	}
	replies := make([]any, len(commands))
	for i := range replies {
		err := patiently(func() (err error) {
			replies[i], err = receive(conn, 0)
			return err
		})
		if refusal, refused := err.(redis.Error); refused {
			replies[i] = script.Said(refusal)
		} else if err != nil {
			return nil, err
		}
	}
	return replies, nil
}
