package wire

import (
	"context"
	"net"
	"sync"
)

// link is one connection of a client, and the one that goes on to the master.
type link struct {
	there, back *stream
	dead        context.Context // of the link itself: ended by abort
	end         context.CancelFunc
	client      *net.TCPConn

	mu     sync.Mutex
	master *net.TCPConn // nil: not connected yet
}

func newLink(client *net.TCPConn, there, back *path) *link {
	dead, end := context.WithCancel(context.Background())
	along := func(p *path) *stream { return &stream{p, make(chan packet, window), dead.Done()} }
	return &link{client: client, there: along(there), back: along(back), dead: dead, end: end}
}

// carry connects to the master, and moves the bytes of both directions until both streams have ended and
// their ends have arrived, or one end was reset, or abort was called.
//
// Goroutines: a reader and a writer for each direction, one of which is the caller. Those that remain end
// when the streams have ended, or with abort; carry waits for them.
func (l *link) carry(target string) {
	defer l.end()
	master, ok := l.connect(target)
	if !ok {
		l.abort()
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { l.there.read(l.client) })
	wg.Go(func() { l.back.read(master) })
	wg.Go(func() { l.deliver(l.back, l.client) })
	l.deliver(l.there, master)
	wg.Wait()
	l.client.Close()
	master.Close()
}

// deliver writes what arrives from a stream, until its end has arrived or the link is dead. What cannot be
// delivered resets both ends.
func (l *link) deliver(s *stream, to *net.TCPConn) {
	if s.write(to) != nil {
		l.abort()
	}
}

// connect returns false if the link is dead. A master that refuses the connection is dead as well, and a
// reset is the closest that a proxy can come to refusing what it has accepted.
func (l *link) connect(target string) (*net.TCPConn, bool) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(l.dead, "tcp", target)
	if err != nil {
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.master = conn.(*net.TCPConn)
	return l.master, l.dead.Err() == nil
}

// abort resets both ends.
func (l *link) abort() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
	reset(l.client)
	if l.master != nil {
		reset(l.master)
	}
}

// reset closes a connection with RST.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0) // fails only on a connection that is closed
	c.Close()
}
