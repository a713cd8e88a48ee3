package link

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"time"
)

// An End is one of the two ends of a link: a [net.Conn] whose errors are those of a TCP socket.
type End struct {
	link          *Link
	other         *End
	local, remote Addr
	buffer        int       // how many bytes may be written that the other has not read; 0: no limit
	in            direction // what the other has written

	closed                      bool
	readDeadline, writeDeadline time.Time
}

var _ net.Conn = (*End)(nil)

func (e *End) Read(p []byte) (int, error) {
	e.link.mu.Lock()
	defer e.link.mu.Unlock()
	for {
		if e.closed {
			return 0, e.opError("read", net.ErrClosed)
		}
		if expired(e.readDeadline) {
			return 0, e.opError("read", os.ErrDeadlineExceeded)
		}
		if n, err, ok := e.takeLocked(p); ok {
			return n, e.opError("read", err)
		}
		e.link.waitLocked(e.in.nextArrival(), e.readDeadline)
	}
}

// takeLocked moves what has arrived into p. ok is false if nothing has. The caller holds Link.mu.
func (e *End) takeLocked(p []byte) (n int, err error, ok bool) {
	d := &e.in
	if len(d.chunks) == 0 || !d.arrived(d.chunks[0]) {
		return 0, nil, false
	}
	head := &d.chunks[0]
	if head.end != nil {
		return 0, head.end, true // it stays, so the next read returns it as well
	}
	n = copy(p, head.data)
	head.data = head.data[n:]
	d.bytes -= n
	if len(head.data) == 0 {
		d.chunks = d.chunks[1:]
	}
	e.link.cond.Broadcast() // a writer may be waiting for room
	return n, nil, true
}

// Write blocks while the buffer is full.
func (e *End) Write(p []byte) (n int, err error) {
	e.link.mu.Lock()
	defer e.link.mu.Unlock()
	for {
		if e.closed {
			return n, e.opError("write", net.ErrClosed)
		}
		if expired(e.writeDeadline) {
			return n, e.opError("write", os.ErrDeadlineExceeded)
		}
		if e.in.ended() {
			return n, e.opError("write", syscall.EPIPE)
		}
		if e.other.in.dropping {
			return len(p), nil // the other end is closed, but this one does not know yet
		}
		room := len(p) - n
		if e.buffer > 0 {
			room = min(room, e.buffer-e.other.in.bytes)
		}
		if room > 0 {
			e.sendLocked(chunk{data: slices.Clone(p[n : n+room])})
			n += room
		}
		if n == len(p) {
			return n, nil
		}
		e.link.waitLocked(e.writeDeadline)
	}
}

// sendLocked puts c in transit to the other end. The caller holds Link.mu.
func (e *End) sendLocked(c chunk) {
	d := &e.other.in
	if d.dropping {
		return
	}
	c.due = time.Now().Add(e.link.lag())
	d.chunks = append(d.chunks, c)
	d.bytes += len(c.data)
	e.link.cond.Broadcast()
}

// Close never fails. What was written before it still arrives, as it would from a kernel's socket buffer; what
// was not read is lost.
func (e *End) Close() error {
	e.link.mu.Lock()
	defer e.link.mu.Unlock()
	if !e.closed {
		e.closed = true
		e.in.drop()
		e.sendLocked(chunk{end: io.EOF})
		e.link.cond.Broadcast()
	}
	return nil
}

func (e *End) LocalAddr() net.Addr  { return e.local }
func (e *End) RemoteAddr() net.Addr { return e.remote }

func (e *End) SetDeadline(t time.Time) error      { return e.set(t, &e.readDeadline, &e.writeDeadline) }
func (e *End) SetReadDeadline(t time.Time) error  { return e.set(t, &e.readDeadline) }
func (e *End) SetWriteDeadline(t time.Time) error { return e.set(t, &e.writeDeadline) }

func (e *End) set(t time.Time, deadlines ...*time.Time) error {
	e.link.mu.Lock()
	defer e.link.mu.Unlock()
	if e.closed {
		return e.opError("set", net.ErrClosed)
	}
	for _, deadline := range deadlines {
		*deadline = t
	}
	e.link.cond.Broadcast()
	return nil
}

// expired reports whether a deadline has passed.
func expired(deadline time.Time) bool {
	return !deadline.IsZero() && !deadline.After(time.Now())
}

func (e *End) opError(op string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return &net.OpError{Op: op, Net: e.remote.Network(), Addr: e.remote, Err: err}
}

// An Addr is the name of a master, as an address.
type Addr string

func (a Addr) Network() string { return "memory" }
func (a Addr) String() string  { return string(a) }
