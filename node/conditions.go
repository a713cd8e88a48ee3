package node

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"syscall"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
)

// condition is one thing that can be wrong with a master. It heals if it can pass while a caller
// waits, without anybody changing a setting, a permission, a key or the address.
type condition struct {
	what  string // as docs/operations.md lists it
	heals bool
	is    func(error) bool
}

// conditions are tried in this order, and the first that matches counts. An error that matches none
// may heal: to wait in vain is logged, to give up in vain fails a service.
//
// A replica may be promoted. Two names may lead to one server while an address moves from one
// server to another.
var conditions = []condition{
	{"`LOADING`", true, replied("LOADING")},
	{"`BUSY`", true, replied("BUSY")},
	{"`OOM`", true, replied("OOM")},
	{"`MISCONF`", true, replied("MISCONF")},
	{"`NOREPLICAS`", true, replied("NOREPLICAS")},
	{"`READONLY`", true, replied("READONLY")},
	{"`MASTERDOWN`", true, replied("MASTERDOWN")},
	{"`CLUSTERDOWN`", true, replied("CLUSTERDOWN")},
	{"`TRYAGAIN`", true, replied("TRYAGAIN")},
	{"`ERR max number of clients`", true, replied("ERR max number of clients")},
	{"restarted lately, or was promoted", true, func(err error) bool {
		guarded, ok := errors.AsType[*GuardedError](err)
		return ok && guarded.Why == nil
	}},
	{"its clock ran ahead", true, func(err error) bool {
		_, ok := errors.AsType[*UnsteadyError](err)
		return ok
	}},
	{"is a replica, not a master", true, among(ErrReplica)},
	{"is the same server", true, among(ErrSameServer)},
	{"no answer in time", true, among(ErrTimeout)},
	{"connection closed by the master", true, among(errHungUp)},
	{"connection refused, no such host", true, func(err error) bool {
		_, ok := errors.AsType[*net.DNSError](err)
		return ok || errors.Is(err, syscall.ECONNREFUSED)
	}},

	{"runs an older Redis", false, func(err error) bool {
		_, ok := errors.AsType[*VersionError](err)
		return ok
	}},
	{"the key is no lock", false, replied("NOTLOCK", "WRONGTYPE")},
	{"`NOPERM`", false, replied("NOPERM",
		"The user executing the script can't", "ERR The user executing the script can't", "ERR ACL failure in script")}, // 6.2, 7.0, 7.2
	{"`NOAUTH`", false, replied("NOAUTH")},
	{"`WRONGPASS`", false, replied("WRONGPASS", "ERR AUTH", "ERR invalid password")},
	{"`DENIED`", false, replied("DENIED")},
	{"`ERR unknown command`", false, replied("ERR unknown command", "ERR Unknown Redis command", "Unknown Redis command")},
	{"`ERR DB index is out of range`", false, replied("ERR DB index", "ERR invalid DB index")},
	{"`CROSSSLOT`, `MOVED`", false, replied("CROSSSLOT", "MOVED")},
	{"its uptime is unknown", false, func(err error) bool {
		guarded, ok := errors.AsType[*GuardedError](err)
		return ok && guarded.Why != nil
	}},
	{"answers without TLS, answers with TLS", false, among(errPlainPort, errTLSPort)},
	{"connections of its pool", false, among(errConn)},
	{"failed to verify certificate", false, func(err error) bool {
		_, ok := errors.AsType[*tls.CertificateVerificationError](err)
		return ok
	}},
	{"remote error: tls", false, func(err error) bool {
		op, ok := errors.AsType[*net.OpError](err)
		return ok && op.Op == "remote error"
	}},
}

// Heals reports whether err, from a [script.Answer] or from [Node.Ready], may pass while a caller
// waits.
func Heals(err error) bool {
	for _, c := range conditions {
		if c.is(err) {
			return c.heals
		}
	}
	return true
}

// isRefusal reports whether the master is there, but either side refused the connection.
func isRefusal(err error) bool {
	return !Heals(err) || errors.Is(err, ErrReplica) || errors.Is(err, ErrSameServer)
}

// among matches each of errs.
func among(errs ...error) func(error) bool {
	return func(err error) bool {
		for _, e := range errs {
			if errors.Is(err, e) {
				return true
			}
		}
		return false
	}
}

// replied matches an error reply of a master by how it begins.
func replied(beginnings ...string) func(error) bool {
	return func(err error) bool {
		reply, ok := errors.AsType[redis.Error](err)
		if !ok {
			return false
		}
		text := string(script.Said(reply))
		for _, begins := range beginnings {
			if strings.HasPrefix(text, begins) {
				return true
			}
		}
		return false
	}
}

// refusesKeys reports whether a master that replies err to a call does so for one of its keys. It looks
// at all of them before it runs a step, so none was run.
func refusesKeys(err redis.Error) bool {
	code, _, _ := strings.Cut(string(err), " ")
	return code == "NOPERM" || code == "CROSSSLOT"
}

// cannotServe reports whether a master that replies err can serve no lock at all just now. Its
// connection is then given up, and the master is tried until it recovers.
func cannotServe(err redis.Error) bool {
	code, _, _ := strings.Cut(string(script.Said(err)), " ")
	switch code {
	case "BUSY", "LOADING", "MASTERDOWN", "MISCONF", "NOAUTH", "NOREPLICAS", "READONLY":
		return true
	}
	return false
}
