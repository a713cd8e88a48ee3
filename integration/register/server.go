package register

import (
	"encoding/json"
	"errors"
	"net"
	"sync"
	"time"

	"example.com/redlock/internal/history"
)

// writeTimeout bounds how long a connection waits for its client to read a reply.
const writeTimeout = 10 * time.Second

// Server keeps the registers.
type Server struct {
	listener net.Listener
	record   *history.Recorder
	wg       sync.WaitGroup

	mu     sync.Mutex
	fenced map[string]*register
	plain  map[string]*register
	conns  map[net.Conn]struct{}
	closed bool
}

// register is the value of one name. Its token is the largest that was accepted.
type register struct{ value, token int64 }

// Serve answers clients that connect to l, which Close closes. It records an Accepted or Refused for each
// write, in the order in which it carried them out.
func Serve(l net.Listener, record *history.Recorder) *Server {
	s := &Server{
		listener: l, record: record,
		fenced: map[string]*register{}, plain: map[string]*register{}, conns: map[net.Conn]struct{}{},
	}
	s.wg.Go(s.accept)
	return s
}

// Addr is what clients Dial.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close ends all connections. A write that was not carried out by then never is.
func (s *Server) Close() error {
	err := s.listener.Close()
	s.mu.Lock()
	s.closed = true
	for conn := range s.conns {
		conn.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
	return err
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
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
			s.conns[conn] = struct{}{}
			s.wg.Go(func() { s.serve(conn) })
		}
		s.mu.Unlock()
	}
}

// serve answers one client until it hangs up, or talks nonsense.
func (s *Server) serve(conn net.Conn) {
	defer func() {
		conn.Close()
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
	}()
	requests := json.NewDecoder(conn)
	for {
		var r request
		if requests.Decode(&r) != nil {
			return
		}
		answer, ok := s.carryOut(r)
		if !ok || conn.SetWriteDeadline(time.Now().Add(writeTimeout)) != nil {
			return
		}
		if _, err := conn.Write(line(answer)); err != nil {
			return
		}
	}
}

// carryOut does what a client asks for. It returns false if there is no such request, or the server is
// closed.
func (s *Server) carryOut(r request) (reply, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return reply{}, false
	}
	registers := s.fenced
	if r.Do == history.PlainWriting || r.Do == history.PlainReading {
		registers = s.plain
	}
	at := registers[r.Name]
	if at == nil {
		at = &register{}
		registers[r.Name] = at
	}
	did := history.Event{
		What: history.Accepted, Do: r.Do, Who: r.Who, Hold: r.Hold,
		Name: r.Name, Token: r.Token, Base: r.Base, Value: r.Value,
	}
	switch r.Do {
	case history.Reading, history.PlainReading:
		return reply{Value: at.value, Token: at.token}, true
	case history.Writing:
		if r.Token < at.token {
			did.What = history.Refused
			s.record.Add(did)
			return reply{Stale: true}, true
		}
		at.value, at.token = r.Value, r.Token
	case history.PlainWriting:
		at.value = r.Value
	default:
		return reply{}, false
	}
	s.record.Add(did)
	return reply{}, true
}
