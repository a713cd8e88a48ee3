package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/quote"
	"example.com/redlock/node/script"
)

// Reasons why a master did not answer, or is not used.
var (
	ErrTimeout    = errors.New("no answer in time")
	ErrBehind     = errors.New("is too slow for all that it is asked")
	ErrReplica    = errors.New("is a replica, not a master")
	ErrSameServer = errors.New("is the same server")
	ErrReply      = errors.New("sends what is no reply to any of our commands")
	errSentinel   = errors.New("is a Sentinel, not a master")
	errCluster    = errors.New("is a node of a cluster, not a master by itself")

	errUnreached    = fmt.Errorf("%w", ErrTimeout) // not even by TCP
	errHungUp       = errors.New("connection closed by the master")
	errHungUpFirst  = fmt.Errorf("%w before its first answer (a TLS port needs rediss://)", errHungUp)
	errPlainPort    = errors.New("answers without TLS (a plain port? use redis://)")
	errTLSSilent    = fmt.Errorf("%w to the TLS handshake (a plain port needs redis://)", ErrTimeout)
	errLookUpSilent = fmt.Errorf("%w to the look-up", ErrTimeout)
	errTLSPort      = errors.New("answers with TLS (a TLS port? use rediss://)")
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

// ownError is an error of a function of the caller's. Its words say nothing of the master: an io.EOF in it does not mean that
// the master has hung up.
type ownError struct {
	what string // the function could not do
	err  error
	late bool // it took longer than the attempt to connect may take
}

func (e *ownError) Error() string {
	if e.late {
		return fmt.Sprintf("%s in time: %v", e.what, e.err)
	}
	return fmt.Sprintf("%s: %v", e.what, e.err)
}

// Is says that it is a timeout, so that the next attempt has more time. It does not match what the function said: that could
// be the error of a context, and pass for that of the caller's.
func (e *ownError) Is(target error) bool { return e.late && target == ErrTimeout }

// What functions of the caller's could not do.
const (
	noCredentials = "no credentials"
	noConnection  = "no connection by Config.Dial"
)

// failedTo matches an ownError.
func failedTo(what string) func(error) bool {
	return func(err error) bool {
		own, ok := errors.AsType[*ownError](err)
		return ok && own.what == what
	}
}

// Error names the master at which something went wrong.
type Error struct {
	Node string
	Err  error
}

// Error quotes what the master may have said.
func (e *Error) Error() string { return e.Node + ": " + quote.Text(e.Err.Error()) }

func (e *Error) Unwrap() error { return e.Err }

// Kind returns the reason in err, with the master it names, but without what changes while the
// reason stays, such as the time that is left. Errors of the same kind need to be logged only once.
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
	for _, closed := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, closed) {
			return errHungUp
		}
	}
	return err
}

