package redlocktest

import (
	"io"
	"sync"
	"time"
)

// sendBuffer is how much a client may write before its master reads any of it: about what
// two kernels buffer for a socket. The other way there is no bound: a master never waits
// for a client that does not read.
const sendBuffer = 512 << 10

// A link is one connection: a client end, a master end and the network between them.
//
// What one end writes is under way for the link's delay, then it has arrived. While the
// link is cut nothing arrives, and what is under way waits.
//
// Waiting is on cond, never on mu, so a blocked end is durably blocked for synctest.
type link struct {
	mu   sync.Mutex
	cond sync.Cond
	up   direction // client to master
	down direction // master to client

	delay time.Duration
	cut   bool

	clientClosed, masterClosed  bool
	readDeadline, writeDeadline time.Time // of the client end
}

// A direction holds what one end has written and the other has not yet read.
type direction struct {
	chunks []chunk // in the order written, which is the order read, whenever each is due
	bytes  int
	deaf   bool // the reader is gone: what is written is dropped
}

// A chunk is the bytes of one write, or the end of the stream.
type chunk struct {
	data []byte
	due  time.Time // when it arrives; zero: it has arrived
	fin  bool
}

func newLink(delay time.Duration, cut bool) *link {
	l := &link{delay: delay, cut: cut}
	l.cond.L = &l.mu
	return l
}

// send puts c on its way. l.mu is held.
func (l *link) send(d *direction, c chunk) {
	if d.deaf {
		return
	}
	c.due = time.Now().Add(l.delay)
	d.chunks = append(d.chunks, c)
	d.bytes += len(c.data)
	l.cond.Broadcast()
}

func (l *link) arrived(c chunk) bool {
	return c.due.IsZero() || !l.cut && !c.due.After(time.Now())
}

// take moves what has arrived into p. ok is false when nothing has. l.mu is held.
func (l *link) take(d *direction, p []byte) (n int, err error, ok bool) {
	if len(d.chunks) == 0 || !l.arrived(d.chunks[0]) {
		return 0, nil, false
	}
	head := &d.chunks[0]
	if head.fin {
		return 0, io.EOF, true // it stays: the next read ends as well
	}
	n = copy(p, head.data)
	head.data = head.data[n:]
	d.bytes -= n
	if len(head.data) == 0 {
		d.chunks = d.chunks[1:]
	}
	l.cond.Broadcast() // a writer may wait for room
	return n, nil, true
}

// nextArrival is when take may have more, or zero when time alone changes nothing.
func (l *link) nextArrival(d *direction) time.Time {
	if len(d.chunks) == 0 || l.cut {
		return time.Time{}
	}
	return d.chunks[0].due
}

// wait blocks until something about the link changes or one of the instants comes. A zero
// instant never comes. l.mu is held.
func (l *link) wait(instants ...time.Time) {
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

// setCut parts or joins the two ends. What has arrived before a cut can still be read.
func (l *link) setCut(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range []*direction{&l.up, &l.down} {
		for i := range d.chunks {
			if l.arrived(d.chunks[i]) {
				d.chunks[i].due = time.Time{}
			}
		}
	}
	l.cut = cut
	l.cond.Broadcast()
}

func (l *link) setDelay(delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = delay
}

// closeMaster closes the master's end. What it has written still arrives; what it has not
// read is lost.
func (l *link) closeMaster() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.masterClosed {
		l.masterClosed = true
		l.up = direction{deaf: true}
		l.send(&l.down, chunk{fin: true})
		l.cond.Broadcast()
	}
}

// closeClient closes the client's end. What it has written still arrives, as from a
// kernel's socket buffer.
func (l *link) closeClient() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.clientClosed {
		l.clientClosed = true
		l.down = direction{deaf: true}
		l.send(&l.up, chunk{fin: true})
		l.cond.Broadcast()
	}
}

func (l *link) closed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clientClosed && l.masterClosed
}

// flush lets all that is under way to the client arrive now, cut or not.
func (l *link) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.down.chunks {
		l.down.chunks[i].due = time.Time{}
	}
	l.cond.Broadcast()
}
