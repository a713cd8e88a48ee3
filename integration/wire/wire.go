package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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

// link is one connection of a client, and the one that goes on to the master.
type link struct {
	client, master *net.TCPConn
	there, back    *stream
	end            context.CancelFunc // of both streams
}

func newLink(client, master *net.TCPConn, there, back *path) *link {
	dead, end := context.WithCancel(context.Background())
	along := func(p *path) *stream { return &stream{p, make(chan packet, window), dead.Done()} }
	return &link{client: client, master: master, there: along(there), back: along(back), end: end}
}

// carry moves the bytes of both directions until both streams have ended and their ends have arrived, or one end
// was reset, or abort was called.
//
// Goroutines: a reader and a writer for each direction, one of which is the caller. Those that remain end
// when the streams have ended, or with abort; carry waits for them.
func (l *link) carry() {
	defer l.end()
	var wg sync.WaitGroup
	wg.Go(func() { l.there.read(l.client) })
	wg.Go(func() { l.back.read(l.master) })
	wg.Go(func() { l.deliver(l.back, l.client) })
	l.deliver(l.there, l.master)
	wg.Wait()
	l.client.Close()
	l.master.Close()
}

// deliver writes what arrives from a stream, until its end has arrived or the link is dead. What cannot be
// delivered resets both ends.
func (l *link) deliver(s *stream, to *net.TCPConn) {
	if s.write(to) != nil {
		l.abort()
	}
}

// abort resets both ends.
func (l *link) abort() {
	l.end()
	reset(l.client)
	reset(l.master)
}

// reset closes a connection with RST.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0) // fails only on a connection that is closed
	c.Close()
}

const (
	// resend is how long TCP waits at first for the acknowledgement of what is lost, on a near network.
	resend = 200 * time.Millisecond
	// window is how many packets may be on their way; then the sender waits.
	window = 1024
	// chunk is the most that is read at once. Commands and answers are shorter.
	chunk = 4 << 10
)

// path is one direction of a wire: what all its connections meet on it.
type path struct {
	mu  sync.Mutex
	now *conditions
}

// conditions are what a path is like. They do not change; others take their place.
type conditions struct {
	cut           bool
	delay, jitter time.Duration
	loss          float64
	over          chan struct{} // closed when others have taken their place
}

// change gives the path other conditions: those of before, as set changes them.
func (p *path) change(set func(*conditions)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.now
	next := *before
	set(&next)
	next.over = make(chan struct{})
	p.now = &next
	close(before.over)
}

func (p *path) conditions() *conditions {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// packet is what one read returned.
type packet struct {
	bytes []byte
	err   error     // the stream ended so, with io.EOF or a reset
	due   time.Time // when it arrives, but not before what was sent earlier
}

// stream is one direction of a link. Its reader puts packets in transit, and its writer takes them out.
type stream struct {
	path    *path
	transit chan packet
	dead    <-chan struct{} // closed when the link is dead
}

// read puts what it reads in transit, until the stream has ended or the link is dead. The other end is to learn
// of an end, or of a reset, when its packet arrives.
func (s *stream) read(from *net.TCPConn) {
	buffer := make([]byte, chunk)
	for {
		n, err := from.Read(buffer)
		now := s.path.conditions()
		takes := now.delay
		if now.jitter > 0 {
			takes += rand.N(now.jitter)
		}
		select {
		case s.transit <- packet{bytes.Clone(buffer[:n]), err, time.Now().Add(takes)}:
		case <-s.dead:
			return
		}
		if err != nil {
			return
		}
	}
}

// write delivers what is in transit, until the end of the stream, or until the link is dead. It returns an
// error if the stream was reset, or cannot be delivered.
func (s *stream) write(to *net.TCPConn) error {
	for {
		var p packet
		select {
		case p = <-s.transit:
		case <-s.dead:
			return nil
		}
		switch {
		case !s.travel(p.due):
			return nil
		case errors.Is(p.err, io.EOF):
			return to.CloseWrite()
		case p.err != nil:
			return p.err
		}
		if _, err := to.Write(p.bytes); err != nil {
			return err
		}
	}
}

// travel returns when a packet has arrived that is due then, or false if the link is dead before.
func (s *stream) travel(due time.Time) bool {
	lost := time.Duration(0)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		now := s.path.conditions()
		early := time.Until(due)
		if lost > 0 && now.loss == 0 {
			early = 0
		}
		switch {
		case now.cut:
			timer.Stop()
		case early > 0:
			timer.Reset(early)
		case rand.Float64() < now.loss:
			lost = max(resend, 2*lost)
			due = due.Add(lost) // counted from when it was sent, as for all that is lost with it
			continue
		default:
			return true
		}
		select {
		case <-timer.C:
		case <-now.over:
		case <-s.dead:
			return false
		}
	}
}
