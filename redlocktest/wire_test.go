package redlocktest

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/link"
)

// A wire that is cut in one direction holds back only that, and nobody else's.
func TestWireIsCutOneWay(t *testing.T) {
	for _, way := range []struct {
		name        string
		there, back bool
		arrives     bool
	}{
		{"there", true, false, false},
		{"back", false, true, true},
		{"both", true, true, false},
	} {
		t.Run(way.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *Master) {
				w := m.Wire()
				c, other := dial(t, w), dial(t, m)
				w.Cut(way.there, way.back)
				send(t, c, "SET", "k", 1)
				synctest.Wait()
				check.Equal(t, m.Get("k") == "1", way.arrives, "SET arrived")
				check.That(t, second(redis.ReceiveWithTimeout(c, time.Second)) != nil, "an answer came")
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				check.Err(t, "Dial", second(w.Dial(ctx)), context.DeadlineExceeded)
				do(t, other, "PING")
				w.Cut(false, false)
				synctest.Wait()
				check.Equal(t, m.Get("k"), "1", "what SET wrote, once the wire was mended")
				dial(t, w)
			})
		})
	}
}

// What is sent over a wire takes as long as its lag says, each way, and arrives in order.
func TestWireLags(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		w := m.Wire()
		c := dial(t, w)
		lags := []time.Duration{300 * time.Millisecond, 0, 20 * time.Millisecond, 20 * time.Millisecond}
		w.Lag(func() time.Duration {
			lag := lags[0]
			lags = lags[1:]
			return lag
		})
		start := time.Now()
		send(t, c, "RPUSH", "l", 1)
		send(t, c, "RPUSH", "l", 2) // it overtakes nothing
		for want := range int64(2) {
			got, err := redis.Int64(c.Receive())
			check.That(t, err == nil && got == want+1, "Receive = %v, %v, want %d", got, err, want+1)
		}
		check.Equal(t, time.Since(start), 320*time.Millisecond, "answers after")
		w.Lag(nil)
		start = time.Now()
		do(t, c, "PING")
		check.Equal(t, time.Since(start), 0, "PING without lag took")
	})
}

// A reset ends the connections of one wire at both ends, and CLIENT KILL those of all.
func TestConnectionsEnd(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		w := m.Wire()
		c, other := dial(t, w), dial(t, m)
		do(t, c, "PING")
		m.Freeze()
		send(t, c, "SET", "k", 1)
		synctest.Wait()
		w.Reset()
		m.Thaw()
		check.Err(t, "Receive", second(c.Receive()), syscall.ECONNRESET)
		do(t, other, "PING")
		synctest.Wait()
		check.Equal(t, m.Connections(), 1, "connections that are left")
		again := dial(t, w)
		do(t, again, "PING")
		m.KillClients()
		for _, c := range []redis.Conn{other, again} {
			check.That(t, second(c.Do("PING")) != nil, "PING on a killed connection: no error")
		}
		do(t, dial(t, m), "PING")
		m.Kill()
		m.KillClients()
	})
}

// A full master refuses what takes memory, but not a script that has changed something.
func TestFill(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		c := dial(t, m)
		do(t, c, "SET", "k", 1)
		m.Fill(true)
		refused(t, c, "OOM ", "SET", "l", 1)
		refused(t, c, "OOM ", "EVAL", "return redis.call('set', 'l', '1')", 0)
		check.Equal[any](t, do(t, c, "GET", "k"), "1", "GET")
		do(t, c, "EVAL", "redis.call('del', 'k') return redis.call('set', 'l', '1')", 0)
		m.Fill(false)
		do(t, c, "SET", "l", 2)
	})
}

func TestCutHoldsBackBothWays(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		c, closed, answered := dial(t, m), dial(t, m), dial(t, m)
		m.Delay(time.Second)
		send(t, answered, "SET", "answered", 1)
		time.Sleep(1500 * time.Millisecond) // carried out; the answer is in transit
		m.Cut()
		m.Cut()
		send(t, c, "SET", "c", 1)
		send(t, closed, "SET", "closed", 1)
		closed.Close()
		time.Sleep(time.Hour)
		wantKeys(t, m, "keys while cut", "answered")
		check.That(t, second(redis.ReceiveWithTimeout(c, time.Second)) != nil, "Receive while cut: got an answer")
		m.Mend()
		got, err := answered.Receive()
		check.That(t, err == nil && got == "OK", "Receive after Mend: got %v, %v, want OK", got, err)
		time.Sleep(time.Second)
		synctest.Wait()
		wantKeys(t, m, "keys after Mend", "answered", "c", "closed")
	})
}

func TestCutDialHangsUntilContextEnds(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		m.Cut()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		_, err := m.Dial(ctx)
		netErr, ok := errors.AsType[net.Error](err)
		check.That(t, errors.Is(err, context.DeadlineExceeded) && ok && netErr.Timeout(), "Dial: got %v, want a timeout", err)
		check.Equal(t, time.Since(start), 5*time.Second, "Dial took")
		time.AfterFunc(time.Second, m.Mend)
		dial(t, m)
		check.Equal(t, time.Since(start), 6*time.Second, "the second Dial ended after")
	})
}

func TestCutKeepsWhatHasArrived(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		c := dial(t, m)
		send(t, c, "SET", "k", "v")
		synctest.Wait()
		m.Cut()
		got, err := redis.ReceiveWithTimeout(c, time.Second)
		check.That(t, err == nil && got == "OK", "Receive: got %v, %v, want OK", got, err)
	})
}

func TestCutHidesKill(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		c := dial(t, m)
		m.Cut()
		m.Restart()
		send(t, c, "SET", "k", make([]byte, 2*link.SendBuffer)) // is dropped without blocking
		start := time.Now()
		time.AfterFunc(time.Minute, m.Mend)
		check.Err(t, "Receive", second(c.Receive()), io.EOF)
		check.Equal(t, time.Since(start), time.Minute, "the client knew after")
	})
}

// A delay takes effect in each direction, and one that is shorter reorders nothing.
func TestDelay(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		m.Delay(10 * time.Millisecond)
		start := time.Now()
		c := dial(t, m)
		check.Equal(t, time.Since(start), 20*time.Millisecond, "Dial took")
		do(t, c, "PING")
		check.Equal(t, time.Since(start), 40*time.Millisecond, "Dial and PING took")
		m.Delay(time.Minute)
		send(t, c, "SET", "k", "first")
		m.Delay(0)
		do(t, c, "SET", "k", "second")
		check.Equal(t, m.Get("k"), "second", "k")
	})
}
