package workload

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/history"
)

func TestFailures(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	live := context.Background()
	for name, test := range map[string]struct {
		ctx     context.Context
		do      history.Do
		err     error
		closing bool
		want    history.Failure
	}{
		"none":                       {live, history.Lock, nil, false, ""},
		"documented":                 {live, history.TryLock, errTaken, false, history.Taken},
		"not for this call":          {live, history.Lock, errTaken, false, history.Unknown},
		"not at all":                 {live, history.TryLock, errOdd, false, history.Unknown},
		"the context's":              {ended, history.Lock, context.Canceled, false, history.Ended},
		"of a context that goes on":  {live, history.Lock, context.Canceled, false, history.Unknown},
		"closed":                     {live, history.Lock, errClosed, true, history.Closed},
		"closed when nobody did it":  {live, history.Lock, errClosed, false, history.Unknown},
		"the context's, and closing": {ended, history.Lock, context.Canceled, true, history.Ended},
	} {
		subtest(t, name, &fake{}, func(t *testing.T, f *fixture) {
			f.closing.Store(test.closing)
			_ = f.call(test.ctx, history.Event{Do: test.do}, func(int, *history.Event) error { return test.err })
			e := f.one(history.Returned)
			check.That(t, e.Err == test.want, "recorded as %q, want %q", e.Err, test.want)
			if test.err != nil && e.Text != test.err.Error() {
				t.Errorf("its text is %q, want %q", e.Text, test.err)
			}
		})
	}
}

// A panic of the library is in the history, and the caller goes on.
func TestPanicIsRecorded(t *testing.T) {
	bubble(t, &fake{lock: func(context.Context, string) (Hold, error) { panic("nil map") }}, func(t *testing.T, f *fixture) {
		f.caller(1).visit(t.Context())
		e := f.one(history.Returned)
		if e.Err != history.Unknown || !strings.Contains(e.Text, "nil map") || !strings.Contains(e.Text, "process_test.go") {
			t.Errorf("recorded as %q, %q, want other, with the panic and where it was", e.Err, e.Text)
		}
	})
}

// Time that the process did not run is a stall, and other time is not.
func TestStall(t *testing.T) {
	bubble(t, &fake{}, func(t *testing.T, f *fixture) {
		start := time.Now()
		var stopped atomic.Int64
		f.rec = history.NewRecorder(&f.out, "c1", func() time.Duration { return time.Since(start) + time.Duration(stopped.Load()) + 1 })
		ending := make(chan struct{})
		done := make(chan struct{})
		go func() { defer close(done); beat(f.rec, nothing, ending) }()
		time.Sleep(time.Second + pulse/2)
		stopped.Add(int64(stall - pulse)) // the next tick is 20 ms after the last one: no stall yet
		time.Sleep(time.Second)
		stopped.Add(int64(stall))
		time.Sleep(time.Second)
		close(ending)
		<-done
		want := 2*time.Second + stall - pulse + 1 // the tick before
		if e := f.one(history.Stall); e.From != want || e.At != want+stall+pulse {
			t.Errorf("a stall from %v to %v, want %v to %v", e.From, e.At, want, want+stall+pulse)
		}
	})
}

// A thread that waits for a processor is a stall, also one that is new.
func TestStallOfAThread(t *testing.T) {
	bubble(t, &fake{}, func(t *testing.T, f *fixture) {
		ending := make(chan struct{})
		steps := []map[string]time.Duration{
			{"old": time.Second},
			{"old": time.Second + stall},
			{"old": time.Second + 3*stall},
			{"old": time.Second + 3*stall, "new": stall + 1},
			{"new": stall + 1},
		}
		beat(f.rec, func() map[string]time.Duration {
			now := steps[0]
			if steps = steps[1:]; len(steps) == 0 {
				close(ending)
			}
			return now
		}, ending)
		stalls := f.of(history.Stall)
		if len(stalls) != 2 || stalls[0].At-stalls[0].From != 2*stall || stalls[1].At-stalls[1].From != stall+1 {
			t.Errorf("stalls are %+v, want one of %v and one of %v", stalls, 2*stall, stall+1)
		}
	})
}

// nothing says that no thread waits for a processor.
func nothing() map[string]time.Duration { return nil }

// The deadline is right even if the process is stopped while it is worked out. An earlier one would make the
// call look late.
func TestDeadlineOfAStoppedProcess(t *testing.T) {
	bubble(t, &fake{}, func(t *testing.T, f *fixture) {
		right, looks := f.rec.Now, 0
		f.Process.rec = history.NewRecorder(&f.out, "c1", func() time.Duration {
			now := right()
			if looks++; looks == 1 {
				time.Sleep(time.Second)
			}
			return now
		})
		want := right() + 3*time.Second
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_ = f.call(ctx, history.Event{Do: history.Lock}, func(int, *history.Event) error { return nil })
		if e := f.one(history.Called); e.Deadline != want {
			t.Errorf("Deadline = %v, want %v", e.Deadline, want)
		}
	})
}

// start runs a process until its input is closed. wait returns when it has ended.
func start(t *testing.T, f *fixture) (input io.Closer, wait func()) {
	t.Helper()
	in, input := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- Run(f.cfg, func(Config) (Locker, error) { return f.locker, nil }, f.rec, in)
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
	waits := &fake{lock: func(ctx context.Context, _ string) (Hold, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	bubble(t, waits, func(t *testing.T, f *fixture) {
		f.cfg.Seed = 3 // neither caller begins with a call that has no bound
		input, wait := start(t, f)
		time.Sleep(20 * time.Second)
		at := f.rec.Now()
		input.Close()
		wait()
		for _, e := range f.of(history.Called) {
			check.That(t, e.At <= at || e.Do == history.CloseClient, "%s began at %v, after the end of the input at %v", e.Do, e.At, at)
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
		check.That(t, len(all) >= 10, "only %d events: nothing was shown", len(all))
	})
}

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
		writes int
	}{
		"a writer":             {false, 10, 1},
		"a reader":             {true, 10, 0},
		"lost at once":         {false, 0, 0},
		"lost after the write": {false, 1, 1},
	} {
		subtest(t, name, &fake{}, func(t *testing.T, f *fixture) {
			c := f.caller(1)
			h := &fakeHold{name: "a", ctx: &countdown{t.Context(), test.looks}, until: time.Now().Add(time.Second)}
			hd := &held{Process: f.Process, number: 1, name: "a", token: 7, shared: test.shared, handles: []*handle{{Hold: h}}}
			if alive := c.work(hd); alive != (test.looks == 10) {
				t.Errorf("work = %v after %d looks", alive, test.looks)
			}
			if n := len(f.of(history.Wrote)); n != test.writes {
				t.Errorf("%d writes, want %d", n, test.writes)
			}
			var looked time.Duration
			for _, e := range f.all() {
				switch {
				case e.What == history.Alive:
					looked = e.At
				case e.What == history.Wrote && (e.At-looked < 100*time.Microsecond || e.Hold != 1 || e.Name != "a" || e.Token != 7 || e.Who != "c1"):
					t.Errorf("recorded %+v %v after the look, want hold 1 of c1, with time to be stopped in", e, e.At-looked)
				}
			}
		})
	}
}
