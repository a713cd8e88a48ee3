package multilock

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node"
	"example.com/redlock/redlocktest"
)

// What a lock costs. To compare two versions:
//
//	go test ./multilock -run '^$' -bench . -count 10 >old.txt
//	benchstat old.txt new.txt
//
// The masters are in the process and interpret scripts, which is most of the time and of the
// allocations. For those of the client see TestAllocations, and BenchmarkLockUnlock/answered in package redlock.
func BenchmarkLockUnlock(b *testing.B) {
	fleet := redlocktest.Start(b, 5)
	m := connect(fleet, fleet.Pools(), node.Config{Timeout: time.Second})
	defer m.Close()
	for range 10 { // connections and scripts
		lockUnlock(b, m)
	}
	b.ReportAllocs()
	for b.Loop() {
		lockUnlock(b, m)
	}
}

// free is an entry that notes nothing, so that it costs nothing.
type free struct{ _ byte }

func (*free) Ended(error) {}

// lockUnlock takes a lock and gives it back.
func lockUnlock(tb testing.TB, m *Masters) {
	e := new(free)
	hold, err := m.Lock(tb.Context(), Request{Key: "orders:42", Lease: 10 * time.Second, Wait: true, Watch: true, Entry: e})
	if err == nil {
		err = hold.Unlock(tb.Context(), e)
	}
	if err != nil {
		tb.Error(err)
	}
}

// A Lock and an Unlock of a free lock may cost 33 allocations. Package redlock adds five for the Hold and its
// context, and the entry here stands for one of them: the rest is for the driver and the nodes.
func TestAllocations(t *testing.T) {
	const most = 33 - 5 + 1
	synctest.Test(t, func(t *testing.T) { // no time passes, so no heartbeat comes in between
		fleet := redlocktest.Start(t, 5)
		m := connect(fleet, yesPools(fleet), node.Config{})
		defer m.Close()
		synctest.Wait()
		for range 100 {
			lockUnlock(t, m)
		}
		synctest.Wait()
		if got := testing.AllocsPerRun(500, func() { lockUnlock(t, m) }); got > most {
			t.Errorf("a Lock and an Unlock cost %v allocations, want %d at most", got, most)
		}
	})
}

// yesPools are pools of a fleet whose masters run no script: each is answered with 1 at once. What comes before
// them goes to the master.
func yesPools(fleet *redlocktest.Fleet) []*redis.Pool {
	pools := make([]*redis.Pool, len(fleet.Masters()))
	for i, m := range fleet.Masters() {
		pools[i] = &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
			conn, err := m.Dial(ctx)
			if err != nil {
				return nil, err
			}
			y := &yesConn{Conn: conn}
			y.more.L = &y.mu
			go y.forward()
			return redis.NewConn(y, 0, 0), nil
		}}
	}
	return pools
}

// yesConn is one such connection.
//
// Goroutines: one that reads from the master, until the connection is closed.
type yesConn struct {
	net.Conn // to the master

	mu   sync.Mutex
	more sync.Cond // there is something in in, or err
	in   bytes.Buffer
	err  error // after in
}

// forward passes on what the master says.
func (y *yesConn) forward() {
	room := make([]byte, 4096)
	for {
		n, err := y.Conn.Read(room)
		y.mu.Lock()
		y.in.Write(room[:n])
		y.err = err
		y.more.Broadcast()
		y.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Write answers the scripts in p, which redigo writes whole, as long as they are few.
func (y *yesConn) Write(p []byte) (int, error) {
	scripts := bytes.Count(p, []byte("\r\nEVALSHA\r\n"))
	if scripts == 0 {
		return y.Conn.Write(p)
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	for range scripts {
		y.in.WriteString(":1\r\n")
	}
	y.more.Broadcast()
	return len(p), nil
}

func (y *yesConn) Read(p []byte) (int, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for y.in.Len() == 0 && y.err == nil {
		y.more.Wait()
	}
	if y.in.Len() == 0 {
		return 0, y.err
	}
	return y.in.Read(p)
}

func (*yesConn) SetDeadline(time.Time) error      { return nil }
func (*yesConn) SetReadDeadline(time.Time) error  { return nil }
func (*yesConn) SetWriteDeadline(time.Time) error { return nil }
