package workload

import (
	"context"
	"io"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/history"
)

// start runs a process until its input is closed. wait returns when it has ended.
func start(t *testing.T, f *fixture) (input io.Closer, wait func()) {
	t.Helper()
	in, input := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- Run(f.cfg, func(Config) (Locker, error) { return f.locker, nil }, classify, f.rec, in)
	}()
	return input, func() {
		t.Helper()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// When input ends, no call begins any more, and waits end soon after; then the client is closed, and the
// audit is the last event.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, &fake{lock: func(ctx context.Context, _ string) (Hold, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		f.cfg.Seed = 3 // neither caller begins with a call that has no bound
		input, wait := start(t, f)
		time.Sleep(20 * time.Second)
		at := f.rec.Now()
		input.Close()
		wait()
		for _, e := range f.of(history.Called) {
			if e.At > at && e.Do != history.CloseClient {
				t.Errorf("%s began at %v, after the end of the input at %v", e.Do, e.At, at)
			}
		}
		// The threads of this process are real, and a busy machine may have them wait.
		all := slices.DeleteFunc(f.all(), func(e history.Event) bool { return e.What == history.Stall })
		last := all[len(all)-3:]
		if last[0].Do != history.CloseClient || last[1].Do != history.CloseClient || last[2].What != history.Audited {
			t.Errorf("the last events are %+v, want close, its return, and the audit", last)
		}
		// The audit behind it waits for goroutines that are about to end.
		if took := last[1].At - at; took > lastWaits {
			t.Errorf("the end took %v, want at most %v", took, lastWaits)
		}
		if last[2].Goroutines != 0 || last[2].Heap == 0 {
			t.Errorf("left are %d goroutines and %d bytes, want 0 and some:\n%s", last[2].Goroutines, last[2].Heap, last[2].Text)
		}
		if len(all) < 10 {
			t.Errorf("only %d events: nothing was shown", len(all))
		}
	})
}

// A call that never returns holds up the end only for so long. The audit finds the goroutine.
func TestHungCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		f := newFixture(t, &fake{lock: func(context.Context, string) (Hold, error) {
			<-hang
			return nil, errTaken
		}})
		input, wait := start(t, f)
		time.Sleep(20 * time.Second)
		at := f.rec.Now()
		input.Close()
		wait()
		if took := f.rec.Now() - at; took > lastWaits+lastCalls+settle {
			t.Errorf("the end took %v, want at most %v", took, lastWaits+lastCalls+settle)
		}
		if n := len(f.of(history.Called)) - len(f.of(history.Returned)); n != f.cfg.Callers {
			t.Errorf("%d calls have not returned, want %d", n, f.cfg.Callers)
		}
		if e := f.one(history.Audited); e.Goroutines < f.cfg.Callers || e.Text == "" {
			t.Errorf("left are %d goroutines, %q, want at least %d and what they do", e.Goroutines, e.Text, f.cfg.Callers)
		}
		close(hang)
	})
}

// A socket that is left open is found.
func TestSockets(t *testing.T) {
	before := sockets()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(t, err)
	defer l.Close()
	check.Equal(t, sockets(), before+1, "sockets")
}
