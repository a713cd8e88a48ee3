// Package answered has masters that run no script: what a client costs is seen beside them.
//
// Masters in memory interpret scripts, which takes a hundred times as many allocations as a lock
// takes the client. These answer before they have done anything.
package answered

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// Yes is the answer to an acquire that was granted.
const Yes = ":1\r\n"

// Pools are pools of a fleet whose masters run no script. Each acquire of a lock is answered with
// reply, and everything else with 1.
func Pools(fleet *redlocktest.Fleet, reply string) []*redis.Pool {
	pools := make([]*redis.Pool, len(fleet.Masters()))
	for i, m := range fleet.Masters() {
		pools[i] = &redis.Pool{
			MaxIdle: 1,
			DialContext: func(ctx context.Context) (redis.Conn, error) {
				master, err := m.Dial(ctx)
				if err != nil {
					return nil, err
				}
				c := &conn{Conn: master, reply: reply}
				c.more.L = &c.mu
				go c.forward()
				return redis.NewConn(c, 0, 0), nil
			},
		}
	}
	return pools
}

// acquire is the hash of the script that takes a lock.
var acquire = script.NewOwner("", "").Acquire(0, 0).Words(nil, false)[1].(string)

// conn is one connection. What comes before the first call of the script goes to the master. It has
// no deadlines.
//
// Goroutines: one that reads from the master, until the connection is closed.
type conn struct {
	net.Conn // to the master
	reply    string

	mu     sync.Mutex
	more   sync.Cond // there is something in in, or err
	in     bytes.Buffer
	err    error    // after in
	called bool     // the script
	tail   []byte   // of what was written, where a command has begun
	args   [][]byte // room for those of one command
}

// forward passes on what the master says.
func (c *conn) forward() {
	room := make([]byte, 4096)
	for {
		n, err := c.Conn.Read(room)
		c.mu.Lock()
		c.in.Write(room[:n])
		c.err = err
		c.more.Broadcast()
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.called = c.called || bytes.Contains(p, []byte("\r\nEVALSHA\r\n"))
	if !c.called {
		return c.Conn.Write(p)
	}
	c.tail = append(c.tail, p...)
	rest := c.tail
	for {
		n := c.parse(rest)
		if n == 0 {
			break
		}
		c.answer(c.args)
		rest = rest[n:]
	}
	c.tail = slices.Delete(c.tail, 0, len(c.tail)-len(rest))
	c.more.Broadcast()
	return len(p), nil
}

// parse reads the command at the front of p into args and returns its length, 0 if it is not whole.
func (c *conn) parse(p []byte) (length int) {
	c.args = c.args[:0]
	rest := p
	number := func() (int, bool) { // of arguments or of bytes, behind a letter
		line, after, whole := bytes.Cut(rest, []byte("\r\n"))
		if !whole {
			return 0, false
		}
		rest = after
		return atoi(line[1:]), true
	}
	n, whole := number()
	if !whole {
		return 0
	}
	for range n {
		size, whole := number()
		if !whole || len(rest) < size+2 {
			return 0
		}
		c.args = append(c.args, rest[:size])
		rest = rest[size+2:]
	}
	return len(p) - len(rest)
}

// answer puts the answer to a command into in.
func (c *conn) answer(args [][]byte) {
	switch name := string(args[0]); name {
	case "PING":
		c.in.WriteString("+PONG\r\n")
	case "TIME":
		now := time.Now()
		fmt.Fprintf(&c.in, "*2\r\n$10\r\n%d\r\n$6\r\n%06d\r\n", now.Unix(), now.Nanosecond()/1000)
	case "INFO":
		c.in.WriteString("$0\r\n\r\n")
	case "SET":
		c.in.WriteString("+OK\r\n")
	case "GETRANGE": // a client's record: there is none
		c.in.WriteString("$0\r\n\r\n")
	case "DEL":
		c.in.WriteString(Yes)
	case "EVAL": // how others use the master: nobody does
		c.in.WriteString("*0\r\n")
	case "EVALSHA": // hash, number of keys, keys, arguments
		switch holds := (len(args) - 5) / 4; { // behind two arguments for all of them
		case atoi(args[2]) == 0: // a renewal of locks
			c.in.WriteByte('*')
			c.in.Write(strconv.AppendInt(c.in.AvailableBuffer(), int64(holds), 10))
			c.in.WriteString("\r\n")
			for range holds {
				c.in.WriteString(Yes)
			}
		case string(args[1]) == acquire:
			c.in.WriteString(c.reply)
		default:
			c.in.WriteString(Yes)
		}
	default:
		panic("a command that was not expected: " + name)
	}
}

// atoi is the number that is written there.
func atoi(digits []byte) int {
	n, _ := strconv.Atoi(string(digits)) // which allocates nothing
	return n
}

func (c *conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.in.Len() == 0 && c.err == nil {
		c.more.Wait()
	}
	if c.in.Len() == 0 {
		return 0, c.err
	}
	return c.in.Read(p)
}

func (*conn) SetDeadline(time.Time) error      { return nil }
func (*conn) SetReadDeadline(time.Time) error  { return nil }
func (*conn) SetWriteDeadline(time.Time) error { return nil }