// normalize is normalize without the address of the server, which an [*Error] tells anyway. It may have answered before,
// on a port like this one.
func (s *Server) normalize(err error) error {
	if err = normalize(err); errors.Is(err, errHungUpFirst) && s.greeted.Load() {
		return errHungUp
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Addr != nil && dial.Addr.String() == s.Name {
		return dial.Err
	}
	return err
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// condition is one thing that can be wrong with a master. It heals if it can pass while a caller
// waits, and nobody changes a setting, a permission, a key or the address.
type condition struct {
	what   string // as docs/troubleshooting.md lists it
	heals  bool
	about  string // the check of package doctor that tells of it
	remedy string // as docs/troubleshooting.md has it, without what it adds
	is     func(error) bool
}

// conditions are tried in this order, and the first that matches counts. An error that matches none
// heals: to wait without success does less harm than to give up too early, and it is logged.
//
// A replica may be promoted. Two names may lead to one server while an address moves from one
// server to another.
var conditions = []condition{
	{"no credentials", true, "login", "see what Config.Credentials says, and why", failedTo(noCredentials)},
	{"no connection by Config.Dial", true, "reachable", "see what Config.Dial says, and why", failedTo(noConnection)},
	{"`LOADING`", true, "reachable", "time: it is loading its data", replied("LOADING")},
	{"`BUSY`", true, "reachable", "find the script that blocks it; SCRIPT KILL", replied("BUSY")},
	{"`OOM`", true, "memory", "memory: a key that expires may free enough", replied("OOM")},
	{"`MISCONF`", true, "persistence", "disk: see the master's log", replied("MISCONF")},
	{"`NOREPLICAS`", true, "min-replicas", "min-replicas-to-write 0: locks need no replicas", replied("NOREPLICAS")},
	{"`NOSCRIPT`", true, "trial", "time: the next connection loads the scripts. If it stays, find who sends SCRIPT FLUSH", NoScript},
	{"`READONLY`", true, "role", "promote it, or use its master's address", replied("READONLY")},
	{"`MASTERDOWN`", true, "role", "promote it, or use its master's address", replied("MASTERDOWN")},
	{"`CLUSTERDOWN`", true, "cluster", "use plain masters instead of a cluster", replied("CLUSTERDOWN")},
	{"`TRYAGAIN`", true, "cluster", "use plain masters instead of a cluster", replied("TRYAGAIN")},
	{"`ERR max number of clients`", true, "max-clients", "raise maxclients", replied("ERR max number of clients")},
	{"restarted lately, or was promoted", true, "guard", "time: the error says how much", guarded(true)},
	{"connection pool exhausted", true, "pool", "give each pool room for two connections (MaxActive)", among(redis.ErrPoolExhausted)},
	{"its clock ran ahead", true, "clock-rate", "time; slew the clock, do not step it", has[*UnsteadyError]},
	{"is a replica, not a master", true, "role", "promote it, or use its master's address", among(ErrReplica)},
	{"is the same server", true, "same-server", "use another server, unless an address is just being moved", among(ErrSameServer)},
	{"no answer in time to the look-up", true, "reachable", "see why the resolver of the client's host is slow, or use an address", among(errLookUpSilent)},
	{"no answer in time", true, "reachable", "see whether it hangs, whether packets arrive, and whether a rediss:// URL points to a port without TLS, which may never answer", among(ErrTimeout)},
	{"is too slow for all that it is asked", true, "reachable", "see what keeps it, or the network to it, busy", among(ErrBehind)},
	{"connection closed by the master", true, "reachable", "see the master's log", among(errHungUp)},
	{"sends what is no reply to any of our commands", true, "reachable", "see what answers there, and correct the address", among(ErrReply)},
	{"connection refused, no such host", true, "reachable", "start it, or correct the address", func(err error) bool {
		return has[*net.DNSError](err) || errors.Is(err, syscall.ECONNREFUSED)
	}},

	{"is a Sentinel", false, "role", "use the address of a master, not of what watches over it", among(errSentinel)},
	{"is a node of a cluster", false, "cluster", "use plain masters instead of a cluster", among(errCluster)},
	{"runs an older Redis", false, "version", "Redis 6.2 or later, or Valkey", has[*VersionError]},
	{"the key is no lock", false, "trial", "the key holds something else: use another name, or delete the key", replied("NOTLOCK", "WRONGTYPE")},
	{"`NOPERM`", false, "permissions", "see docs/operations.md#permissions, and Config.Prefix", replied("NOPERM",
		"The user executing the script can't", "ERR The user executing the script can't", "ERR ACL failure in script")}, // 6.2, 7.0, 7.2
	{"`NOAUTH`", false, "login", "give a password: URL, Config.Credentials or REDLOCK_PASSWORD", replied("NOAUTH")},
	{"`WRONGPASS`", false, "login", "correct the user or the password", replied("WRONGPASS", "ERR AUTH", "ERR invalid password")},
	{"`DENIED`", false, "protected-mode", "protected mode: give the master a password or an address to bind to", replied("DENIED")},
	{"`ERR unknown command`", false, "commands", "do not rename EVALSHA, SCRIPT and INFO; use Redis or Valkey", replied("ERR unknown command", "ERR Unknown Redis command", "Unknown Redis command")},
	{"`ERR DB index is out of range`", false, "login", "correct the database number", replied("ERR DB index", "ERR invalid DB index")},
	{"`CROSSSLOT`, `MOVED`", false, "cluster", "use plain masters instead of a cluster", replied("CROSSSLOT", "MOVED")},
	{"its uptime is unknown", false, "guard", "permit INFO, or turn the restart guard off", guarded(false)},
	{"answers without TLS, answers with TLS", false, "tls", "use redis:// without TLS, rediss:// with it", among(errPlainPort, errTLSPort)},
	{"connections of its pool", false, "pool", "connections from Config.Pools must implement redis.ConnWithContext and redis.ConnWithTimeout, as redigo's own do", among(errConn)},
	{"certificate is valid for other names", false, "tls", "use a name that the certificate has, or Config.TLS with it as ServerName (--tls-server-name)", has[x509.HostnameError]},
	{"certificate has expired, is not valid yet, or is not for servers", false, "tls", "a new certificate, or the right time on the client's host", has[x509.CertificateInvalidError]},
	{"failed to verify certificate", false, "tls", "make the client trust the certificate's issuer: on its host, or with Config.TLS (--tls-ca)", has[*tls.CertificateVerificationError]},
	{"remote error: tls", false, "tls", "the master wants a certificate from the client, or does not accept the one it got: Config.TLS (--tls-cert)", func(err error) bool {
		op, ok := errors.AsType[*net.OpError](err)
		return ok && op.Op == "remote error"
	}},
}

// conditionOf returns what is wrong with a master that says err, or an unknown condition, which heals.
func conditionOf(err error) condition {
	for _, c := range conditions {
		if c.is(err) {
			return c
		}
	}
	return condition{heals: true, about: "reachable"}
}

// Heals reports whether err, from a [script.Answer] or from [Node.Ready], may pass while a caller
// waits.
func Heals(err error) bool { return conditionOf(err).heals }

// IsRefusal reports whether the master is there, but either side refused the connection.
func IsRefusal(err error) bool {
	return !Heals(err) || errors.Is(err, ErrReplica) || errors.Is(err, ErrSameServer)
}

// has matches errors of a type.
func has[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// among matches each of errs.
func among(errs ...error) func(error) bool {
	return func(err error) bool {
		return slices.ContainsFunc(errs, func(e error) bool { return errors.Is(err, e) })
	}
}

// guarded matches a GuardedError of a master whose age is known, or is not.
func guarded(known bool) func(error) bool {
	return func(err error) bool {
		guarded, ok := errors.AsType[*GuardedError](err)
		return ok && known == (guarded.Why == nil)
	}
}

// replied matches an error reply of a master by how it begins.
func replied(beginnings ...string) func(error) bool {
	return func(err error) bool {
		reply, ok := errors.AsType[redis.Error](err)
		begins := func(text string) bool { return strings.HasPrefix(string(script.Said(reply)), text) }
		return ok && slices.ContainsFunc(beginnings, begins)
	}
}

// Resends reports whether a release that a master answered with err is sent there again.
func Resends(err error) bool {
	reply, ok := errors.AsType[redis.Error](err)
	return ok && CannotServe(reply)
}

// NoScript reports whether a master has lost its scripts: by SCRIPT FLUSH, say.
var NoScript = replied("NOSCRIPT")

// CannotServe reports whether a master that replies err can serve no lock at all just now. Its
// connection is then given up, and the master is tried until it recovers.
func CannotServe(err redis.Error) bool {
	code, _, _ := strings.Cut(string(script.Said(err)), " ")
	return slices.Contains([]string{"BUSY", "LOADING", "MASTERDOWN", "MISCONF", "NOAUTH", "NOREPLICAS", "NOSCRIPT", "READONLY"}, code)
}

// Remedy returns what helps against err, an error of a master, as docs/troubleshooting.md has it; empty if
// nothing is known.
func Remedy(err error) string { return toMend(err).remedy }

// About returns which check of package doctor tells of err.
func About(err error) string { return toMend(err).about }

// toMend returns what is wrong with a master for somebody who mends it: a port that hangs up at the first command may want
// TLS.
func toMend(err error) condition {
	if errors.Is(err, errHungUpFirst) {
		err = errPlainPort
	}
	return conditionOf(err)
}

// Denied reports whether the user may not do what was asked.
func Denied(err error) bool { return About(err) == "permissions" }
