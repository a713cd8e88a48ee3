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

// remedy says of one thing that can be wrong with a master whether it can heal while a caller
// waits: without anybody who changes a setting, a permission, a key or the address.
type remedy struct {
	what  string // as docs/operations.md lists it
	heals bool
	is    func(error) bool
}

// remedies is the one place where that is decided. The first entry that matches counts, and
// what matches none may heal: waiting in vain is logged, giving up in vain fails a service.
//
// A replica may be promoted. Two names that lead to one server may be those of an address
// that is moving from one server to another.
var remedies = []remedy{
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
}

// Heals reports whether err, of an [script.Answer] or of [Node.Ready], may pass while a caller waits.
func Heals(err error) bool {
	for _, r := range remedies {
		if r.is(err) {
			return r.heals
		}
	}
	return true
}

// refusal reports whether a connection to the master was made, and then refused by one side
// or the other: the master is not down.
func refusal(err error) bool {
	return !Heals(err) || errors.Is(err, ErrReplica) || errors.Is(err, ErrSameServer)
}

// among matches any of errs.
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

// replied matches an error that a master replied with, by how it begins.
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

// unfit reports whether a master that answers err can serve no lock at all just now.
// Its connection is given up then, and the master is probed until it recovers.
func unfit(err redis.Error) bool {
	code, _, _ := strings.Cut(string(script.Said(err)), " ")
	switch code {
	case "BUSY", "LOADING", "MASTERDOWN", "MISCONF", "NOAUTH", "NOREPLICAS", "READONLY":
		return true
	}
	return false
}
