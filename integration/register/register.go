// Package register is what locks protect: a register for each name, which refuses a write whose fencing token is
// smaller than one that it has accepted.
//
// [Registers] are those of a run, and record what they did with each write. A [Server] has some for processes, whose
// [Client] asks it over HTTP.
//
// # Concurrency
//
// Writes are carried out and recorded one after another. A Server has a goroutine that accepts and one for
// each connection, which end with [Server.Close]. A Client may be used by any number of goroutines.
//
// # Errors
//
// [ErrStale] is the register's refusal. Any other error means that no reply came in time: the write may or
// may not have been carried out, or may still be. Nothing is sent twice.
package register

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"example.com/redlock/internal/history"
)

// ErrStale means that a write with a larger token was accepted before.
var ErrStale = errors.New("register: the token is older than one that was accepted")

// timeout bounds a call. The server is near, so a call takes that long only if the machine does nothing
// else, or the client's process was stopped.
const timeout = 5 * time.Second

// Request asks to write to the register of a name if Do is Writing, and to read it otherwise. A write is that of hold
// number Hold of the client process Who, whose fencing token is Token. Base is what it read before.
type Request struct {
	Do          history.Do
	Who         string
	Hold        int
	Name        string
	Token       int64
	Base, Value int64
}

// Reply is the value that was read, and the largest token that the register has accepted.
type Reply struct {
	Value, Token int64
	Stale        bool // the write was refused
}

// Registers are the registers themselves. They carry out one request at a time.
type Registers struct {
	record func(history.Event)
	values map[string]Reply // by name
}

// New returns registers that have record note an Accepted or Refused for each write, in the order in which they carry
// them out.
func New(record func(history.Event)) *Registers { return &Registers{record, map[string]Reply{}} }

// Server keeps registers for clients.
type Server struct {
	http http.Server
	addr string

	mu        sync.Mutex
	registers *Registers
	closed    bool
}

// Serve answers clients that connect to l, which Close closes.
func Serve(l net.Listener, record *history.Recorder) *Server {
	s := &Server{addr: l.Addr().String(), registers: New(record.Add)}
	s.http.Handler = http.HandlerFunc(s.answer)
	go func() { _ = s.http.Serve(l) }() // until Close
	return s
}

// Addr is what clients connect to.
func (s *Server) Addr() string { return s.addr }

// Close ends all connections. A write that was not carried out by then never is.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	return s.http.Close()
}

// answer carries out the request of a client.
func (s *Server) answer(w http.ResponseWriter, asked *http.Request) {
	var r Request
	if err := json.NewDecoder(asked.Body).Decode(&r); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		panic(http.ErrAbortHandler)
	}
	_ = json.NewEncoder(w).Encode(s.registers.Do(r)) // it is short, so a client that does not read it holds up nobody
}

// Do carries out a request.
func (rs *Registers) Do(r Request) Reply {
	reply := rs.values[r.Name]
	if r.Do != history.Writing {
		return reply
	}
	did := history.Event{
		What: history.Accepted, Do: r.Do, Who: r.Who, Hold: r.Hold,
		Name: r.Name, Token: r.Token, Base: r.Base, Value: r.Value,
	}
	if r.Token < reply.Token {
		did.What, reply.Stale = history.Refused, true
	} else {
		rs.values[r.Name] = Reply{Value: r.Value, Token: r.Token}
	}
	rs.record(did)
	return reply
}

// Client asks a Server.
type Client struct {
	addr string
	http http.Client
}

// NewClient returns a client of the server at addr, host:port.
func NewClient(addr string) *Client {
	return &Client{addr: addr, http: http.Client{Transport: &http.Transport{}, Timeout: timeout}}
}

// Do carries out a request.
func (c *Client) Do(r Request) (Reply, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return Reply{}, err
	}
	answer, err := c.http.Post("http://"+c.addr, "application/json", bytes.NewReader(body))
	if err != nil {
		return Reply{}, fmt.Errorf("register: %w", err)
	}
	defer answer.Body.Close()
	var reply Reply
	text, err := io.ReadAll(answer.Body)
	if err == nil {
		err = json.Unmarshal(text, &reply)
	}
	if err != nil {
		return Reply{}, fmt.Errorf("register at %s: %w", c.addr, err)
	}
	if reply.Stale {
		return Reply{}, ErrStale
	}
	return reply, nil
}

// Close hangs up.
func (c *Client) Close() { c.http.CloseIdleConnections() }
