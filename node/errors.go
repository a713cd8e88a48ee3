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

	"example.com/redlock/internal/quote"
	"example.com/redlock/node/script"
)

// Reasons why a master did not answer, or is not used.
var (
	errConnecting = errors.New("not connected yet")
	errUnreached  = fmt.Errorf("%w", ErrTimeout) // not even by TCP
	ErrTimeout    = errors.New("no answer in time")
	ErrBehind     = errors.New("is too slow for all that it is asked")
	ErrReplica    = errors.New("is a replica, not a master")
	ErrSameServer = errors.New("is the same server")
	ErrClosed     = errors.New("closed")
	errPromoted   = errors.New("was a replica since")
	errReply      = errors.New("sends what is no reply to any of our commands")

	errHungUp      = errors.New("connection closed by the master")
	errHungUpFirst = fmt.Errorf("%w before its first answer (a TLS port needs rediss://)", errHungUp)
	errPlainPort   = errors.New("answers without TLS (a plain port? use redis://)")
	errTLSSilent   = fmt.Errorf("%w to the TLS handshake (a plain port needs redis://)", ErrTimeout)
	errTLSPort     = errors.New("answers with TLS (a TLS port? use rediss://)")
)

// GuardedError says that a master may have forgotten its votes, and grants no holds yet.
type GuardedError struct {
	Left     time.Duration // until it does
	Promoted bool          // it was a replica; otherwise it restarted
	Why      error         // why its age is unknown, nil if it is known
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

// UnsteadyError says that a master's clock ran ahead, so that leases it grants may end before the
// client expects it. The master ran the command, but its vote does not count.
type UnsteadyError struct {
	Ahead time.Duration // since it was last steady, at least
}

func (e *UnsteadyError) Error() string {
	return fmt.Sprintf("is not counted, because its clock ran ahead by %v", e.Ahead.Round(time.Millisecond))
}

// Error names the master at which something went wrong.
type Error struct {
	Node string
	Err  error
}

// Error quotes what the master may have said.
func (e *Error) Error() string { return e.Node + ": " + quote.Text(e.Err.Error()) }

func (e *Error) Unwrap() error { return e.Err }

// Error wraps err in an [*Error] that names the master.
func (n *Node) Error(err error) error { return &Error{Node: n.cfg.Name, Err: err} }

// Explain returns why the master did not say yes, as an [*Error] that names it.
func (n *Node) Explain(a script.Answer) error { return n.Error(a.Why()) }

// Kind returns the reason in err, with the master it names, but without what changes while the
// reason stays: the time that is left, say, or the present time in an error about a certificate.
// Errors of the same kind need to be logged only once.
func Kind(err error) string {
	if at, ok := errors.AsType[*Error](err); ok {
		return at.Node + ": " + Kind(at.Err)
	}
	if guarded, ok := errors.AsType[*GuardedError](err); ok && guarded.Why == nil {
		return fmt.Sprintf("guarded, promoted %v", guarded.Promoted)
	}
	if known := conditionOf(err).what; known != "" {
		return known
	}
	if reply, ok := errors.AsType[redis.Error](err); ok {
		if code, _, _ := strings.Cut(string(script.Said(reply)), " "); code != "ERR" {
			return code
		}
	}
	return err.Error()
}

// normalize maps the errors of redigo, package net and contexts to one error for each meaning.
func normalize(err error) error {
	// redigo does not export its type. It happens at a plain port of Redis, which waits for the
	// end of a line that the TLS handshake need not have.
	if err != nil && err.Error() == "TLS handshake timeout" {
		return errTLSSilent
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || isTimeout(err) {
		return ErrTimeout
	}
	if reply, ok := errors.AsType[redis.Error](err); ok {
		return script.Said(reply) // without what a user's pool says of it, which may repeat all
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

// withoutName takes the address out of err if it is the name of the master, which an [*Error]
// tells anyway.
func (n *Node) withoutName(err error) error {
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Addr != nil && dial.Addr.String() == n.cfg.Name {
		return dial.Err
	}
	return err
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}
