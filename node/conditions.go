package node

import (
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
)

// condition is one thing that can be wrong with a master. It heals if it can pass while a caller
// waits, without anybody changing a setting, a permission, a key or the address.
type condition struct {
	what   string // as docs/operations.md lists it
	heals  bool
	about  string // the check of package doctor that tells of it
	remedy string // as docs/operations.md has it, without what it adds
	is     func(error) bool
}

// conditions are tried in this order, and the first that matches counts. An error that matches none
// may heal: to wait in vain is logged, to give up in vain fails a service.
//
// A replica may be promoted. Two names may lead to one server while an address moves from one
// server to another.
var conditions = []condition{
	{"`LOADING`", true, "reachable", "time: it is loading its data", replied("LOADING")},
	{"`BUSY`", true, "reachable", "find the script that blocks it; SCRIPT KILL", replied("BUSY")},
	{"`OOM`", true, "memory", "memory: a key that expires may free enough", replied("OOM")},
	{"`MISCONF`", true, "persistence", "disk: see the master's log", replied("MISCONF")},
	{"`NOREPLICAS`", true, "min-replicas", "min-replicas-to-write 0: locks need no replicas", replied("NOREPLICAS")},
	{"`READONLY`", true, "role", "promote it, or use its master's address", replied("READONLY")},
	{"`MASTERDOWN`", true, "role", "promote it, or use its master's address", replied("MASTERDOWN")},
	{"`CLUSTERDOWN`", true, "cluster", "use plain masters instead of a cluster", replied("CLUSTERDOWN")},
	{"`TRYAGAIN`", true, "cluster", "use plain masters instead of a cluster", replied("TRYAGAIN")},
	{"`ERR max number of clients`", true, "max-clients", "raise maxclients", replied("ERR max number of clients")},
	{"restarted lately, or was promoted", true, "guard", "time: the error says how much", guarded(true)},
	{"its clock ran ahead", true, "clock-rate", "time; slew the clock, do not step it", has[*UnsteadyError]},
	{"is a replica, not a master", true, "role", "promote it, or use its master's address", among(ErrReplica)},
	{"is the same server", true, "same-server", "use another server, unless an address is just being moved", among(ErrSameServer)},
	{"no answer in time", true, "reachable", "see whether it hangs, whether packets arrive, and whether a rediss:// URL points to a port without TLS, which may never answer", among(ErrTimeout)},
	{"is too slow for all that it is asked", true, "reachable", "see what keeps it, or the network to it, busy", among(ErrBehind)},
	{"connection closed by the master", true, "reachable", "see the master's log", among(errHungUp)},
	{"connection refused, no such host", true, "reachable", "start it, or correct the address", func(err error) bool {
		return has[*net.DNSError](err) || errors.Is(err, syscall.ECONNREFUSED)
	}},

	{"runs an older Redis", false, "version", "Redis 6.2 or later, or Valkey", has[*VersionError]},
	{"the key is no lock", false, "trial", "the key holds something else: use another name, or delete the key", replied("NOTLOCK", "WRONGTYPE")},
	{"`NOPERM`", false, "permissions", "see docs/operations.md#permissions", replied("NOPERM",
		"The user executing the script can't", "ERR The user executing the script can't", "ERR ACL failure in script")}, // 6.2, 7.0, 7.2
	{"`NOAUTH`", false, "login", "put a password in the URL", replied("NOAUTH")},
	{"`WRONGPASS`", false, "login", "correct the user or the password", replied("WRONGPASS", "ERR AUTH", "ERR invalid password")},
	{"`DENIED`", false, "protected-mode", "protected mode: give the master a password or an address to bind to", replied("DENIED")},
	{"`ERR unknown command`", false, "commands", "do not rename EVALSHA, EVAL and INFO; use Redis or Valkey", replied("ERR unknown command", "ERR Unknown Redis command", "Unknown Redis command")},
	{"`ERR DB index is out of range`", false, "login", "correct the database number", replied("ERR DB index", "ERR invalid DB index")},
	{"`CROSSSLOT`, `MOVED`", false, "cluster", "use plain masters instead of a cluster", replied("CROSSSLOT", "MOVED")},
	{"its uptime is unknown", false, "guard", "permit INFO, or turn the restart guard off", guarded(false)},
	{"answers without TLS, answers with TLS", false, "tls", "use redis:// without TLS, rediss:// with it", among(errPlainPort, errTLSPort)},
	{"connections of its pool", false, "pool", "connections from Config.Pools must implement redis.ConnWithContext and redis.ConnWithTimeout, as redigo's own do", among(errConn)},
	{"failed to verify certificate", false, "tls", "make the client trust the certificate's issuer: on its host, or with Config.TLS", has[*tls.CertificateVerificationError]},
	{"remote error: tls", false, "tls", "the master wants a certificate from the client, or does not accept the one it got: Config.TLS", func(err error) bool {
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

// isRefusal reports whether the master is there, but either side refused the connection.
func isRefusal(err error) bool {
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

// cannotServe reports whether a master that replies err can serve no lock at all just now. Its
// connection is then given up, and the master is tried until it recovers.
func cannotServe(err redis.Error) bool {
	code, _, _ := strings.Cut(string(script.Said(err)), " ")
	return slices.Contains([]string{"BUSY", "LOADING", "MASTERDOWN", "MISCONF", "NOAUTH", "NOREPLICAS", "READONLY"}, code)
}

// Remedy returns what helps against err, an error of a master, as docs/operations.md has it; empty if
// nothing is known.
func Remedy(err error) string { return toMend(err).remedy }

// About returns which check of package doctor tells of err.
func About(err error) string { return toMend(err).about }

// toMend returns what is wrong with a master that is to be mended, rather than waited for: a port
// that hangs up or is silent at the first command may well want TLS, or none.
func toMend(err error) condition {
	if errors.Is(err, errHungUpFirst) || errors.Is(err, errTLSSilent) {
		err = errPlainPort
	}
	return conditionOf(err)
}

// denied reports whether the user may not do what was asked.
func denied(err error) bool { return About(err) == "permissions" }
