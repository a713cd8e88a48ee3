// Package server makes connections to one Redis server, and says what the server is and what its errors mean. It serves
// packages node and doctor: its API is not stable.
//
// What it takes care of:
//
//   - Connections. A [Dialer] makes them. Whatever the server, the network or functions of the user do, each can be given
//     up: see [Server.Connect] and [Conn.Sever].
//   - Bounds. A reply that is longer than its command can have ends the connection before it is read, and
//     of what a server says no more than the beginning is repeated. [Dialer.Pool] makes connections that see to
//     that; those of other pools read whatever comes.
//   - Identity. [Conn.Greet] asks which process it is, what its role is and how old it is. A replica is refused, and so are a
//     Sentinel and a node of a cluster.
//   - Errors. There is one for each meaning. [Heals] says whether it may pass by itself, and [Remedy] what helps.
//
// # Concurrency
//
// All methods may be called from any goroutine, but for those of a [Conn] that write, which one at a time may call, and
// [Conn.Receive] in the same way.
//
// # Errors
//
// [Error] names the master at which something went wrong. A timeout is an [ErrTimeout], never a
// context error, so it cannot be mistaken for the end of the caller's own context.
package server
