package redlocktest

import (
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
	mu             sync.Mutex
	cond           sync.Cond
	client, master end

	delay time.Duration
	lag   func() time.Duration // adds to delay; nil: nothing
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
	end  error     // what a read returns from then on; nil for bytes
}

func newLink(master addr, delay time.Duration, lag func() time.Duration) *link {
	l := &link{delay: delay, lag: lag}
	l.cond.L = &l.mu
	l.client = end{link: l, other: &l.master, local: "client", remote: master, buffer: sendBuffer}
	l.master = end{link: l, other: &l.client, local: master, remote: "client"}
	return l
}

func (d *direction) arrived(c chunk) bool {
	return c.due.IsZero() || d.cuts == 0 && !c.due.After(time.Now())
}

// ended reports whether the end of the stream has arrived, read or not.
func (d *direction) ended() bool {
	last := len(d.chunks) - 1
	return last >= 0 && d.chunks[last].end != nil && d.arrived(d.chunks[last])
}

// nextArrival returns when there may be more to read, or zero if the passing of time alone changes nothing.
func (d *direction) nextArrival() time.Time {
	if len(d.chunks) == 0 || d.cuts > 0 {
		return time.Time{}
	}
	return d.chunks[0].due
}

// drop drops what is in transit, and what is written from now on.
func (d *direction) drop() { *d = direction{cuts: d.cuts, dropping: true} }

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
		timer := time.AfterFunc(time.Until(first), func() { l.change(func() {}) })
		defer timer.Stop()
	}
	l.cond.Wait()
}

// change does something to the link, and wakes whoever waits.
func (l *link) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	l.cond.Broadcast()
}

// cut adds to the networks that are cut in each direction. What has arrived before a cut can still be read.
func (l *link) cut(there, back int) {
	l.change(func() {
		for _, d := range []*direction{&l.master.in, &l.client.in} {
			for i := range d.chunks {
				if d.arrived(d.chunks[i]) {
					d.chunks[i].due = time.Time{}
				}
			}
		}
		l.master.in.cuts += there
		l.client.in.cuts += back
	})
}

// reset closes both ends. The client's reads nothing more either.
func (l *link) reset() {
	l.change(func() {
		l.master.closed = true
		l.master.in.drop()
		l.client.in.chunks = []chunk{{end: syscall.ECONNRESET}}
	})
}

func (l *link) closed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.client.closed && l.master.closed
}

// flush makes everything in transit to the client arrive now, even if the link is cut.
func (l *link) flush() {
	l.change(func() {
		for i := range l.client.in.chunks {
			l.client.in.chunks[i].due = time.Time{}
		}
	})
}
