package register

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"time"

	"example.com/redlock/internal/history"
)

// callTimeout bounds a call. The server is near, so a call takes that long only if the machine does nothing
// else, or the client's process was stopped.
const callTimeout = 5 * time.Second

// Client is a connection to a Server. One that failed is replaced by the next call.
type Client struct {
	addr string

	mu      sync.Mutex
	conn    net.Conn // nil: there is none
	replies *bufio.Reader
}

// Dial returns a client of the server at addr, host:port.
func Dial(addr string) (*Client, error) {
	c := &Client{addr: addr}
	if err := c.connect(); err != nil {
		return nil, err
	}
	return c, nil
}

// Write writes value to the fenced register of name, for hold number hold of the client process who, whose
// fencing token is token. base is what it read before. It returns ErrStale if a larger token was accepted.
func (c *Client) Write(who string, hold int, name string, token, base, value int64) error {
	_, err := c.call(request{Do: history.Writing, Who: who, Hold: hold, Name: name, Token: token, Base: base, Value: value})
	return err
}

// Read returns the value of the fenced register of name, and the largest token that was accepted.
func (c *Client) Read(name string) (value, token int64, err error) {
	r, err := c.call(request{Do: history.Reading, Name: name})
	return r.Value, r.Token, err
}

// PlainWrite writes value to the register of name that takes every write.
func (c *Client) PlainWrite(who string, hold int, name string, base, value int64) error {
	_, err := c.call(request{Do: history.PlainWriting, Who: who, Hold: hold, Name: name, Base: base, Value: value})
	return err
}

// PlainRead returns the value of that register.
func (c *Client) PlainRead(name string) (int64, error) {
	r, err := c.call(request{Do: history.PlainReading, Name: name})
	return r.Value, err
}

// Close hangs up.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return nil
	}
	err := c.conn.Close()
	c.conn = nil
	return err
}

func (c *Client) connect() error {
	conn, err := net.DialTimeout("tcp", c.addr, callTimeout)
	if err != nil {
		return fmt.Errorf("register at %s: %w", c.addr, err)
	}
	c.conn, c.replies = conn, bufio.NewReader(conn)
	return nil
}

func (c *Client) call(r request) (reply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		if err := c.connect(); err != nil {
			return reply{}, err
		}
	}
	answer, err := c.exchange(r)
	if err != nil {
		c.conn.Close() // its next reply would be that of this call
		c.conn = nil
		return reply{}, fmt.Errorf("register at %s: %w", c.addr, err)
	}
	if answer.Stale {
		return reply{}, ErrStale
	}
	return answer, nil
}

func (c *Client) exchange(r request) (answer reply, err error) {
	if err := c.conn.SetDeadline(time.Now().Add(callTimeout)); err != nil {
		return reply{}, err
	}
	if _, err := c.conn.Write(line(r)); err != nil {
		return reply{}, err
	}
	text, err := c.replies.ReadBytes('\n')
	if err != nil {
		return reply{}, err
	}
	return answer, json.Unmarshal(text, &answer)
}
