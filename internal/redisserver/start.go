package redisserver

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// isUp is what a server logs when it listens, or a Sentinel.
var isUp = regexp.MustCompile(`(?i)ready to accept connections|sentinel id is`)

// Server is a redis-server that [Run] started.
type Server struct {
	Port, Dir string // on 127.0.0.1; where its files are, until Close
	*os.Process
	ended chan struct{}
}

// Run starts a redis-server that stores nothing on disk, and returns when it is up, or when ctx ends. args returns
// further arguments; it may be nil, as may attr. A Sentinel (--sentinel) does as well.
func Run(ctx context.Context, attr *syscall.SysProcAttr, args func(port, dir string) []string) (*Server, error) {
	program, err := Find()
	if err != nil {
		return nil, err
	}
	// The system chooses a port that is free, and may give it to somebody else before Redis has it. Redis
	// then says so and ends.
	for tries := 1; ; tries++ {
		s, err := run(ctx, program, attr, args)
		if err == nil || tries == 5 || !strings.Contains(err.Error(), "already in use") {
			return s, err
		}
	}
}

func run(ctx context.Context, program string, attr *syscall.SysProcAttr, args func(port, dir string) []string) (_ *Server, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{ended: make(chan struct{})}
	_, s.Port, _ = net.SplitHostPort(listener.Addr().String())
	listener.Close()
	if s.Dir, err = os.MkdirTemp("", "redis-server-"); err != nil {
		return nil, err
	}
	file := filepath.Join(s.Dir, "redis.conf") // without one, no Sentinel starts
	all := []string{file, "--bind", "127.0.0.1", "--port", s.Port, "--dir", s.Dir, "--save", "", "--logfile", s.log()}
	if args != nil {
		all = append(all, args(s.Port, s.Dir)...)
	}
	command := Command(program, all...)
	command.SysProcAttr = attr
	if err = os.WriteFile(file, nil, 0o600); err == nil {
		err = command.Start()
	}
	if err != nil {
		_ = os.RemoveAll(s.Dir)
		return nil, err
	}
	s.Process = command.Process
	go func() { // ends with the server
		_ = command.Wait() // its error only says that the process was killed
		close(s.ended)
	}()
	for limit := time.After(30 * time.Second); ; {
		if text, _ := os.ReadFile(s.log()); isUp.Match(text) {
			return s, nil
		}
		select {
		case <-time.After(5 * time.Millisecond):
			continue
		case <-s.ended:
		case <-ctx.Done():
		case <-limit:
		}
		text, _ := os.ReadFile(s.log())
		s.Close()
		return nil, fmt.Errorf("redis-server is not up:\n%s", text)
	}
}

func (s *Server) log() string { return filepath.Join(s.Dir, "log") }

// Close ends the server, a frozen one too, and removes its files.
func (s *Server) Close() {
	_ = s.Kill()
	<-s.ended
	_ = os.RemoveAll(s.Dir)
}

// Start runs a server as [Run] does that ends with the test, and returns its port on 127.0.0.1 and its folder.
func Start(t testing.TB, args func(port, dir string) []string) (port, dir string) {
	t.Helper()
	s, err := Run(t.Context(), nil, args)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if text, err := os.ReadFile(s.log()); t.Failed() && err == nil {
			t.Logf("redis-server:\n%s", text)
		}
		s.Close()
	})
	return s.Port, s.Dir
}
