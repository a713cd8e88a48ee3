package redlocktest

import (
	"net"
	"os"
	"syscall"
	"time"
)

// A masterEnd is the end of a link that a session reads commands from. Its writes never block.
type masterEnd struct{ *link }

func (l masterEnd) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if l.masterClosed {
			return 0, net.ErrClosed
		}
		if n, err, ok := l.takeLocked(&l.up, p); ok {
			return n, err
		}
		l.waitLocked(l.nextArrivalLocked(&l.up))
	}
}

func (l masterEnd) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.masterClosed {
		return 0, syscall.EPIPE
	}
	l.sendLocked(&l.down, chunk{data: append([]byte(nil), p...)})
	return len(p), nil
}

// expired reports whether a deadline has passed.
func expired(deadline time.Time) bool {
	return !deadline.IsZero() && !deadline.After(time.Now())
}

// read is clientEnd.Read without the wrapping of errors.
func (l *link) read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if l.clientClosed {
			return 0, net.ErrClosed
		}
		if expired(l.readDeadline) {
			return 0, os.ErrDeadlineExceeded
		}
		if n, err, ok := l.takeLocked(&l.down, p); ok {
			return n, err
		}
		l.waitLocked(l.nextArrivalLocked(&l.down), l.readDeadline)
	}
}

// write is clientEnd.Write without the wrapping of errors. It blocks while sendBuffer is full.
func (l *link) write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for {
		if l.clientClosed {
			return n, net.ErrClosed
		}
		if expired(l.writeDeadline) {
			return n, os.ErrDeadlineExceeded
		}
		if end := len(l.down.chunks) - 1; end >= 0 && l.down.chunks[end].fin && l.arrivedLocked(&l.down, l.down.chunks[end]) {
			return n, syscall.EPIPE
		}
		if l.up.dropping {
			return len(p), nil // the master's end is closed, but this end does not know yet
		}
		room := min(sendBuffer-l.up.bytes, len(p)-n)
		if room > 0 {
			l.sendLocked(&l.up, chunk{data: append([]byte(nil), p[n:n+room]...)})
			n += room
		}
		if n == len(p) {
			return n, nil
		}
		l.waitLocked(l.writeDeadline)
	}
}
