package wire

import (
	"context"
	"net"
	"sync"
)

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
