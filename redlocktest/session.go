package redlocktest

import (
	"bufio"
	"errors"

	"github.com/alicebob/miniredis/v2/server"

	"example.com/redlock/internal/link"
)

// A session is a connection as seen by the process that accepted it. It ends with that process: the
// next process carries out none of its commands.
type session struct {
	master *Master
	proc   *process
	link   *link.Link
	id     int64
	peer   *server.Peer
	out    answers
	db     int // that was selected last

	// Guarded by master.mu.
	authenticated bool
	subscribed    bool
	ended         bool
}

// attachLocked opens a connection to the process, which must be alive, and serves it. The caller
// holds m.mu.
//
// Goroutines: one per connection, counted in m.wg. It ends when the client has closed its end and
// everything it sent is carried out, or when the session is ended.
func (m *Master) attachLocked(w *Wire) *link.End {
	l := link.New(link.Addr(m.name), w.takes)
	m.network.addLocked(l)
	w.network.addLocked(l)

	m.proc.lastID++
	s := &session{master: m, proc: m.proc, link: l, id: m.proc.lastID}
	s.out.w = &l.Master
	s.peer = server.NewPeer(bufio.NewWriter(&s.out))
	s.authenticated = m.settings.password == ""
	m.proc.sessions[s.id] = s
	m.wg.Go(s.serve)
	return &l.Client
}

func (s *session) serve() {
	r := bufio.NewReader(&s.link.Master)
	for {
		args, err := readCommand(r)
		if err != nil || !s.execute(args) {
			break
		}
	}
	s.master.mu.Lock()
	defer s.master.mu.Unlock()
	s.endLocked()
}

// execute carries out one command, unless the session ends first. It reports whether the session
// goes on.
func (s *session) execute(args []string) bool {
	m := s.master
	m.mu.Lock()
	defer m.mu.Unlock()
	for s.proc.frozen && !s.ended {
		m.thawed.Wait()
	}
	if s.ended {
		return false
	}
	s.runLocked(args)
	s.peer.Flush()
	return !s.ended && !s.peer.Closed()
}

// endLocked closes the connection and ends its subscriptions at once, so that no PUBLISH counts it
// any more. The caller holds master.mu.
func (s *session) endLocked() {
	if s.ended {
		return
	}
	s.ended = true
	delete(s.proc.sessions, s.id)
	s.link.Master.Close()
	if s.subscribed {
		// A server.Peer that is made by hand has no disconnect callbacks that would do this.
		s.master.redis.Dispatch(s.peer, []string{"UNSUBSCRIBE"})
		s.master.redis.Dispatch(s.peer, []string{"PUNSUBSCRIBE"})
	}
	s.master.thawed.Broadcast()
}

var errProtocol = errors.New("redlocktest: not a command")

// readCommand reads an array of bulk strings.
func readCommand(r *bufio.Reader) ([]string, error) {
	reply, err := server.ParseReply(r)
	if err != nil {
		return nil, err
	}
	array, ok := reply.([]any)
	if !ok || len(array) == 0 {
		return nil, errProtocol
	}
	args := make([]string, len(array))
	for i := range array {
		if args[i], ok = array[i].(string); !ok {
			return nil, errProtocol
		}
	}
	return args, nil
}
