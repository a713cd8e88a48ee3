package node

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
)

// Receiver takes the answers to the commands of a fan-out.
type Receiver interface {
	// Answer is called exactly once for each Send, about Config.Timeout after it at
	// the latest, or up to four times that where the connection breaks and the script is
	// lost meanwhile. It may be called before Send returns, and must not block.
	Answer(i int, a script.Answer)
}

// Errors that an [Answer] carries.
var (
	errConnecting = errors.New("not connected yet")
	ErrTimeout    = errors.New("no answer in time")
	ErrReplica    = errors.New("is a replica, not a master")
	ErrSameServer = errors.New("is the same server")
	ErrClosed     = errors.New("closed")
	errPromoted   = errors.New("was a replica since")

	errHungUp      = errors.New("connection closed by the master")
	errHungUpFirst = fmt.Errorf("%w before its first answer (a TLS port needs rediss://)", errHungUp)
	errPlainPort   = errors.New("answers without TLS (a plain port? use redis://)")
	errTLSSilent   = fmt.Errorf("%w to the TLS handshake (a plain port needs redis://)", ErrTimeout)
	errTLSPort     = errors.New("answers with TLS (a TLS port? use rediss://)")
)

// GuardedError says that a master may have forgotten its votes, and grants no hold yet.
type GuardedError struct {
	Left     time.Duration // until it does
	Promoted bool          // it was a replica before; otherwise it restarted
	Why      error         // why its age is not known, nil if it is
}

func (e *GuardedError) Error() string {
	switch left := e.Left.Round(time.Millisecond); {
	case e.Why != nil:
		return fmt.Sprintf("grants no hold, because its uptime is unknown: %v", e.Why)
	case e.Promoted:
		return fmt.Sprintf("was promoted from a replica, grants no hold for another %v", left)
	default:
		return fmt.Sprintf("restarted lately, grants no hold for another %v", left)
	}
}

func (e *GuardedError) Unwrap() error { return e.Why }

// UnsteadyError says that a master's clock ran ahead, so that leases it gives may end
// before the client expects it. The master did what it was told, and is not counted.
type UnsteadyError struct {
	Ahead time.Duration // by how much, at least, since it was last steady
}

func (e *UnsteadyError) Error() string {
	return fmt.Sprintf("is not counted, because its clock ran ahead by %v", e.Ahead.Round(time.Millisecond))
}

// Error names the master at which something went wrong.
type Error struct {
	Node string
	Err  error
}

func (e *Error) Error() string { return e.Node + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Error returns err as one that names the master.
func (n *Node) Error(err error) error { return &Error{Node: n.cfg.Name, Err: err} }

// Explain returns a as an error that names the master: why it did not say yes.
func (n *Node) Explain(a script.Answer) error { return n.Error(a.Why()) }

// Kind returns the reason that err gives, with the master that it names: without what changes
// while the reason does not, such as the time that is left, and the present time in what is said of
// a certificate.
func Kind(err error) string {
	if at, ok := errors.AsType[*Error](err); ok {
		return at.Node + ": " + Kind(at.Err)
	}
	if guarded, ok := errors.AsType[*GuardedError](err); ok && guarded.Why == nil {
		return fmt.Sprintf("guarded, promoted %v", guarded.Promoted)
	}
	for _, r := range remedies {
		if r.is(err) {
			return r.what
		}
	}
	if reply, ok := errors.AsType[redis.Error](err); ok {
		if code, _, _ := strings.Cut(string(script.Said(reply)), " "); code != "ERR" {
			return code
		}
	}
	return err.Error()
}

// plain maps what redigo, the net package and contexts say to one meaning each.
func plain(err error) error {
	// redigo does not export its type. A plain port of Redis mostly waits for the end of a line,
	// which the handshake need not have.
	if err != nil && err.Error() == "TLS handshake timeout" {
		return errTLSSilent
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || isTimeout(err) {
		return ErrTimeout
	}
	if reply, ok := err.(redis.Error); ok {
		return script.Said(reply)
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return errPlainPort
	}
	for _, closed := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, closed) {
			return errHungUp
		}
	}
	return err
}

// unnamed takes an address out of err that is the name of the master, which is told beside it.
func (n *Node) unnamed(err error) error {
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Addr != nil && dial.Addr.String() == n.cfg.Name {
		return dial.Err
	}
	return err
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}
