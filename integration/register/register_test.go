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

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server whose history goes to out.
func serve(t *testing.T, out io.Writer) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(t, err)
	began := time.Now()
	s := Serve(l, history.NewRecorder(out, "register", func() time.Duration { return time.Since(began) }))
	t.Cleanup(func() { s.Close() })
	return s
}

func newClient(t *testing.T, s *Server) *Client {
	c := NewClient(s.Addr())
	t.Cleanup(c.Close)
	return c
}

func TestRegisters(t *testing.T) {
	c := newClient(t, serve(t, io.Discard))
	for _, step := range []struct {
		do    history.Do
		name  string
		token int64
		want  error
	}{
		{history.Writing, "a", 5, nil},
		{history.Writing, "a", 4, ErrStale},
		{history.Writing, "a", 5, nil}, // the same hold's
		{history.Writing, "b", 1, nil}, // names are apart
		{history.Writing, "a", 9, nil},
		{history.Writing, "a", 5, ErrStale},
	} {
		if _, err := c.Do(Request{Do: step.do, Name: step.name, Token: step.token, Value: 100 * step.token}); !errors.Is(err, step.want) {
			t.Errorf("%s of %s with token %d = %v, want %v", step.do, step.name, step.token, err, step.want)
		}
	}
	if got, err := c.Do(Request{Do: history.Reading, Name: "a"}); got != (Reply{Value: 900, Token: 9}) || err != nil {
		t.Errorf("Reading = %v, %v, want 900 with token 9", got, err)
	}
}

// TestHistory: each write is in the history, as it was asked for, in the order in which the register
// carried them out.
func TestHistory(t *testing.T) {
	var out bytes.Buffer
	s := serve(t, &out)
	var wg sync.WaitGroup
	for caller := range 8 {
		c := newClient(t, s)
		wg.Go(func() {
			for i := range int64(50) {
				was, err := c.Do(Request{Do: history.Reading, Name: "a"})
				if err != nil {
					t.Errorf("reading = %v", err)
				}
				write := Request{Do: history.Writing, Who: fmt.Sprint("c", caller), Hold: 7, Name: "a", Token: was.Token + i%3 - 1, Base: i, Value: 1000 + i}
				if _, err := c.Do(write); err != nil && !errors.Is(err, ErrStale) {
					t.Errorf("writing = %v", err)
				}
			}
		})
	}
	wg.Wait()
	last, err := newClient(t, s).Do(Request{Do: history.Reading, Name: "a"})
	check.OK(t, err)
	events, err := history.Read(&out)
	if err != nil || len(events) != 8*50 {
		t.Fatalf("the history has %d events, %v, want %d", len(events), err, 8*50)
	}
	var now Reply
	for _, e := range events {
		if stale := e.Token < now.Token; stale != (e.What == history.Refused) || e.Hold != 7 || e.Value != 1000+e.Base {
			t.Fatalf("%+v after token %d", e, now.Token)
		}
		if e.What == history.Accepted {
			now = Reply{Value: e.Value, Token: e.Token}
		}
	}
	if now != last {
		t.Errorf("the history ends with %v, the register with %v", now, last)
	}
}
