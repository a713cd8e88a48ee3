package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// TestWriteTimeout: a master that reads nothing is down for that, and not for a connection
// that redigo has closed for the same reason.
func TestWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 1)
		m := fleet.Master(0)
		n := started(t, Config{
			Name:    "m1",
			Pool:    fleet.Pools(redis.DialWriteTimeout(timeout / 2))[0],
			Timeout: timeout,
			Logger:  quiet,
		})
		clog(n, m)
		got := call1(n, script.Inspect(strings.Repeat("k", 2<<20)))
		wantErr(t, "inspect", got, script.Unknown, ErrTimeout.Error())
		wantAt(t, "inspect", got, timeout/2)
	})
}

// clog freezes m on a command, so that it reads nothing more.
func clog(n *Node, m *redlocktest.Master) {
	m.Freeze()
	n.Send(script.Inspect("k"), nobody{}, 0)
	synctest.Wait()
}

// TestFullBuffers: without a write timeout the reader's ends the writer.
func TestFullBuffers(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		clog(n, m)
		got := call1(n, script.Inspect(strings.Repeat("k", 2<<20)))
		wantErr(t, "inspect", got, script.Unknown, ErrTimeout.Error())
		wantAt(t, "inspect", got, timeout)
		m.Thaw()
		until(t, time.Second, n.isUp)
	})
}

func TestPlain(t *testing.T) {
	op := func(err error) error { return &net.OpError{Op: "read", Net: "tcp", Err: err} }
	other := errors.New("other")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{op(os.ErrDeadlineExceeded), "no answer in time"},
		{context.DeadlineExceeded, "no answer in time"},
		{fmt.Errorf("dial: %w", context.DeadlineExceeded), "no answer in time"},
		{op(syscall.ETIMEDOUT), "no answer in time"},
		{io.EOF, "connection closed by the master"},
		{io.ErrUnexpectedEOF, "connection closed by the master"},
		{op(syscall.ECONNRESET), "connection closed by the master"},
		{other, "other"},
		{redis.Error("LOADING x"), "LOADING x"},
	} {
		t.Run(tt.err.Error(), func(t *testing.T) {
			got := normalize(tt.err)
			if got.Error() != tt.want {
				t.Errorf("plain(%v): got %q, want %q", tt.err, got, tt.want)
			}
			if errors.Is(got, context.DeadlineExceeded) {
				t.Errorf("plain(%v): matches a context error", tt.err)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	n := &Node{cfg: Config{Name: "m1"}}
	if got := n.Name(); got != "m1" {
		t.Errorf("Name: got %q, want m1", got)
	}
	for _, tt := range []struct {
		answer script.Answer
		want   string
	}{
		{script.Answer{Outcome: script.Unknown, Err: ErrTimeout}, "m1: no answer in time"},
		{script.Answer{Outcome: script.Refused}, "m1: not held"},
		{script.Answer{Outcome: script.Refused, Holder: "you:1", Left: 1500 * time.Millisecond}, "m1: held by you:1 for another 1.5s"},
		{script.Answer{Outcome: script.Refused, Holder: "you:1", Left: script.Never}, "m1: held by you:1, without expiry"},
		{
			script.Answer{Outcome: script.Unsent, Err: &GuardedError{Left: 1234567 * time.Microsecond}},
			"m1: restarted lately, grants no hold for another 1.235s",
		},
		{
			script.Answer{Outcome: script.Unsent, Err: &GuardedError{Left: time.Hour, Why: errors.New("NOPERM")}},
			"m1: grants no hold, because its uptime is unknown: NOPERM",
		},
	} {
		t.Run(tt.want, func(t *testing.T) {
			err := n.Explain(tt.answer)
			if err.Error() != tt.want {
				t.Errorf("Explain(%+v): got %q, want %q", tt.answer, err, tt.want)
			}
			if named, ok := errors.AsType[*Error](err); !ok || named.Node != "m1" {
				t.Errorf("Explain(%+v): got %#v, want an *Error that names m1", tt.answer, err)
			}
			if tt.answer.Err != nil && !errors.Is(err, tt.answer.Err) {
				t.Errorf("Explain(%+v): does not match its reason", tt.answer)
			}
			if guarded, ok := errors.AsType[*GuardedError](err); ok && guarded.Why != nil && !errors.Is(err, guarded.Why) {
				t.Errorf("Explain(%+v): does not match why the age is not known", tt.answer)
			}
		})
	}
}

func TestMayHold(t *testing.T) {
	for outcome, want := range map[script.Outcome]bool{script.Unsent: false, script.Unknown: true, script.Failed: true, script.Refused: false, script.Done: true} {
		if got := outcome.MayHold(); got != want {
			t.Errorf("%v.MayHold: got %v, want %v", outcome, got, want)
		}
	}
}
