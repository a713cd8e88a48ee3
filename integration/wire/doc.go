// Package wire is the network between one client process and one master: a TCP proxy that can be cut, in
// one direction or both, slowed down, and made to lose and to reset.
//
// A [Wire] passes a stream on in the chunks that it reads, in their order, however long each takes. What
// was sent during a cut waits, as it does in the sender's TCP, and goes on when the cut is mended. So a
// command may be carried out long after its sender gave it up, and an answer may be lost although its
// command was carried out. The end of a stream, or a reset, takes the same way as its bytes.
//
// # Concurrency
//
// A Wire may be used by any number of goroutines. It has one goroutine that accepts, and four for each
// connection. [Wire.Close] ends them all and waits.
//
// # Errors
//
// [New] fails if there is no port. What goes wrong later is what the two ends see: a connection that is
// reset.
package wire
