package terms

import (
	"net"
	"time"

	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

// ClientInfo is what a client says of itself: its record, which it keeps on every master.
type ClientInfo struct {
	ID      string        // uuid: the first part of its owners, "uuid:rN"
	Name    string        // Config.Name
	Host    string        // name of its machine
	Program string        // base name of its executable
	Version string        // of this library
	PID     int           // on its machine
	Since   time.Time     // when it was made, by its own clock
	Seen    time.Duration // since it last refreshed its record, by the masters' clocks
	Holds   int           // locks and permits that it had then
	Waits   int           // calls that waited then
	Terms   Terms         // how it uses its masters
	At      int           // how many masters have its record
}

// String names the client: "orders-api on host-7 (pid 4242)".
func (i *ClientInfo) String() string {
	r := script.Record{Name: i.Name, Host: i.Host, PID: i.PID}
	return r.String()
}

// Conflict says why clients i and o must not take locks at the same time: see the function Conflict. It
// is nil if they may, or if that cannot be told.
func (i *ClientInfo) Conflict(o *ClientInfo) error { return Conflict(&i.Terms, &o.Terms) }

// Proven reports whether majorities of i and o meet whichever masters restart: by run ids that both know.
func (i *ClientInfo) Proven(o *ClientInfo) bool {
	a, b := &i.Terms, &o.Terms
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
