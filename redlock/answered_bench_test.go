package redlock_test

import (
	"bytes"
	"context"
	"net"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlocktest"
)

// Masters in memory interpret scripts, which takes a hundred times as many allocations as a
// lock takes the client. These connections leave the scripts out: what is counted is the
// client's.

// answeredPools are pools of a fleet whose masters run no script. The script that comes
// first on a connection, the one that acquires, is answered with reply, and every other one
// with 1. What comes before them goes to the master; what comes after and is no script is not
// answered, so a client must not be idle for a second.
func answeredPools(fleet *redlocktest.Fleet, reply string) []*redis.Pool {
	pools := make([]*redis.Pool, len(fleet.Masters()))
	for i, m := range fleet.Masters() {
		pools[i] = &redis.Pool{
			MaxIdle: 1,
			DialContext: func(ctx context.Context) (redis.Conn, error) {
				conn, err := m.Dial(ctx)
				if err != nil {
					return nil, err
				}
				return redis.NewConn(newAnswered(conn, reply), 0, 0), nil
			},
		}
	}
	return pools
}

// answered is one such connection. It has no deadlines.
//
// Goroutines: one that reads from the master, until the connection is closed.
type answered struct {
	net.Conn // to the master
	reply    string

	mu    sync.Mutex
	more  sync.Cond // there is something in in, or err
	in    bytes.Buffer
	err   error  // after in
	first []byte // hash of the first script, nil before it
	tail  []byte // of what was written, in which the next call may have begun
}

func newAnswered(conn net.Conn, reply string) *answered {
	a := &answered{Conn: conn, reply: reply}
	a.more.L = &a.mu
	go a.forward()
	return a
}

// forward passes on what the master says.
func (a *answered) forward() {
	room := make([]byte, 4096)
	for {
		n, err := a.Conn.Read(room)
		a.mu.Lock()
		a.in.Write(room[:n])
		a.err = err
		a.more.Signal()
		a.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// evalsha is in each script call, before the hash of the script.
var evalsha = []byte("\r\nEVALSHA\r\n$40\r\n")

const hashLen = 40

func (a *answered) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.first == nil && !bytes.Contains(p, evalsha) {
		return a.Conn.Write(p)
	}
	a.tail = append(a.tail, p...)
	for {
		_, rest, found := bytes.Cut(a.tail, evalsha)
		if !found || len(rest) < hashLen {
			break
		}
		a.answer(rest[:hashLen])
		a.tail = append(a.tail[:0], rest[hashLen:]...)
	}
	a.more.Signal()
	return len(p), nil
}

// answer answers a call of the script with that hash. a.mu is held.
func (a *answered) answer(hash []byte) {
	if a.first == nil {
		a.first = bytes.Clone(hash)
	}
	if bytes.Equal(hash, a.first) {
		a.in.WriteString(a.reply)
	} else {
		a.in.WriteString(yes)
	}
}

func (a *answered) Read(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.in.Len() == 0 && a.err == nil {
		a.more.Wait()
	}
	if a.in.Len() == 0 {
		return 0, a.err
	}
	return a.in.Read(p)
}

func (*answered) SetDeadline(time.Time) error      { return nil }
func (*answered) SetReadDeadline(time.Time) error  { return nil }
func (*answered) SetWriteDeadline(time.Time) error { return nil }
