package workload

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/history"
	"example.com/redlock/redlock"
)

// Errors of the fake library.
var (
	errTaken   = redlock.ErrTaken
	errLost    = redlock.ErrLost
	errNotHeld = redlock.ErrNotHeld
	errClosed  = redlock.ErrClosed
	errOdd     = errors.New("odd")
)

// fake is a library whose only call is lock.
type fake struct {
	lock      func(ctx context.Context, name string) (Hold, error)
	unlockAll func() error
}

func (f *fake) Ask(ctx context.Context, _ history.Do, names []string, _ time.Duration, _ int) ([]Hold, func(context.Context) error, error) {
	var holds []Hold
	for _, name := range names {
		h, err := f.lock(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		holds = append(holds, h)
	}
	if f.unlockAll == nil {
		return holds, nil, nil
	}
	return holds, func(context.Context) error { return f.unlockAll() }, nil
}

func (f *fake) Close() error { return nil }

// fakeHold is a hold of the fake library. What is nil does nothing. Without a context of its own, it ends with
// its validity, and with Unlock.
type fakeHold struct {
	name   string
	ctx    context.Context
	until  time.Time
	extend func() error
	unlock func() error
	end    context.CancelCauseFunc

	entered int // the number of the call that entered it last
}

func (h *fakeHold) Name() string     { return h.name }
func (h *fakeHold) Slot() int        { return 0 }
func (h *fakeHold) Token() int64     { return 7 }
func (h *fakeHold) Until() time.Time { return h.until }

func (h *fakeHold) Context() context.Context {
	if h.ctx == nil {
		h.ctx, h.end = context.WithCancelCause(context.Background())
		time.AfterFunc(time.Until(h.until), func() { h.end(errLost) })
	}
	return h.ctx
}

func (h *fakeHold) Extend(context.Context) error    { return maybe(h.extend) }
func (h *fakeHold) Downgrade(context.Context) error { return nil }

func (h *fakeHold) Enter(ctx context.Context, _ bool) (Hold, bool, error) {
	h.entered = CallOf(ctx)
	return h, true, ctx.Err()
}

func (h *fakeHold) Unlock(context.Context) error {
	if h.end != nil {
		h.end(errNotHeld)
	}
	return maybe(h.unlock)
}

func maybe(f func() error) error {
	if f == nil {
		return nil
	}
	return f()
}

// fixture is a process with a fake library, and what it has recorded.
type fixture struct {
	*Process
	t      *testing.T
	out    check.Output // where events go
	ending chan struct{}
}

// bubble runs a test in a synctest bubble, with a process that has l as its library.
func bubble(t *testing.T, l Locker, test func(t *testing.T, f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{t: t, ending: make(chan struct{})}
		start := time.Now()
		rec := history.NewRecorder(&f.out, "c1", func() time.Duration { return time.Since(start) + time.Second })
		cfg := Usual(time.Second)
		cfg.Who, cfg.Callers, cfg.Think = "c1", 2, 50*time.Millisecond
		f.Process = &Process{cfg: cfg, locker: l, rec: rec, ending: f.ending}
		t.Cleanup(f.watchers.Wait) // holds end with their validity
		test(t, f)
	})
}

// subtest runs a test as a subtest, in a bubble.
func subtest(t *testing.T, name string, l Locker, test func(t *testing.T, f *fixture)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { bubble(t, l, test) })
}

// caller returns a caller of the process.
func (f *fixture) caller(seed uint64) *caller {
	return f.Process.caller(rand.NewPCG(seed, 0))
}

// grant records a call that was granted h.
func (f *fixture) grant(h Hold) (hd *held) {
	_ = f.call(f.t.Context(), history.Event{Do: history.Lock, Names: []string{h.Name()}}, func(call int, _ *history.Event) error {
		hd = f.granted(call, h, false)
		return nil
	})
	return hd
}

// all returns all events.
func (f *fixture) all() []history.Event {
	f.t.Helper()
	all, err := history.Read(strings.NewReader(f.out.String()))
	if err != nil {
		f.t.Fatal(err)
	}
	return all
}

// of returns the events of a kind.
func (f *fixture) of(what history.What) (found []history.Event) {
	f.t.Helper()
	for _, e := range f.all() {
		if e.What == what {
			found = append(found, e)
		}
	}
	return found
}

// one returns the only event of a kind.
func (f *fixture) one(what history.What) history.Event {
	f.t.Helper()
	found := f.of(what)
	if len(found) != 1 {
		f.t.Fatalf("%d events %s, want 1:\n%s", len(found), what, &f.out)
	}
	return found[0]
}

// last returns the last event of a kind.
func (f *fixture) last(what history.What) history.Event {
	f.t.Helper()
	found := f.of(what)
	if len(found) == 0 {
		f.t.Fatalf("no event %s:\n%s", what, &f.out)
	}
	return found[len(found)-1]
}
