package workload

import (
	"bytes"
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"example.com/redlock/integration/register"
	"example.com/redlock/internal/check"
	"example.com/redlock/internal/history"
)

// countdown is a context that ends after so many looks.
type countdown struct {
	context.Context
	looks int
}

func (c *countdown) Err() error {
	if c.looks--; c.looks < 0 {
		return errLost
	}
	return nil
}

func TestWork(t *testing.T) {
	for name, test := range map[string]struct {
		shared bool
		looks  int // that find the hold alive
		wrote  []history.Do
	}{
		"a writer":                   {false, 10, []history.Do{history.PlainWriting, history.Writing}},
		"a reader":                   {true, 10, nil},
		"lost at once":               {false, 0, nil},
		"lost before the first":      {false, 1, nil},
		"lost after the first write": {false, 2, []history.Do{history.PlainWriting}},
		"lost before the second":     {false, 3, []history.Do{history.PlainWriting}},
		"lost after the second":      {false, 4, []history.Do{history.PlainWriting, history.Writing}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, &fake{})
			l, err := net.Listen("tcp", "127.0.0.1:0")
			check.OK(t, err)
			var theirs bytes.Buffer
			server := register.Serve(l, history.NewRecorder(&theirs, "register", f.rec.Now))
			defer server.Close()
			c := f.caller(1)
			c.registers = register.NewClient(server.Addr())
			defer c.registers.Close()
			h := &fakeHold{name: "a", ctx: &countdown{t.Context(), test.looks}, until: time.Now().Add(time.Second)}
			hd := &held{process: f.process, number: 1, name: "a", token: 7, shared: test.shared, handles: []*handle{{Hold: h}}}
			if alive := c.work(hd); alive != (test.looks == 10) {
				t.Errorf("work = %v after %d looks", alive, test.looks)
			}
			written, err := history.Read(&theirs)
			check.OK(t, err)
			if len(written) != len(test.wrote) {
				t.Fatalf("written: %+v, want %v", written, test.wrote)
			}
			var looked time.Duration
			for _, e := range f.all() {
				switch {
				case e.What == history.Alive:
					looked = e.At
				case e.What == history.Called && (e.Do == history.PlainWriting || e.Do == history.Writing) && e.At-looked < 100*time.Microsecond:
					t.Errorf("%s %v after the look: no time to be stopped in", e.Do, e.At-looked)
				}
			}
			for i, e := range written {
				if e.What != history.Accepted || e.Do != test.wrote[i] || e.Base != 0 || e.Value != 1 || e.Hold != hd.number || e.Who != "c1" {
					t.Errorf("the register recorded %+v, want %s of 1 by hold %d of c1", e, test.wrote[i], hd.number)
				}
			}
		})
	}
}

// A refused write is Stale, and a register that does not answer Unreached.
func TestRegisterFails(t *testing.T) {
	f := newFixture(t, &fake{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(t, err)
	server := register.Serve(l, history.NewRecorder(new(bytes.Buffer), "register", f.rec.Now))
	defer server.Close()
	c := f.caller(1)
	c.registers = register.NewClient(server.Addr())
	defer c.registers.Close()
	hd := f.grant(valid("a"))
	defer hd.release(hd.top())
	if _, err := c.registers.Do(register.Request{Do: history.Writing, Who: "c2", Hold: 1, Name: "a", Token: hd.token + 1, Value: 5}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.register(hd, history.Writing, 0, 1); !errors.Is(err, register.ErrStale) || f.last(history.Returned).Err != history.Stale {
		t.Errorf("a write with an old token: %v, recorded as %q", err, f.last(history.Returned).Err)
	}
	if v, err := c.register(hd, history.Reading, 0, 0); v != 5 || err != nil || f.last(history.Returned).Value != 5 {
		t.Errorf("read %d, %v, recorded %+v, want 5", v, err, f.last(history.Returned))
	}
	server.Close()
	if _, err := c.register(hd, history.PlainReading, 0, 0); err == nil || f.last(history.Returned).Err != history.Unreached {
		t.Errorf("without a server: %v, recorded as %q", err, f.last(history.Returned).Err)
	}
}
