package redlock_test

import (
	"bytes"
	"context"
	"fmt"
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
// with 1. What comes before them goes to the master; what comes after is the PING, the TIME and
// the INFO of each second.
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

// Each script call has evalsha, before the hash of the script.
var (
	evalsha = []byte("\r\nEVALSHA\r\n$40\r\n")
	ping    = []byte("\r\nPING\r\n")
	tell    = []byte("\r\nTIME\r\n")
	info    = []byte("\r\nINFO\r\n$11\r\nreplication\r\n")
)

const hashLen = 40

func (a *answered) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.first == nil && !bytes.Contains(p, evalsha) {
		return a.Conn.Write(p)
	}
	a.tail = append(a.tail, p...)
	for {
		rest := a.next(a.tail)
		if rest == nil {
			break
		}
		a.tail = append(a.tail[:0], rest...)
	}
	a.more.Signal()
	return len(p), nil
}

// next answers the first call in tail and returns what is behind it, nil if there is none.
// a.mu is held.
func (a *answered) next(tail []byte) (rest []byte) {
	script, call := bytes.Index(tail, evalsha), tail
	if script >= 0 {
		call = tail[:script]
	}
	if _, rest, found := bytes.Cut(call, ping); found {
		a.in.WriteString("+PONG\r\n")
		return tail[len(call)-len(rest):]
	}
	if _, rest, found := bytes.Cut(call, tell); found {
		now := time.Now()
		fmt.Fprintf(&a.in, "*2\r\n$10\r\n%d\r\n$6\r\n%06d\r\n", now.Unix(), now.Nanosecond()/1000)
		return tail[len(call)-len(rest):]
	}
	if _, rest, found := bytes.Cut(call, info); found {
		a.in.WriteString("$0\r\n\r\n")
		return tail[len(call)-len(rest):]
	}
	if script < 0 || len(tail) < script+len(evalsha)+hashLen {
		return nil
	}
	rest = tail[script+len(evalsha):]
	a.answer(rest[:hashLen])
	return rest[hashLen:]
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
