package redlocktest

import (
	"errors"
	"io"
	"net"
	"time"
)

// A clientEnd is the end of a link that redigo reads and writes: a [net.Conn] whose errors
// are those of a TCP socket.
type clientEnd struct {
	*link
	addr addr
}

var _ net.Conn = clientEnd{}

func (c clientEnd) Read(p []byte) (int, error) {
	n, err := c.read(p)
	return n, c.opError("read", err)
}

func (c clientEnd) Write(p []byte) (int, error) {
	n, err := c.write(p)
	return n, c.opError("write", err)
}

// Close never fails. What was written before it still reaches the master.
func (c clientEnd) Close() error {
	c.closeClient()
	return nil
}

func (c clientEnd) LocalAddr() net.Addr  { return addr("client") }
func (c clientEnd) RemoteAddr() net.Addr { return c.addr }

func (c clientEnd) SetDeadline(t time.Time) error      { return c.setDeadlines(&t, &t) }
func (c clientEnd) SetReadDeadline(t time.Time) error  { return c.setDeadlines(&t, nil) }
func (c clientEnd) SetWriteDeadline(t time.Time) error { return c.setDeadlines(nil, &t) }

func (c clientEnd) setDeadlines(read, write *time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.clientClosed {
		return c.opError("set", net.ErrClosed)
	}
	if read != nil {
		c.readDeadline = *read
	}
	if write != nil {
		c.writeDeadline = *write
	}
	c.cond.Broadcast()
	return nil
}

func (c clientEnd) opError(op string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return &net.OpError{Op: op, Net: c.addr.Network(), Addr: c.addr, Err: err}
}

// An addr is the name of a master, as an address.
type addr string

func (a addr) Network() string { return "memory" }
func (a addr) String() string  { return string(a) }
