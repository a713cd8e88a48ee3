package wire

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/redlock/internal/check"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a master that sends back what it gets.
func echo(t *testing.T) net.Listener {
	t.Helper()
	l := listen(t)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return l
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

func start(t *testing.T, target net.Listener) *Wire {
	t.Helper()
	w, err := New(target.Addr().String())
	check.OK(t, err)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return w
}

func dial(t *testing.T, w *Wire) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", w.Addr())
	check.OK(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn.(*net.TCPConn)
}

func send(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := conn.Write([]byte(text)); err != nil {
		t.Fatalf("Write(%q) = %v", text, err)
	}
}

// want reads text, and returns how long that took.
func want(t *testing.T, conn net.Conn, text string) time.Duration {
	t.Helper()
	began := time.Now()
	check.OK(t, conn.SetReadDeadline(began.Add(time.Minute)))
	got := make([]byte, len(text))
	if n, err := io.ReadFull(conn, got); err != nil || string(got) != text {
		t.Fatalf("read %q, %v, want %q", got[:n], err, text)
	}
	return time.Since(began)
}

// silent fails if conn receives anything within d.
func silent(t *testing.T, conn net.Conn, d time.Duration) {
	t.Helper()
	check.OK(t, conn.SetReadDeadline(time.Now().Add(d)))
	var timeout net.Error
	if n, err := conn.Read(make([]byte, 1)); n != 0 || !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Fatalf("read %d bytes, %v, want none", n, err)
	}
}
