package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
)

// This test checks exactly when TERM and KILL come. Tests with processes can only check their order.
func TestSupervise(t *testing.T) {
	const grace = 500 * time.Millisecond
	for _, c := range []struct {
		name     string
		grace    time.Duration
		until    time.Duration // the end of the hold's validity
		freed    time.Duration // when the masters lose the hold, 0 for never
		moved    move
		obeys    time.Duration // how long after TERM the command ends, 0 for never
		stops    time.Duration // when the command is stopped, 0 for never
		ends     time.Duration // when the command ends by itself, 0 for never
		leaves   bool          // what the command started does not end with it
		term     time.Duration
		kill     time.Duration // 0 for never
		wantCode int
	}{
		{name: "stubborn", grace: grace, until: 3 * time.Second, term: 2500 * time.Millisecond, kill: 3 * time.Second, wantCode: 137},
		{name: "obedient", grace: grace, until: 3 * time.Second, obeys: 499 * time.Millisecond, term: 2500 * time.Millisecond, wantCode: 7},
		{name: "obedient, with a stubborn child", grace: grace, until: 3 * time.Second, obeys: 100 * time.Millisecond, leaves: true, term: 2500 * time.Millisecond, kill: 3 * time.Second, wantCode: 7},
		{name: "freed by force", grace: grace, until: 3 * time.Second, freed: time.Second, term: time.Second, kill: 1500 * time.Millisecond, wantCode: 137},
		{name: "freed in the grace", grace: grace, until: 3 * time.Second, freed: 2700 * time.Millisecond, term: 2500 * time.Millisecond, kill: 2700 * time.Millisecond, wantCode: 137},
		{name: "less than the grace", grace: grace, until: 300 * time.Millisecond, term: 0, kill: 300 * time.Millisecond, wantCode: 137},
		{name: "no grace", until: 3 * time.Second, term: 3 * time.Second, kill: 3 * time.Second, wantCode: 137},
		{name: "renewed before TERM", grace: grace, until: 3 * time.Second, moved: move{at: 2 * time.Second, until: 5 * time.Second}, term: 4500 * time.Millisecond, kill: 5 * time.Second, wantCode: 137},
		{name: "renewed after TERM", grace: grace, until: 3 * time.Second, moved: move{at: 2700 * time.Millisecond, until: time.Hour}, term: 2500 * time.Millisecond, kill: 3 * time.Second, wantCode: 137},
		{name: "stopped for a lease", grace: grace, until: time.Hour, stops: 1500 * time.Millisecond, obeys: time.Millisecond, term: 4 * time.Second, wantCode: 7},
		{name: "ends by itself", grace: grace, until: time.Hour, ends: time.Second, wantCode: 3},
		{name: "the machine slept", grace: grace, until: time.Hour, moved: move{at: 500 * time.Millisecond}, term: lookAgain, kill: lookAgain + grace, wantCode: 137},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := startHold(t, c.until, c.freed, c.moved)
				tree := &fakeTree{ending: newEnding(), start: time.Now(), obeys: c.obeys, leaves: c.leaves}
				tree.stops = c.stops
				term := []time.Duration{c.term}
				if c.ends > 0 {
					time.AfterFunc(c.ends, func() { tree.end(3) })
					term = nil
				}
				code, lost := supervise(tree, h, c.grace, 2*time.Second, nil, slog.New(slog.DiscardHandler))
				if code != c.wantCode || (lost == nil) != (c.ends > 0) {
					t.Errorf("supervise = %d, %v, want %d and why it was ended, if it was", code, lost, c.wantCode)
				}
				var kill time.Duration
				if len(tree.killed) > 0 {
					kill = tree.killed[0] // a second KILL at the same instant does no harm
				}
				check.That(t, slices.Equal(tree.termed, term) && kill == c.kill, "TERM at %v, KILL at %v, want %v and %v", tree.termed, kill, term, c.kill)
			})
		})
	}
}

