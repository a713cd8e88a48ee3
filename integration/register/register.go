// Package register is what locks protect: one register for each name that refuses writes with smaller
// fencing tokens than it has seen, and one that takes every write.
//
// A [Server] keeps the registers of a run, and records what it did with each write. A [Client] is the
// connection of one caller to it. They speak net/rpc.
//
// # Concurrency
//
// Writes are carried out and recorded one after another. A Server has a goroutine that accepts and one for
// each connection; [Server.Close] ends them and waits. A client that does not read its replies holds up
// nobody else. A Client is for one goroutine.
//
// # Errors
//
// [ErrStale] is the register's refusal. Any other error means that no reply came in time: the write may or
// may not have been carried out, or may still be. Nothing is sent twice.
package register

import (
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"sync"
	"time"

	"example.com/redlock/internal/history"
)

// ErrStale means that a write with a larger token was accepted before.
var ErrStale = errors.New("register: the token is older than one that was accepted")

// timeout bounds a call. The server is near, so a call takes that long only if the machine does nothing
// else, or the client's process was stopped.
const timeout = 5 * time.Second

// Request asks for what Do says: Reading or Writing, of the fenced register of a name, or PlainReading or
// PlainWriting, of the other. A write is that of hold number Hold of the client process Who, whose fencing
// token is Token. Base is what it read before.
type Request struct {
	Do          history.Do
	Who         string
	Hold        int
	Name        string
	Token       int64
	Base, Value int64
}

// Reply is the value that was read, and the largest token that the fenced register has accepted.
type Reply struct {
	Value, Token int64
	Stale        bool // the write was refused
}

// Server keeps the registers.
type Server struct {
	listener net.Listener
	record   *history.Recorder
	wg       sync.WaitGroup

	mu     sync.Mutex
	values map[register]Reply
	conns  []net.Conn
	closed bool
}

// register is the name of one of the registers.
type register struct {
	name  string
	plain bool
}

// Serve answers clients that connect to l, which Close closes. It records an Accepted or Refused for each
// write, in the order in which it carried them out.
func Serve(l net.Listener, record *history.Recorder) *Server {
	s := &Server{listener: l, record: record, values: map[register]Reply{}}
	calls := rpc.NewServer()
	if err := calls.RegisterName("Register", &methods{s}); err != nil {
		panic(err) // it has one method, in the form that net/rpc wants
	}
	s.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				time.Sleep(time.Millisecond) // out of descriptors: the backlog waits
				continue
			}
			s.mu.Lock()
			if s.closed {
				conn.Close()
			} else {
				s.conns = append(s.conns, conn)
				s.wg.Go(func() { calls.ServeConn(conn) })
			}
			s.mu.Unlock()
		}
	})
	return s
}

// Addr is what clients Dial.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close ends all connections. A write that was not carried out by then never is.
func (s *Server) Close() error {
	err := s.listener.Close()
	s.mu.Lock()
	s.closed = true
	for _, conn := range s.conns {
		conn.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
	return err
}

// methods are what clients may call.
type methods struct{ server *Server }

func (m *methods) Do(r Request, reply *Reply) error {
	s := m.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	at := register{r.Name, r.Do == history.PlainWriting || r.Do == history.PlainReading}
	*reply = s.values[at]
	if r.Do == history.Reading || r.Do == history.PlainReading {
		return nil
	}
	did := history.Event{
		What: history.Accepted, Do: r.Do, Who: r.Who, Hold: r.Hold,
		Name: r.Name, Token: r.Token, Base: r.Base, Value: r.Value,
	}
	if !at.plain && r.Token < reply.Token {
		did.What, reply.Stale = history.Refused, true
	} else {
		s.values[at] = Reply{Value: r.Value, Token: r.Token}
	}
	s.record.Add(did)
	return nil
}

// Client is a connection to a Server. One that failed is replaced by the next call.
type Client struct {
	addr string
	rpc  *rpc.Client // nil: there is none
}

// NewClient returns a client of the server at addr, host:port, which it dials when it is used.
func NewClient(addr string) *Client { return &Client{addr: addr} }

// Do carries out a request.
func (c *Client) Do(r Request) (Reply, error) {
	if c.rpc == nil {
		conn, err := net.DialTimeout("tcp", c.addr, timeout)
		if err != nil {
			return Reply{}, fmt.Errorf("register: %w", err)
		}
		c.rpc = rpc.NewClient(conn)
	}
	var reply Reply
	var err error
	call := c.rpc.Go("Register.Do", r, &reply, make(chan *rpc.Call, 1))
	select {
	case <-call.Done:
		err = call.Error
	case <-time.After(timeout):
		err = errors.New("no reply")
	}
	if err != nil {
		c.Close()
		return Reply{}, fmt.Errorf("register at %s: %w", c.addr, err)
	}
	if reply.Stale {
		return Reply{}, ErrStale
	}
	return reply, nil
}

// Close hangs up.
func (c *Client) Close() {
	if c.rpc != nil {
		c.rpc.Close()
		c.rpc = nil
	}
}
