package trial

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/integration/fleet"
	"example.com/redlock/integration/wire"
	"example.com/redlock/integration/workload"
	"example.com/redlock/internal/history"
)

// slot is the place of one client: a process, and after its end a successor. All of them have the same wires. Only one
// fault at a time uses a slot.
type slot struct {
	name     string                // "c1", also of the first process in it
	ways     map[string]*wire.Wire // to each master
	cfg      workload.Config
	programs Programs
	folder   string
	rec      *history.Recorder

	mu      sync.Mutex
	n       int      // how many processes there were; guarded by mu
	process *process // guarded by mu
}

// process is one client process.
type process struct {
	who    string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	ended  chan struct{} // closed when it was waited for
	err    error         // how it ended; read after ended
	killed atomic.Bool   // by us
}

// now returns the process that is in the slot.
func (s *slot) now() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process
}

// reach makes the processes that start from now on use these masters.
func (s *slot) reach(set []string) {
	s.cfg.Masters = nil
	for _, name := range set {
		s.cfg.Masters = append(s.cfg.Masters, s.ways[name].Addr())
	}
}

// start starts a process, with a wall clock that is off by offset.
//
// Goroutines: one, which waits for the process and ends with it.
func (s *slot) start(offset time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	cfg := s.cfg
	cfg.Who = s.name
	if s.n > 1 {
		cfg.Who = fmt.Sprintf("%s.%d", s.name, s.n)
	}
	cfg.Seed += uint64(s.n) << 32
	cfg.Out = filepath.Join(s.folder, cfg.Who+".jsonl")
	program := s.programs.Right
	if offset != 0 {
		program = s.programs.Skewed
	}
	p := &process{who: cfg.Who, cmd: exec.Command(program, cfg.Arg()), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), skewEnv(offset))
	said, err := os.Create(filepath.Join(s.folder, cfg.Who+".stderr"))
	if err != nil {
		return err
	}
	p.cmd.Stderr = said
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	s.rec.Add(history.Event{What: history.Started, Who: p.who, Skew: offset, Keep: cfg.Keep})
	if err := p.cmd.Start(); err != nil {
		return err
	}
	s.process = p
	go func() {
		p.err = p.cmd.Wait()
		_ = said.Close()
		what := history.Exited
		if p.killed.Load() {
			what = history.Killed
		}
		s.rec.Add(history.Event{What: what, Who: p.who})
		close(p.ended)
	}()
	return nil
}

// tell tells the process something, unless it has ended.
func (p *process) tell(what string) { _, _ = io.WriteString(p.stdin, what) }

// kill ends the process with SIGKILL, unless it has ended.
func (p *process) kill() error {
	p.killed.Store(true)
	err := p.cmd.Process.Kill()
	<-p.ended
	return err
}

// endsWithin is how long a process may take to end its calls, its holds and its client, each of which has a bound of its
// own.
const endsWithin = 2 * time.Minute

// end closes the standard input of the process and waits until it has ended.
func (p *process) end() error {
	_ = p.stdin.Close()
	select {
	case <-p.ended:
	case <-time.After(endsWithin):
		_ = p.cmd.Process.Signal(syscall.SIGQUIT) // it says what its goroutines do
		select {
		case <-p.ended:
		case <-time.After(3 * time.Second):
			_ = p.cmd.Process.Kill()
			<-p.ended
		}
		return fmt.Errorf("client %s did not end within %v: see its .stderr", p.who, endsWithin)
	}
	if p.err != nil {
		return fmt.Errorf("client %s: %w: see its .stderr", p.who, p.err)
	}
	return nil
}

const (
	watchEvery = 50 * time.Millisecond
	slowAnswer = 100 * time.Millisecond // of a master on a machine with nothing else to do, with much to spare
)

// watch sends PING to a master again and again, without a wire, until ctx ends. If an answer takes long, it records a
// stall of the master: harm was done to it, or the machine had no time for it. Otherwise nobody could tell a slow master
// from a slow client.
func watch(ctx context.Context, m *fleet.Master, rec *history.Recorder) {
	var conn redis.Conn
	defer func() {
		if conn != nil {
			conn.Close()
		}
	}()
	for ctx.Err() == nil {
		wait(ctx, watchEvery)
		from := rec.Now()
		var err error
		if conn == nil {
			conn, err = m.Dial()
		}
		if err == nil {
			_, err = redis.DoContext(conn, ctx, "PING")
		}
		if err != nil && conn != nil {
			conn.Close()
			conn = nil
		}
		if now := rec.Now(); now-from > slowAnswer {
			rec.Add(history.Event{At: now, What: history.Stall, Who: m.Name(), From: from})
		}
	}
}
