package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
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

// ends returns both ends of a connection through a wire.
func ends(t *testing.T) (w *Wire, client, master *net.TCPConn) {
	t.Helper()
	l := listen(t)
	w = start(t, l)
	client = dial(t, w)
	conn, err := l.Accept()
	check.OK(t, err)
	t.Cleanup(func() { conn.Close() })
	left(t, w, 1)
	return w, client, conn.(*net.TCPConn)
}

// TestCut: what is sent in a direction that is cut waits, and comes in order when it is mended. The other
// direction goes on.
func TestCut(t *testing.T) {
	for name, test := range map[string]struct {
		cut         Directions
		there, back bool // what still passes
	}{
		"both":  {Both, false, false},
		"there": {There, false, true},
		"back":  {Back, true, false},
		"none":  {0, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			w, client, master := ends(t)
			w.Cut(Both)
			w.Cut(test.cut) // instead of the one before
			check := func(from, to net.Conn, passes bool) {
				t.Helper()
				send(t, from, "one ")
				if passes {
					want(t, to, "one ")
					return
				}
				silent(t, to, 30*time.Millisecond)
				send(t, from, "two")
			}
			check(client, master, test.there)
			check(master, client, test.back)
			w.Cut(0)
			if !test.there {
				want(t, master, "one two")
			}
			if !test.back {
				want(t, client, "one two")
			}
		})
	}
}

// TestSlow: a chunk takes at least the delay in each direction, until it is over.
func TestSlow(t *testing.T) {
	w := start(t, echo(t))
	conn := dial(t, w)
	w.Slow(40*time.Millisecond, 20*time.Millisecond)
	send(t, conn, "x")
	if took := want(t, conn, "x"); took < 80*time.Millisecond {
		t.Errorf("there and back took %v, want at least twice 40ms", took)
	}
	w.Slow(0, 0)
	for try := 1; ; try++ { // on a busy machine, some take long without being slowed down
		send(t, conn, "x")
		if took := want(t, conn, "x"); took < 80*time.Millisecond {
			break
		} else if try == 100 {
			t.Fatalf("there and back took %v after Slow(0, 0)", took)
		}
	}
}

// TestLose: what is lost comes later, and holds up what is behind it.
func TestLose(t *testing.T) {
	w, client, master := ends(t)
	w.Lose(1)
	send(t, client, "one ")
	silent(t, master, 250*time.Millisecond)
	w.Lose(0)
	send(t, client, "two")
	want(t, master, "one two")

	w.Lose(0.25)
	late := 0
	for i := range 40 {
		text, began := fmt.Sprint(i), time.Now()
		send(t, client, text)
		want(t, master, text)
		if time.Since(began) >= resend {
			late++
		}
		if late > 0 && late <= i {
			return // some were lost, and some were not
		}
	}
	t.Errorf("%d of 40 chunks were lost with probability 0.25", late)
}

func wantReset(t *testing.T, who string, err error) {
	t.Helper()
	check.That(t, errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE), "%s reads %v, want that the connection is reset", who, err)
}

// left waits until the wire has that many connections.
func left(t *testing.T, w *Wire, n int) {
	t.Helper()
	check.Eventually(t, fmt.Sprintf("%d connections", n), func() bool { return len(w.all()) == n })
}

// TestReset: one connection, or all that there are, and no later one.
func TestReset(t *testing.T) {
	w := start(t, echo(t))
	for range 3 {
		conn := dial(t, w)
		send(t, conn, "here")
		want(t, conn, "here")
	}
	w.ResetOne()
	left(t, w, 2)
	w.Reset()
	left(t, w, 0)
	conn := dial(t, w)
	send(t, conn, "still here")
	want(t, conn, "still here")
}

// TestDeadMaster: who connects to a master that refuses is reset.
func TestDeadMaster(t *testing.T) {
	l := listen(t)
	w := start(t, l)
	l.Close()
	conn, err := net.Dial("tcp", w.Addr())
	if err == nil { // it may also be reset within Dial
		defer conn.Close()
		_, err = io.Copy(io.Discard, conn)
	}
	wantReset(t, "the client", err)
	left(t, w, 0)
}

// TestStreamUnderFaults: what is sent arrives whole and in order, whatever happens on the way.
func TestStreamUnderFaults(t *testing.T) {
	w, client, master := ends(t)
	sent := make([]byte, 3<<20) // more than may be on its way
	for i := range sent {
		sent[i] = byte(i / 7)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := client.Write(sent); err != nil {
			t.Errorf("Write() = %v", err)
		}
		if err := client.CloseWrite(); err != nil {
			t.Errorf("CloseWrite() = %v", err)
		}
	})
	wg.Go(func() {
		for range 5 {
			for _, fault := range []func(){
				func() { w.Cut(There) },
				func() { w.Slow(3*time.Millisecond, 3*time.Millisecond) },
				func() { w.Lose(0.01) },
			} {
				fault()
				time.Sleep(5 * time.Millisecond)
			}
			w.Cut(0)
			w.Slow(0, 0)
			w.Lose(0)
		}
	})
	got, err := io.ReadAll(master)
	wg.Wait()
	check.That(t, err == nil && bytes.Equal(got, sent), "%d bytes arrived, %v, want the %d that were sent", len(got), err, len(sent))
}

// TestCloseBehindASender: one that is held up does not hold up Close.
func TestCloseBehindASender(t *testing.T) {
	w, client, _ := ends(t)
	w.Cut(Both)
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := client.Write(make([]byte, 64<<20)) // far more than what is on its way
		wantReset(t, "the client", err)
	})
	time.Sleep(10 * time.Millisecond)
	w.Close()
	wg.Wait()
}
