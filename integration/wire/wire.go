package wire

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"
)

// Directions are the ways along a wire.
type Directions int

const (
	There Directions = 1 << iota // from the client to the master
	Back                         // from the master to the client
	Both  = There | Back
)

// Wire is a proxy in front of one master. Its faults are independent of each other: each but a reset stays until
// its own method is called again.
type Wire struct {
	listener net.Listener
	target   string
	there    path
	back     path
	wg       sync.WaitGroup

	mu     sync.Mutex
	links  map[*link]struct{}
	closed bool
}

// New returns a wire to the master at target, host:port. It listens on a port of its own.
func New(target string) (*Wire, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("wire to %s: %w", target, err)
	}
	w := &Wire{listener: listener, target: target, links: map[*link]struct{}{}}
	w.there.now, w.back.now = &conditions{over: make(chan struct{})}, &conditions{over: make(chan struct{})}
	w.wg.Go(w.accept)
	return w, nil
}

// Addr is where clients reach the master, host:port.
func (w *Wire) Addr() string { return w.listener.Addr().String() }

// Cut stops the given directions, and only these; Cut(0) stops none. Connections stay up, and new ones are
// accepted, as when packets are dropped silently.
func (w *Wire) Cut(d Directions) {
	w.there.change(func(c *conditions) { c.cut = d&There != 0 })
	w.back.change(func(c *conditions) { c.cut = d&Back != 0 })
}

// Slow makes what is sent from now on take delay and up to jitter more to arrive, in each direction. It
// does not change the order. Connecting takes no time.
func (w *Wire) Slow(delay, jitter time.Duration) {
	w.both(func(c *conditions) { c.delay, c.jitter = delay, jitter })
}

// Lose makes each chunk be lost with probability p, in each direction. It comes 200 ms later, and twice as
// late each time it is lost again, and holds up what is behind it. What is lost comes at once after Lose(0).
func (w *Wire) Lose(p float64) { w.both(func(c *conditions) { c.loss = p }) }

// Reset resets all connections: both ends receive RST, also during a cut.
func (w *Wire) Reset() {
	for _, l := range w.all() {
		l.abort()
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
	w.mu.Lock()
	again := w.closed
	w.closed = true
	w.mu.Unlock()
	if again {
		return nil
	}
	err := w.listener.Close()
	w.Reset()
	w.wg.Wait()
	return err
}

func (w *Wire) both(set func(*conditions)) {
	w.there.change(set)
	w.back.change(set)
}

// all returns the links of now.
func (w *Wire) all() []*link {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.links))
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

// carry connects a client to the master, and moves what the two send each other. A reset is the closest that a
// proxy can come to refusing what it has accepted.
func (w *Wire) carry(client *net.TCPConn) {
	master, err := net.DialTimeout("tcp", w.target, time.Second)
	if err != nil {
		reset(client)
		return
	}
	l := newLink(client, master.(*net.TCPConn), &w.there, &w.back)
	w.mu.Lock()
	w.links[l] = struct{}{}
	closed := w.closed
	w.mu.Unlock()
	if closed {
		l.abort()
	}
	l.carry()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.links, l)
}