// Processes that do not die are killed again and again, and redlock does not wait for them forever. It says why they
// live, where it may not signal them.
func TestSuperviseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := &fakeTree{ending: newEnding(), start: time.Now(), immortal: true, refuses: errors.New("it runs as another user")}
		var says bytes.Buffer
		code, lost := supervise(tree, startHold(t, time.Second, 0, move{}), 0, time.Hour, nil, slog.New(slog.NewTextHandler(&says, nil)))
		if took := time.Since(tree.start); code != 137 || lost == nil || took != time.Second+killLimit {
			t.Errorf("supervise = %d, %v after %v, want 137 and why after %v", code, lost, took, time.Second+killLimit)
		}
		if got := len(tree.killed); got < 50 {
			t.Errorf("%d times KILL in %v, want one every %v", got, killLimit, killAgain)
		}
		if n := strings.Count(says.String(), tree.refuses.Error()); n != 2 { // at TERM, and at the end
			t.Errorf("%d lines say why it lives, want 2:\n%s", n, &says)
		}
	})
}

// fakeTree is a command that ends only when it is told to.
type fakeTree struct {
	ending
	start          time.Time
	obeys          time.Duration // how long after TERM it ends by itself, 0 for never
	stops          time.Duration // when it is stopped, 0 for never
	leaves         bool          // then it leaves processes behind
	immortal       bool
	refuses        error           // signals
	termed, killed []time.Duration // when
}

func (f *fakeTree) end(code int) {
	f.exited <- code
	close(f.gone)
}

func (f *fakeTree) forward(os.Signal, func() bool) {}

func (f *fakeTree) stopped() bool { return f.stops > 0 && time.Since(f.start) >= f.stops }

func (f *fakeTree) report(func() bool) bool { return false }

func (f *fakeTree) terminate() error {
	f.termed = append(f.termed, time.Since(f.start))
	if f.obeys > 0 {
		time.AfterFunc(f.obeys, func() {
			f.exited <- 7
			if !f.leaves {
				close(f.gone)
			}
		})
	}
	return f.refuses
}

func (f *fakeTree) kill() error {
	f.killed = append(f.killed, time.Since(f.start))
	switch {
	case f.immortal || len(f.killed) > 1:
	case f.leaves:
		close(f.gone)
	default:
		f.end(137)
	}
	return f.refuses
}

// fakeHold is a hold whose validity moves once at most.
type fakeHold struct {
	ctx   context.Context
	start time.Time
	until time.Duration // since start
	moved move
	looks int
}

// move is a renewal, or the end of a sleep, in which timers stood still: from at on, validity ends at until.
type move struct{ at, until time.Duration }

func (h *fakeHold) Context() context.Context { return h.ctx }

func (h *fakeHold) Remaining() time.Duration {
	if h.looks++; h.looks > 1000 {
		panic("supervise does not wait between two looks")
	}
	now, until := time.Since(h.start), h.until
	if h.moved.at > 0 && now >= h.moved.at {
		until = h.moved.until
	}
	return max(0, until-now)
}

// startHold returns a hold that is valid until then, or is lost when it is freed.
func startHold(t *testing.T, until, freed time.Duration, moved move) *fakeHold {
	ends := until
	if freed > 0 {
		ends = freed
	}
	ends = max(ends, moved.until)
	ctx, cancel := context.WithTimeoutCause(t.Context(), ends, redlock.ErrLost)
	t.Cleanup(cancel)
	return &fakeHold{ctx: ctx, start: time.Now(), until: until, moved: moved}
}

// TestSignalAsTheLockArrives: a signal that ends the wait counts, whether it was taken when the wait was over, or not
// looked at yet when the command was to start.
func TestSignalAsTheLockArrives(t *testing.T) {
	for range 1000 {
		signals := make(chan os.Signal)
		_, release := untilSignal(signals)
		signals <- syscall.SIGTERM // taken
		if by := release(); by != syscall.SIGTERM {
			t.Fatalf("the wait took TERM, and its end says %v", by)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 1)
		signals <- syscall.SIGTERM
		program, err := os.Executable()
		check.OK(t, err)
		cmd := exec.Command(program, "-test.run=^$")
		code, err := new(runCmd).underLock(startHold(t, time.Hour, 0, move{}), cmd, true, signals, slog.New(slog.DiscardHandler))
		if code != exitSignal+15 || err == nil || cmd.Process != nil {
			t.Errorf("underLock = %d, %v; started: %t; want %d, an error, and no command", code, err, cmd.Process != nil, exitSignal+15)
		}
	})
}
