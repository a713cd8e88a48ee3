package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"example.com/redlock/internal/fifo"
	"example.com/redlock/internal/quote"
)

// framing follows the replies on a connection, byte by byte, and refuses a reply that its command cannot have. redigo
// believes what a server says: it makes room for a string or a list of whatever length the server announces, recurses into
// lists in lists, and keeps a line until it ends. So one reply could end the process. What a framing lets through takes redigo
// a few times the memory of the bound.
//
// The zero framing expects any reply.
type framing struct {
	owed *owed  // nil: it is not known what was asked
	line []byte // that has begun, without its end
	skip int    // how much of a string is still to come

	// Of the reply:
	begun bool
	lists []int // how many elements of each list are still to come
	most  int   // how many bytes it may have
	left  int   // how many of them are left
}

const (
	deepest        = 8       // lists in one another
	longestError   = 4 << 10 // in bytes, of any command
	longestMessage = 4 << 10 // that is published: a channel, an owner and a name
	longestOfAny   = 1 << 20
	mostHeld       = 16 << 10 // bytes held back: what Redis reads at once
	element        = 4        // bytes that an element of a list takes at least
)

// owed are the bounds of the replies that a connection is still to bring, in the order of its commands.
type owed struct {
	mu     sync.Mutex
	bounds fifo.Queue[int]
}

// expect notes that the next command is about to be sent, and how long its reply may be.
func (o *owed) expect(most int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bounds.Push(most)
}

// next returns how long the reply may be that has begun.
func (o *owed) next() int {
	if o == nil {
		return longestOfAny
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.bounds.Len() == 0 {
		return longestMessage
	}
	return o.bounds.Pop()
}

func tooLong(most int) error {
	return fmt.Errorf("%w: one of more than %d bytes is too long", ErrReply, most)
}

// take takes in what was read.
func (f *framing) take(p []byte) error {
	for len(p) > 0 {
		if f.skip > 0 {
			n := min(f.skip, len(p))
			p = p[n:]
			if f.skip -= n; f.skip == 0 {
				f.end()
			}
			continue
		}
		if !f.begun {
			f.begun, f.most = true, f.owed.next()
			if p[0] == '-' {
				f.most = max(f.most, longestError)
			}
			f.left = f.most
		}
		part, rest, ends := bytes.Cut(p, lineEnd)
		f.line = append(f.line, part[:min(len(part), f.left+1)]...)
		if first := f.line[:min(len(f.line), 1)]; !bytes.ContainsAny(first, ":+-$*") {
			return fmt.Errorf("%w: a line that begins with %q", ErrReply, first)
		}
		if len(f.line) > f.left {
			return tooLong(f.most)
		}
		if ends {
			if err := f.takeLine(); err != nil {
				return err
			}
		}
		p = rest
	}
	return nil
}

var lineEnd = []byte("\n")

// takeLine takes in the end of a line.
func (f *framing) takeLine() error {
	kind, text := f.line[0], bytes.TrimSuffix(f.line[1:], []byte("\r"))
	f.left -= len(f.line)
	f.line = f.line[:0]
	if kind != '$' && kind != '*' {
		f.end()
		return nil
	}
	length, err := strconv.Atoi(string(text))
	switch {
	case err != nil || length < -1:
		return fmt.Errorf("%w: a length of %.20q", ErrReply, text)
	case length == -1 || kind == '*' && length == 0:
		f.end()
	case kind == '$':
		if length > f.left {
			return tooLong(f.most)
		}
		f.left -= length
		f.skip = length + len("\r\n")
	default:
		if length > f.left/element {
			return tooLong(f.most)
		}
		f.left -= length * element
		if f.lists = append(f.lists, length); len(f.lists) > deepest {
			return fmt.Errorf("%w: more than %d lists in one another", ErrReply, deepest)
		}
	}
	return nil
}

// end takes in the end of a reply, or of an element.
func (f *framing) end() {
	for last := len(f.lists) - 1; last >= 0; last-- {
		if f.lists[last]--; f.lists[last] > 0 {
			return
		}
		f.lists = f.lists[:last]
	}
	f.begun = false
}

// cutShort returns why a reply has no end: the master has hung up. What it said may be the reason.
func (f *framing) cutShort() error {
	if len(f.lists) == 0 && len(f.line) > 0 && f.line[0] == '-' {
		return fmt.Errorf("%w while it said %s", errHungUp, quote.Value(string(f.line[1:])))
	}
	return fmt.Errorf("%w within a reply", errHungUp)
}

// holding returns a context in which [Dialer.Pool] makes a connection for c: replies are bounded by its commands, and
// the certificates are noted there.
func holding(ctx context.Context, c *Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

type connKey struct{}

// newFramedConn makes a connection that refuses replies which no command has, or which are too long for their command.
func newFramedConn(ctx context.Context, conn net.Conn, mayWantTLS bool) *framedConn {
	f := &framedConn{Conn: conn, mayWantTLS: mayWantTLS}
	if c, ok := ctx.Value(connKey{}).(*Conn); ok {
		f.replies.owed, f.lending, c.framed = new(owed), &c.server.lending, f
	}
	return f
}

// framedConn is a connection with a framing.
type framedConn struct {
	net.Conn
	lending    *atomic.Int32 // of the server, nil: there is none
	replies    framing
	more       bool   // more is written at once
	held       []byte // back until then
	mayWantTLS bool   // it has said nothing yet: a port that expects TLS answers with an alert, or hangs up
}

// Write holds back what it gets while more follows. redigo writes whenever it has 4 kB, and each piece costs a system call
// here, one at the master, and one for the answers. Nothing stays held back: redigo writes the end of a batch in Flush, when
// nothing more follows.
func (c *framedConn) Write(p []byte) (int, error) {
	if !c.more && len(c.held) == 0 {
		return c.Conn.Write(p)
	}
	c.held = append(c.held, p...)
	if c.more && len(c.held) < mostHeld {
		return len(p), nil
	}
	_, err := c.Conn.Write(c.held)
	c.held = c.held[:0]
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close does not wait for long, since redigo holds a mutex meanwhile. The Close of a user's connection that takes longer is left
// behind, and counts as a call of the pool.
func (c *framedConn) Close() (err error) {
	if c.lending == nil {
		return c.Conn.Close()
	}
	c.lending.Add(1)
	closed := make(chan error, 1)
	// Goroutines: one. Nobody waits for it once it is left behind.
	go func() {
		err := c.Conn.Close()
		c.lending.Add(-1)
		closed <- err
	}()
	select {
	case err = <-closed:
	case <-time.After(noticed):
	}
	return err
}

func (c *framedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.mayWantTLS {
		if n > 1 && p[0] == 0x15 && p[1] == 0x03 {
			return 0, errTLSPort
		}
		if n == 0 && errors.Is(normalize(err), errHungUp) {
			err = errHungUpFirst
		}
		c.mayWantTLS = n == 0
	}
	if bad := c.replies.take(p[:n]); bad != nil {
		return 0, bad
	}
	if err != nil && c.replies.begun && errors.Is(normalize(err), errHungUp) {
		return n, c.replies.cutShort()
	}
	return n, err
}
