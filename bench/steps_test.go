package main

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// recorder is a connection that keeps what is written, and has the replies ready.
type recorder struct {
	net.Conn
	written []string
	replies string
}

func (r *recorder) Write(b []byte) (int, error) {
	r.written = append(r.written, string(b))
	return len(b), nil
}

func (r *recorder) SetReadDeadline(time.Time) error { return nil }

func (r *recorder) Read(b []byte) (int, error) {
	n := copy(b, r.replies)
	r.replies = r.replies[n:]
	return n, nil
}

// Calls are written in batches, however long they are, and a reply that is not right ends it.
func TestPipeline(t *testing.T) {
	wrong := errors.New("wrong")
	s := step{script: redis.NewScript(0, "return 1")}
	for range 5 {
		s.calls = append(s.calls, call{[]any{string(make([]byte, 5000))}, func(reply any) error {
			if reply != int64(1) {
				return wrong
			}
			return nil
		}})
	}
	for _, c := range []struct {
		name, replies string
		writes        int
		want          error
	}{
		{"all are right", ":1\r\n:1\r\n:1\r\n:1\r\n:1\r\n", 3, nil},
		{"the third is wrong", ":1\r\n:1\r\n:2\r\n", 2, wrong},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn := &recorder{replies: c.replies}
			wire := &gatherer{Conn: conn}
			p := &pipeline{redis.NewConn(wire, 0, 0), wire}
			if err := p.run(t.Context(), s, 2); !errors.Is(err, c.want) {
				t.Errorf("run = %v, want %v", err, c.want)
			}
			if len(conn.written) != c.writes {
				t.Errorf("%d writes, want %d", len(conn.written), c.writes)
			}
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := new(pipeline).run(ended, s, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("run = %v, want that it has been cancelled", err)
	}
}

// Every lock goes through every step, and a step that the master refuses is an error.
func TestSteps(t *testing.T) {
	taken := []any{int64(5), []byte("somebody")}
	for _, c := range []struct {
		name             string
		contender        contender
		n                int
		granted, refused any
	}{
		{"redlock", ours, 1, int64(0), taken},
		{"redlock, 3 in a call", ours, 3, []any{int64(0), int64(0), int64(7)}, []any{int64(0), taken, int64(0)}},
		{"limit", limit, 1, int64(1), int64(0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			steps := c.contender.steps(numbered("steps:", 48), c.n)
			for _, s := range steps {
				if s.each != c.n || len(s.calls) != 48/c.n {
					t.Errorf("%s: %d calls of %d locks, want %d of %d", s.name, len(s.calls), s.each, 48/c.n, c.n)
				}
			}
			acquire := steps[0].calls[0]
			if err := acquire.check(c.granted); err != nil {
				t.Errorf("check of what was granted = %v", err)
			}
			if err := acquire.check(c.refused); err == nil {
				t.Error("check of what was refused = nil, want an error")
			}
		})
	}
}
