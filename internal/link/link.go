// Package link is the network between a client and a master, in memory: connections that can be cut, in one direction or
// both, slowed down and reset. The masters of redlocktest are behind such links, and so are the real ones of trials.
//
// # Concurrency
//
// A Link and its ends may be used by any number of goroutines.
//
// # Errors
//
// Those of an [End] are those of a TCP socket.
package link

import (
	"sync"
	"syscall"
	"time"
)

// SendBuffer is how many bytes a client may write before its master reads any: about what two kernels
// buffer for a socket. In the other direction there is no limit: a master never waits for a client
// that does not read.
const SendBuffer = 512 << 10

// A Link is one connection: a client end, a master end and the network between them.
//
// What one end writes is in transit for as long as lag says, and then has arrived. While the link is cut, nothing
// arrives, and what is in transit waits.
//
// An end waits on cond, never on mu, so that synctest sees it as durably blocked.
type Link struct {
	Client, Master End

	lag  func() time.Duration
	mu   sync.Mutex
	cond sync.Cond
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

// New returns a link to the master with that name. It asks lag how long each thing takes that is sent over it; lag must
// not wait.
func New(master Addr, lag func() time.Duration) *Link {
	l := &Link{lag: lag}
	l.cond.L = &l.mu
	l.Client = End{link: l, other: &l.Master, local: "client", remote: master, buffer: SendBuffer}
	l.Master = End{link: l, other: &l.Client, local: master, remote: "client"}
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
func (l *Link) waitLocked(instants ...time.Time) {
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
func (l *Link) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	l.cond.Broadcast()
}

// Cut adds to the networks that are cut in each direction. What has arrived before a cut can still be read.
func (l *Link) Cut(there, back int) {
	l.change(func() {
		for _, d := range []*direction{&l.Master.in, &l.Client.in} {
			for i := range d.chunks {
				if d.arrived(d.chunks[i]) {
					d.chunks[i].due = time.Time{}
				}
			}
		}
		l.Master.in.cuts += there
		l.Client.in.cuts += back
	})
}

// Reset closes both ends. The client's reads nothing more either.
func (l *Link) Reset() {
	l.change(func() {
		l.Master.closed = true
		l.Master.in.drop()
		l.Client.in.chunks = []chunk{{end: syscall.ECONNRESET}}
	})
}

// Closed reports whether both ends are closed.
func (l *Link) Closed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Client.closed && l.Master.closed
}

// Flush makes everything in transit to the client arrive now, even if the link is cut.
func (l *Link) Flush() {
	l.change(func() {
		for i := range l.Client.in.chunks {
			l.Client.in.chunks[i].due = time.Time{}
		}
	})
}

// Hasten makes everything in transit arrive now, or when the link is no longer cut.
func (l *Link) Hasten() {
	l.change(func() {
		now := time.Now()
		for _, d := range []*direction{&l.Master.in, &l.Client.in} {
			for i := range d.chunks {
				if d.chunks[i].due.After(now) {
					d.chunks[i].due = now
				}
			}
		}
	})
}
