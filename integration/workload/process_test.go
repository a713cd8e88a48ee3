package workload

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/history"
)

// The event says when the call's context ends.
func TestDeadlineIsTheContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, &fake{lock: func(ctx context.Context, _ string) (Hold, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		for seed := range uint64(20) {
			before := len(f.of(history.Returned))
			waits, cancel := context.WithTimeout(t.Context(), time.Hour)
			f.caller(seed).visit(waits)
			cancel()
			call, result := f.last(history.Called), f.last(history.Returned)
			if len(f.of(history.Returned)) != before+1 {
				t.Fatalf("visit %d made no call, or several", seed)
			}
			if result.At != call.Deadline || result.Err != history.Ended {
				t.Errorf("the context of call %d ended at %v, want %v; its error is %q", call.Call, result.At, call.Deadline, result.Err)
			}
		}
	})
}

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
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, &fake{})
				f.closing.Store(test.closing)
				_ = f.call(test.ctx, history.Event{Do: test.do}, func(int, *history.Event) error { return test.err })
				e := f.one(history.Returned)
				if e.Err != test.want {
					t.Errorf("recorded as %q, want %q", e.Err, test.want)
				}
				if test.err != nil && e.Text != test.err.Error() {
					t.Errorf("its text is %q, want %q", e.Text, test.err)
				}
			})
		})
	}
}

// A panic of the library is in the history, and the caller goes on.
func TestPanicIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, &fake{lock: func(context.Context, string) (Hold, error) { panic("nil map") }})
		f.caller(1).visit(t.Context())
		e := f.one(history.Returned)
		if e.Err != history.Unknown || !strings.Contains(e.Text, "nil map") || !strings.Contains(e.Text, "process_test.go") {
			t.Errorf("recorded as %q, %q, want other, with the panic and where it was", e.Err, e.Text)
		}
	})
}

// Time that the process did not run is a stall, and other time is not.
func TestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, &fake{})
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
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, &fake{})
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
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, &fake{})
		right, looks := f.rec.Now, 0
		f.process.rec = history.NewRecorder(&f.out, "c1", func() time.Duration {
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
