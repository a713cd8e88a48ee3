package node

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
)

// identity is what a master says of itself.
type identity struct {
	run     string        // drawn anew by each process
	version string        // of Redis
	role    string        // master or slave
	uptime  time.Duration // in whole seconds, by its wall clock
	loading bool          // reads its data from disk
	err     error         // why it does not say

	promoted bool   // it was a replica before it was a master
	history  string // of its data: begun anew by each promotion
}

// past is what a node remembers of the connection before.
type past struct {
	id     identity
	client int64
	fit    clock.Instant // from when on its process grants holds
	end    clock.Instant
}

// connect opens a connection and finds out where it leads.
func (n *Node) connect() (*link, error) {
	ctx, cancel := context.WithTimeout(n.ctx, dialTimeout)
	defer cancel()
	conn, err := n.borrow(ctx)
	if err != nil {
		return nil, n.unnamed(err)
	}
	l := &link{conn: conn, loads: make(map[string]bool), broken: make(chan struct{}), armed: true, heard: time.Now()}
	if err := n.greet(l); err != nil {
		discard(conn)
		return nil, plain(err)
	}
	n.mu.Lock()
	n.link = l
	n.showTrip(l)
	l.owed = n.owed.take()
	l.sweep = time.AfterFunc(n.cfg.Timeout, func() { n.overdue(l) })
	n.mu.Unlock()
	return l, nil
}

// errConn refuses a pool: it takes both interfaces of redigo to give up a master that hangs.
var errConn = errors.New("connections of its pool lack redis.ConnWithContext or redis.ConnWithTimeout")

// What redigo says of a connection that lacks one of them.
var (
	_, errNoContext = redis.ReceiveContext(nil, context.Background())
	_, errNoTimeout = redis.ReceiveWithTimeout(nil, 0)
)

// borrow takes a connection out of the pool, and refuses one that sever could not break.
func (n *Node) borrow(ctx context.Context) (redis.Conn, error) {
	conn, err := n.cfg.Pool.GetContext(ctx)
	if err != nil {
		return nil, plain(err)
	}
	// A wrapper has the methods whatever it wraps, as that of the pool does, so only a call
	// tells. This one sends nothing: an answer that never comes would hold up Close.
	_, err1 := redis.DoContext(conn, ctx, "")
	_, err2 := redis.DoWithTimeout(conn, n.cfg.Timeout, "")
	if errors.Is(err1, errNoContext) || errors.Is(err2, errNoTimeout) {
		discard(conn)
		return nil, errConn
	}
	return conn, nil
}

// discard closes conn for good. The pool would lend one that works once more, but it
// leads to the same server for ever, and the name may lead to another by now.
func discard(conn redis.Conn) {
	sever(conn)
	_ = conn.Close()
}

// sever breaks conn, so that whoever reads from it returns. It is given back by Close.
func sever(conn redis.Conn) {
	// redigo closes a connection when a deadline has passed, and the pool drops it then.
	ctx, cancel := context.WithDeadline(context.Background(), time.Time{})
	defer cancel()
	_, _ = redis.ReceiveContext(conn, ctx)
}

// greet asks who the master is, refuses one that must not vote, and makes sure that no
// command of the connection before is carried out from now on.
func (n *Node) greet(l *link) error {
	asked := clock.Now()
	replies, err := n.ask(l.conn, "INFO", "CLIENT ID", "PING", "TIME")
	if err != nil {
		return err
	}
	told := clock.Now()
	l.trip.take(told.Sub(asked))
	for _, reply := range replies {
		if refusal, refused := reply.(redis.Error); refused && unfit(refusal) {
			return refusal
		}
	}
	l.id = identify(replies[0])
	if err := tooOld(l.id.version); err != nil {
		return err
	}
	l.client, _ = replies[1].(int64)
	if l.id.role != "" && l.id.role != "master" {
		n.replica = l.id.run
		return ErrReplica
	}
	if l.id.loading {
		return errors.New("loads its data from disk")
	}
	if err := n.cfg.Registry.enter(n, l.id.run); err != nil {
		return err
	}
	n.warn(replies[1])
	l.fit, l.young = n.fitAt(&l.id, told)
	n.greetClock(l.id, asked, told, replies[3])

	// The same process: what the old connection wrote may still lie in a socket
	// buffer there. Once CLIENT KILL is answered, it is carried out or never will be.
	if n.last.client != 0 && n.last.id.run == l.id.run {
		replies, err := n.ask(l.conn, "CLIENT KILL ID "+strconv.FormatInt(n.last.client, 10))
		if err != nil {
			return err
		}
		n.warn(replies[0])
	}
	n.last, n.replica = past{}, ""
	return nil
}

