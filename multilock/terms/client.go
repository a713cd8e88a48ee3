package terms

import (
	"net"
	"time"

	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

// ClientInfo is a client's record with what is known of it: package redlock says what the fields mean.
type ClientInfo struct {
	Record  script.Record
	ID      string
	Seen    time.Duration
	Masters int // that have it
}

// String names the client: "orders-api on host-7 (pid 4242)".
func (i *ClientInfo) String() string { return i.Record.String() }

// Proven reports whether majorities of clients with terms a and b meet whichever masters restart: by run ids that
// both know.
func Proven(a, b *Terms) bool {
	return quorum.Meet(len(a.Masters), len(b.Masters), common(a.Masters, b.Masters, script.Same))
}

// Address returns the address of a server as a client on host has it: one of host itself leads to another
// server on each machine, and says so.
func Address(at, host string) string {
	if name, _, err := net.SplitHostPort(at); err != nil || name == "localhost" || net.ParseIP(name).IsLoopback() {
		return at + script.OnHost + host
	}
	return at
}
