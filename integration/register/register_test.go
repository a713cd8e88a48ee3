package register

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/redlock/internal/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server whose history goes to out.
func serve(t *testing.T, out io.Writer) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s := Serve(l, history.NewRecorder(out, "register", func() time.Duration { return time.Since(began) }))
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return s
}

func dial(t *testing.T, s *Server) *Client {
	t.Helper()
	c, err := Dial(s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestFencedRegister(t *testing.T) {
	var out bytes.Buffer
	c := dial(t, serve(t, &out))
	for _, step := range []struct {
		name  string
		token int64
		want  error
	}{
		{"a", 5, nil},
		{"a", 4, ErrStale},
		{"a", 5, nil}, // the same hold's
		{"b", 1, nil}, // names are apart
		{"a", 9, nil},
		{"a", 5, ErrStale},
	} {
		if err := c.Write("c1", 1, step.name, step.token, 0, 100*step.token); !errors.Is(err, step.want) {
			t.Errorf("Write(%s, token %d) = %v, want %v", step.name, step.token, err, step.want)
		}
	}
	if value, token, err := c.Read("a"); value != 900 || token != 9 || err != nil {
		t.Errorf("Read(a) = %d, %d, %v, want 900, 9, nil", value, token, err)
	}
	if value, err := c.PlainRead("a"); value != 0 || err != nil {
		t.Errorf("PlainRead(a) = %d, %v, want the 0 of a register that nobody wrote to", value, err)
	}
}

func TestPlainRegister(t *testing.T) {
	c := dial(t, serve(t, io.Discard))
	for value := range int64(3) {
		if err := c.PlainWrite("c1", 1, "a", 0, value); err != nil {
			t.Fatalf("PlainWrite(%d) = %v", value, err)
		}
		if got, err := c.PlainRead("a"); got != value || err != nil {
			t.Errorf("PlainRead() = %d, %v, want %d", got, err, value)
		}
	}
}

// TestHistory: each write is in the history, as it was asked for, in the order in which the register
// carried them out.
func TestHistory(t *testing.T) {
	var out bytes.Buffer
	s := serve(t, &out)
	var wg sync.WaitGroup
	for caller := range 8 {
		c := dial(t, s)
		wg.Go(func() {
			for i := range int64(50) {
				_, token, err := c.Read("a")
				if err != nil {
					t.Errorf("Read() = %v", err)
				}
				if err := c.Write(fmt.Sprintf("c%d", caller), int(i)+1, "a", token+i%3-1, i, 1000+i); err != nil && !errors.Is(err, ErrStale) {
					t.Errorf("Write() = %v", err)
				}
			}
		})
	}
	wg.Wait()
	if err := dial(t, s).PlainWrite("c9", 7, "b", 3, 4); err != nil {
		t.Fatal(err)
	}
	value, largest, err := dial(t, s).Read("a")
	if err != nil {
		t.Fatal(err)
	}

	events, err := history.Read(&out)
	if err != nil {
		t.Fatal(err)
	}
	if len(events) != 8*50+1 {
		t.Fatalf("the history has %d events, want %d", len(events), 8*50+1)
	}
	var token, last int64
	for _, e := range events[:400] {
		if stale := e.Token < token; stale != (e.What == history.Refused) {
			t.Fatalf("%s with token %d after %d", e.What, e.Token, token)
		}
		if e.What == history.Accepted {
			token, last = e.Token, e.Value
		}
	}
	if token != largest || last != value {
		t.Errorf("the history ends with value %d of token %d, the register with %d of %d", last, token, value, largest)
	}
	e := events[400]
	e.At = 0
	want := history.Event{What: history.Accepted, Who: "c9", Do: history.PlainWriting, Hold: 7, Name: "b", Base: 3, Value: 4}
	if fmt.Sprint(e) != fmt.Sprint(want) {
		t.Errorf("PlainWrite is in the history as %+v, want %+v", e, want)
	}
}

// TestDeafClient: a client that asks and never reads, like one that was stopped, holds up nobody.
func TestDeafClient(t *testing.T) {
	s := serve(t, io.Discard)
	deaf, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	if err := deaf.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for asked := line(request{Do: history.Reading, Name: "a"}); err == nil; {
		_, err = deaf.Write(asked) // until the server waits for it, or time is up
	}
	began := time.Now()
	if err := dial(t, s).Write("c1", 1, "a", 1, 0, 1); err != nil {
		t.Errorf("Write() = %v", err)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("Write() took %v beside a client that does not read", took)
	}
}

// TestServerGone: a call without a reply fails, and the next one connects again.
func TestServerGone(t *testing.T) {
	s := serve(t, io.Discard)
	c := dial(t, s)
	if _, _, err := c.Read("a"); err != nil { // from now on the server knows the connection
		t.Fatal(err)
	}
	s.mu.Lock()
	for conn := range s.conns {
		conn.Close()
	}
	s.mu.Unlock()
	if err := c.Write("c1", 1, "a", 1, 0, 1); err == nil || errors.Is(err, ErrStale) {
		t.Errorf("Write() on a broken connection = %v, want that it is not known", err)
	}
	if err := c.Write("c1", 1, "a", 1, 0, 1); err != nil {
		t.Errorf("Write() after that = %v", err)
	}
	if _, err := Dial("127.0.0.1:1"); err == nil {
		t.Error("Dial of nobody = nil")
	}
}

func TestNonsenseEndsTheConnection(t *testing.T) {
	s := serve(t, io.Discard)
	for _, text := range []string{"hello\n", `{"do":"lock","name":"a"}` + "\n"} {
		conn, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if answer, err := io.ReadAll(conn); len(answer) > 0 {
			t.Errorf("the reply to %q is %q, %v", text, answer, err)
		}
		conn.Close()
	}
}
