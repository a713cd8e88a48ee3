// Package wire is the network between one client process and one master: a TCP proxy that can be cut, in
// one direction or both, slowed down, and made to lose and to reset.
//
// Each connection goes over a [link.Link]. What was sent during a cut waits, as it does in the sender's TCP, and goes on
// when the cut is mended. So a command may be carried out long after its sender gave it up, and an answer may be lost
// although its command was carried out. The end of a stream takes the same way as its bytes.
//
// # Concurrency
//
// A Wire may be used by any number of goroutines. It has one goroutine that accepts, and four for each
// connection. [Wire.Close] ends them all and waits.
//
// # Errors
//
// [New] fails if there is no port. What goes wrong later is what the two ends see: a connection that is
// closed or reset.
package wire

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"example.com/redlock/internal/link"
)

// Directions are the ways along a wire.
type Directions int

const (
	There Directions = 1 << iota // from the client to the master
	Back                         // from the master to the client
	Both  = There | Back
)

// has returns 1 if a way is among the directions, and else 0.
func (d Directions) has(way Directions) int {
	if d&way == 0 {
		return 0
	}
	return 1
}

// Wire is a proxy in front of one master. Its faults are independent of each other: each but a reset stays until
// its own method is called again.
type Wire struct {
	listener net.Listener
	target   string
	wg       sync.WaitGroup

	slow          sync.Mutex // of what follows; nothing else is locked under it
	delay, jitter time.Duration
	loss          float64

	mu          sync.Mutex
	connections map[*connection]struct{}
	cut         Directions
	closed      bool
}

// New returns a wire to the master at target, host:port. It listens on a port of its own.
func New(target string) (*Wire, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("wire to %s: %w", target, err)
	}
	w := &Wire{listener: listener, target: target, connections: map[*connection]struct{}{}}
	w.wg.Go(w.accept)
	return w, nil
}

// Addr is where clients reach the master, host:port.
func (w *Wire) Addr() string { return w.listener.Addr().String() }

// Cut stops the given directions, and only these; Cut(0) stops none. Connections stay up, and new ones are
// accepted, as when packets are dropped silently.
func (w *Wire) Cut(d Directions) {
	w.change(func() {
		for c := range w.connections {
			c.cut(w.cut, d)
		}
		w.cut = d
	})
}

// Slow makes what is sent from now on take delay and up to jitter more to arrive, in each direction. It
// does not change the order. Connecting takes no time.
func (w *Wire) Slow(delay, jitter time.Duration) {
	w.slow.Lock()
	defer w.slow.Unlock()
	w.delay, w.jitter = delay, jitter
}

// Lose makes each chunk be lost with probability p, in each direction. It comes 200 ms later, and twice as
// late each time it is lost again, and holds up what is behind it. What is lost comes at once after Lose(0).
func (w *Wire) Lose(p float64) {
	w.slow.Lock()
	w.loss = p
	w.slow.Unlock()
	if p > 0 {
		return
	}
	for _, c := range w.all() {
		c.link.Hasten()
	}
}

// Reset resets all connections: both ends receive RST, also during a cut.
func (w *Wire) Reset() {
	for _, c := range w.all() {
		c.abort()
	}
}

// ResetOne resets a random connection, if there is any.
func (w *Wire) ResetOne() {
	if all := w.all(); len(all) > 0 {
		all[rand.IntN(len(all))].abort()
	}
}

// Close resets all connections and refuses new ones. It may be called again.
func (w *Wire) Close() error {
	var err error
	w.change(func() {
		if !w.closed {
			err = w.listener.Close()
		}
		w.closed = true
	})
	w.Reset()
	w.wg.Wait()
	return err
}

// change changes the wire, or its connections.
func (w *Wire) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// resend is how long TCP waits at first for the acknowledgement of what is lost, on a near network.
const resend = 200 * time.Millisecond

// lag returns how long a chunk takes: the delay, up to jitter, and as long as TCP takes to send again what is lost, up to a
// minute.
func (w *Wire) lag() time.Duration {
	w.slow.Lock()
	defer w.slow.Unlock()
	late := w.delay
	if w.jitter > 0 {
		late += rand.N(w.jitter)
	}
	for again := resend; again < time.Minute && rand.Float64() < w.loss; again *= 2 {
		late += again
	}
	return late
}

// all returns the connections of now.
func (w *Wire) all() []*connection {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.connections))
}

func (w *Wire) accept() {
	for {
		client, err := w.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(time.Millisecond) // out of descriptors: the backlog waits
			continue
		}
		w.wg.Go(func() { w.carry(client.(*net.TCPConn)) })
	}
}

// carry connects a client to the master, and moves what the two send each other until both have ended. A reset is the
// closest that a proxy can come to refusing what it has accepted.
//
// Goroutines: two for each direction, one of which is the caller; carry waits for the others.
func (w *Wire) carry(client *net.TCPConn) {
	master, err := net.DialTimeout("tcp", w.target, time.Second)
	if err != nil {
		reset(client)
		return
	}
	c := &connection{link.New(link.Addr(w.target), w.lag), client, master.(*net.TCPConn)}
	w.change(func() {
		w.connections[c] = struct{}{}
		c.cut(0, w.cut)
		if w.closed {
			c.abort()
		}
	})
	var wg sync.WaitGroup
	wg.Go(func() { pass(&c.link.Client, c.client) })
	wg.Go(func() { pass(c.client, &c.link.Client) })
	wg.Go(func() { pass(&c.link.Master, c.master) })
	pass(c.master, &c.link.Master)
	wg.Wait()
	w.change(func() { delete(w.connections, c) })
}

// pass moves bytes, until the end of either stream, and closes the one that they go to.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from) // what goes wrong ends the connection, which both ends see
	to.Close()
}

// connection is one of a client: the link, and the sockets at its ends.
type connection struct {
	link           *link.Link
	client, master *net.TCPConn
}

// cut cuts the link in the directions of to, where it was cut in those of from.
func (c *connection) cut(from, to Directions) {
	c.link.Cut(to.has(There)-from.has(There), to.has(Back)-from.has(Back))
}

// abort resets both ends.
func (c *connection) abort() {
	reset(c.client)
	reset(c.master)
	c.link.Reset()
}

// reset closes a connection with RST.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0) // fails only on a connection that is closed
	c.Close()
}
