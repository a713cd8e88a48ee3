package wire

import (
	"bytes"
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