// warn logs that old connections cannot be killed, if reply is a refusal.
func (n *Node) warn(reply any) {
	if err, refused := reply.(redis.Error); refused {
		n.cfg.Logger.Warn("redlock: CLIENT KILL is refused, or CLIENT ID that it needs: a hold that was given up may stay until its lease ends",
			"master", n.cfg.Name, "error", err)
	}
}

// ask sends commands in one flush. An error of the master is a reply.
func (n *Node) ask(conn redis.Conn, commands ...string) ([]any, error) {
	for _, command := range commands {
		words := strings.Fields(command)
		args := make([]any, len(words)-1)
		for i := range args {
			args[i] = words[i+1]
		}
		if err := conn.Send(words[0], args...); err != nil {
			return nil, err
		}
	}
	if err := conn.Flush(); err != nil {
		return nil, err
	}
	replies := make([]any, len(commands))
	for i := range replies {
		reply, err := redis.ReceiveWithTimeout(conn, n.cfg.Timeout)
		if refusal, refused := err.(redis.Error); refused {
			reply = refusal
		} else if err != nil {
			return nil, err
		}
		replies[i] = reply
	}
	return replies, nil
}

// identify reads the reply to INFO.
func identify(reply any) identity {
	text, ok := reply.([]byte)
	if !ok {
		return identity{err: notTold(reply)}
	}
	var id identity
	var shared, until string
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch key {
		case "run_id":
			id.run = value
		case "redis_version":
			id.version = value
		case "role":
			id.role = value
		case "loading":
			id.loading = value == "1"
		case "uptime_in_seconds":
			s, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				id.err = fmt.Errorf("INFO: uptime_in_seconds: %w", err)
			}
			// Below zero: its wall clock was set back.
			id.uptime = time.Duration(max(0, s)) * time.Second
		case "master_replid":
			id.history = value
		case "master_replid2":
			shared = strings.Trim(value, "0")
		case "second_repl_offset":
			until = strings.TrimPrefix(value, "-1")
		}
	}
	id.promoted = shared != "" && until != ""
	if id.run == "" && id.err == nil {
		id.err = errors.New("INFO: no run_id")
	}
	return id
}

// notTold explains a reply to INFO that is none.
func notTold(reply any) error {
	refusal, refused := reply.(redis.Error)
	if refused && strings.HasPrefix(string(refusal), "NOPERM") {
		return fmt.Errorf("INFO: %w (the user needs the permission +info)", refusal)
	}
	return fmt.Errorf("INFO: %v", reply)
}

// Registry finds the same server under two names. The zero value is ready to use.
type Registry struct {
	mu    sync.Mutex
	nodes map[string]*Node // by run id
}

// enter refuses n when another node leads to the same process.
func (r *Registry) enter(n *Node, run string) error {
	if r == nil || run == "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if other := r.nodes[run]; other != nil && other != n {
		return fmt.Errorf("%w as %s", ErrSameServer, other.cfg.Name)
	}
	r.forget(n)
	if r.nodes == nil {
		r.nodes = make(map[string]*Node)
	}
	r.nodes[run] = n
	return nil
}

// leave takes n off the roll.
func (r *Registry) leave(n *Node) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(n)
}

func (r *Registry) forget(n *Node) {
	for run, other := range r.nodes {
		if other == n {
			delete(r.nodes, run)
		}
	}
}
