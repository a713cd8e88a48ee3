package integration

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// timeline records what happened in one test, in order: the acts of the test and the library's log.
// Each event is a line of the test's log, and all events are in timeline.txt in the test's artifact
// directory.
type timeline struct {
	t     *testing.T
	start time.Time

	mu    sync.Mutex
	text  bytes.Buffer
	ended bool // the test is over, so its log must not be written any more
}

func newTimeline(t *testing.T) *timeline {
	l := &timeline{t: t, start: time.Now()}
	t.Cleanup(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ended = true
		name := filepath.Join(t.ArtifactDir(), "timeline.txt")
		if err := os.WriteFile(name, l.text.Bytes(), 0o644); err != nil {
			t.Errorf("writing the timeline: %v", err)
		}
	})
	return l
}

// event records one line, with the time since the test began.
func (l *timeline) event(format string, args ...any) {
	l.t.Helper()
	line := fmt.Sprintf("%8.3fs  %s", time.Since(l.start).Seconds(), fmt.Sprintf(format, args...))
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(&l.text, line)
	if !l.ended {
		l.t.Log(line)
	}
}

// String returns everything recorded so far.
func (l *timeline) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Write records a line of a log, so that an slog.Handler can write to l.
func (l *timeline) Write(line []byte) (int, error) {
	l.event("log: %s", bytes.TrimSpace(line))
	return len(line), nil
}

// logger records the library's log at every level. It leaves out the handler's own time, since an
// event has one.
func (l *timeline) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey && len(groups) == 0 {
				return slog.Attr{}
			}
			return a
		},
	}))
}

// randomness returns a source of random numbers. It logs the seed, which can be set with
// REDLOCK_SEED=17.
func randomness(t *testing.T) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(drawSeed(t), 0))
}

// drawSeed returns a random seed, or the one that REDLOCK_SEED says, and logs it.
func drawSeed(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if given := os.Getenv("REDLOCK_SEED"); given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatalf("REDLOCK_SEED: %v", err)
		}
	}
	t.Logf("replay: REDLOCK_SEED=%d", seed)
	return seed
}
