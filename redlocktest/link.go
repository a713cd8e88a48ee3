package redlocktest

import (
	"io"
	"sync"
	"syscall"
	"time"
)

// sendBuffer is how many bytes a client may write before its master reads any: about what two kernels
// buffer for a socket. In the other direction there is no limit: a master never waits for a client
// that does not read.
const sendBuffer = 512 << 10

// A link is one connection: a client end, a master end and the network between them.
//
// What one end writes is in transit for the link's delay, and then has arrived. While the link is cut,
// nothing arrives, and what is in transit waits.
//
// An end waits on cond, never on mu, so that synctest sees it as durably blocked.
type link struct {
	mu   sync.Mutex
	cond sync.Cond
	up   direction // client to master
	down direction // master to client

	delay time.Duration
	lag   func() time.Duration // adds to delay; nil: nothing

	clientClosed, masterClosed  bool
	readDeadline, writeDeadline time.Time // of the client end
}

// A direction holds what one end has written and the other has not yet read.
type direction struct {
	chunks   []chunk // read in the order in which they were written, even if a later one is due earlier
	bytes    int
	cuts     int  // how many networks are cut in this direction
	dropping bool // the reader has gone: what is written is dropped
}

// A chunk is the bytes of one write, or the end of the stream.
type chunk struct {
	data []byte
	due  time.Time // when it arrives; zero if it has arrived
	fin  bool

	reset bool // of a fin: the connection was reset
}

func newLink(delay time.Duration, lag func() time.Duration) *link {
	l := &link{delay: delay, lag: lag}
	l.cond.L = &l.mu
	return l
}

// sendLocked puts c in transit. The caller holds l.mu.
func (l *link) sendLocked(d *direction, c chunk) {
	if d.dropping {
		return
	}
	c.due = time.Now().Add(l.delay)
	if l.lag != nil {
		c.due = c.due.Add(l.lag())
	}
	d.chunks = append(d.chunks, c)
	d.bytes += len(c.data)
	l.cond.Broadcast()
}

func (l *link) arrivedLocked(d *direction, c chunk) bool {
	return c.due.IsZero() || d.cuts == 0 && !c.due.After(time.Now())
}

// takeLocked moves what has arrived into p. ok is false if nothing has. The caller holds l.mu.
func (l *link) takeLocked(d *direction, p []byte) (n int, err error, ok bool) {
	if len(d.chunks) == 0 || !l.arrivedLocked(d, d.chunks[0]) {
		return 0, nil, false
	}
	head := &d.chunks[0]
	if head.reset {
		return 0, syscall.ECONNRESET, true
	}
	if head.fin {
		return 0, io.EOF, true // it stays, so the next read returns EOF as well
	}
	n = copy(p, head.data)
	head.data = head.data[n:]
	d.bytes -= n
	if len(head.data) == 0 {
		d.chunks = d.chunks[1:]
	}
	l.cond.Broadcast() // a writer may be waiting for room
	return n, nil, true
}

// nextArrivalLocked returns when takeLocked may have more, or zero if the passing of time alone
// changes nothing. The caller holds l.mu.
func (l *link) nextArrivalLocked(d *direction) time.Time {
	if len(d.chunks) == 0 || d.cuts > 0 {
		return time.Time{}
	}
	return d.chunks[0].due
}

// waitLocked blocks until something about the link changes or one of the instants comes. A zero
// instant never comes. The caller holds l.mu.
func (l *link) waitLocked(instants ...time.Time) {
	var first time.Time
	for _, t := range instants {
		if first.IsZero() || !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	if !first.IsZero() {
		timer := time.AfterFunc(time.Until(first), l.wake)
		defer timer.Stop()
	}
	l.cond.Wait()
}

func (l *link) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cond.Broadcast()
}

// cut adds to the networks that are cut in each direction. What has arrived before a cut can still be read.
func (l *link) cut(there, back int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range []*direction{&l.up, &l.down} {
		for i := range d.chunks {
			if l.arrivedLocked(d, d.chunks[i]) {
				d.chunks[i].due = time.Time{}
			}
		}
	}
	l.up.cuts += there
	l.down.cuts += back
	l.cond.Broadcast()
}

func (l *link) setDelay(delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = delay
}

func (l *link) setLag(lag func() time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lag = lag
}

// closeMaster closes the master's end. What it has written still arrives; what it has not read is
// lost.
func (l *link) closeMaster() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.masterClosed {
		l.masterClosed = true
		l.up.drop()
		l.sendLocked(&l.down, chunk{fin: true})
		l.cond.Broadcast()
	}
}

// closeClient closes the client's end. What it has written still arrives, as it would from a kernel's
// socket buffer.
func (l *link) closeClient() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.clientClosed {
		l.clientClosed = true
		l.down.drop()
		l.sendLocked(&l.up, chunk{fin: true})
		l.cond.Broadcast()
	}
}

// reset closes both ends. The client's reads nothing more either.
func (l *link) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.masterClosed = true
	l.up.drop()
	l.down.chunks = []chunk{{fin: true, reset: true}}
	l.cond.Broadcast()
}

// drop drops what is in transit, and what is written from now on.
func (d *direction) drop() { *d = direction{cuts: d.cuts, dropping: true} }

func (l *link) closed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clientClosed && l.masterClosed
}

// flush makes everything in transit to the client arrive now, even if the link is cut.
func (l *link) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.down.chunks {
		l.down.chunks[i].due = time.Time{}
	}
	l.cond.Broadcast()
}
