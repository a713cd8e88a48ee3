package wire

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

const (
	// resend is how long TCP waits at first for the acknowledgement of what is lost, on a near network.
	resend = 200 * time.Millisecond
	// window is how many bytes may be on their way; then the sender waits.
	window = 1 << 20
	// chunk is the most that is read at once. Commands and answers are shorter.
	chunk = 4 << 10
)

var errReset = errors.New("the sender reset the connection")

// packet is what one read returned, or the end of the stream.
type packet struct {
	bytes []byte
	due   time.Time // when it arrives, but not before what was sent earlier
	last  bool
	reset bool // it ended so
}

// stream is one direction of a link. Its reader puts packets in transit, and its writer takes them out.
type stream struct {
	path *path

	mu      sync.Mutex
	moved   sync.Cond // a packet came into or out of transit, or the link is dead
	transit []packet
	bytes   int
	aborted bool
}

func newStream(path *path) *stream {
	s := &stream{path: path}
	s.moved.L = &s.mu
	return s
}

// abandon wakes reader and writer, so that they end.
func (s *stream) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aborted = true
	s.moved.Broadcast()
}

// read puts what it reads in transit, until the stream ends. That a stream was reset is in its last
// packet: the other end is to learn of it when the packet arrives.
func (s *stream) read(from *net.TCPConn) {
	buffer := make([]byte, chunk)
	for {
		n, err := from.Read(buffer)
		now := s.path.conditions()
		takes := now.delay
		if now.jitter > 0 {
			takes += rand.N(now.jitter)
		}
		due := time.Now().Add(takes)
		if n > 0 {
			s.put(packet{bytes: append([]byte(nil), buffer[:n]...), due: due})
		}
		if err != nil {
			s.put(packet{due: due, last: true, reset: !errors.Is(err, io.EOF)})
			return
		}
	}
}

func (s *stream) put(p packet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.bytes >= window && !s.aborted {
		s.moved.Wait()
	}
	s.transit = append(s.transit, p)
	s.bytes += len(p.bytes)
	s.moved.Broadcast()
}

// take returns the next packet, or false once the link is dead.
func (s *stream) take() (packet, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.transit) == 0 && !s.aborted {
		s.moved.Wait()
	}
	if s.aborted {
		return packet{}, false
	}
	p := s.transit[0]
	s.transit = s.transit[1:]
	s.bytes -= len(p.bytes)
	s.moved.Broadcast()
	return p, true
}

// write delivers what is in transit, until the end of the stream, or until the link is dead. It returns an
// error if the stream was reset, or cannot be delivered.
func (s *stream) write(to *net.TCPConn, dead <-chan struct{}) error {
	for {
		p, ok := s.take()
		if !ok || !s.travel(p.due, dead) {
			return nil
		}
		switch {
		case p.reset:
			return errReset
		case p.last:
			return to.CloseWrite()
		}
		if _, err := to.Write(p.bytes); err != nil {
			return err
		}
	}
}

// travel returns when a packet has arrived that is due then, or false if the link is dead before.
func (s *stream) travel(due time.Time, dead <-chan struct{}) bool {
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
		case <-dead:
			return false
		}
	}
}
