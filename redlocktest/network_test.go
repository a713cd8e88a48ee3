package redlocktest

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
)

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
		if got, want := m.Keys(), []string{"answered"}; !slices.Equal(got, want) {
			t.Errorf("keys while cut: got %v, want %v", got, want)
		}
		if _, err := redis.ReceiveWithTimeout(c, time.Second); err == nil {
			t.Error("Receive while cut: got an answer")
		}
		m.Mend()
		if got, err := answered.Receive(); err != nil || got != "OK" {
			t.Errorf("Receive after Mend: got %v, %v, want OK", got, err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got, want := m.Keys(), []string{"answered", "c", "closed"}; !slices.Equal(got, want) {
			t.Errorf("keys after Mend: got %v, want %v", got, want)
		}
	})
}

func TestCutDialHangsUntilContextEnds(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		m.Cut()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		_, err := m.Dial(ctx)
		if netErr, ok := errors.AsType[net.Error](err); !errors.Is(err, context.DeadlineExceeded) || !ok || !netErr.Timeout() {
			t.Errorf("Dial: got %v, want a timeout", err)
		}
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
		if got, err := redis.ReceiveWithTimeout(c, time.Second); err != nil || got != "OK" {
			t.Errorf("Receive: got %v, %v, want OK", got, err)
		}
	})
}

func TestCutHidesKill(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		c := dial(t, m)
		m.Cut()
		m.Restart()
		send(t, c, "SET", "k", make([]byte, 2*sendBuffer)) // is dropped without blocking
		start := time.Now()
		time.AfterFunc(time.Minute, m.Mend)
		if _, err := c.Receive(); !errors.Is(err, io.EOF) {
			t.Errorf("Receive: got %v, want EOF", err)
		}
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
